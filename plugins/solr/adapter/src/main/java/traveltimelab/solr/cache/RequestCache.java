package traveltimelab.solr.cache;

import java.util.Map;
import org.apache.lucene.util.Accountable;
import org.apache.solr.common.SolrException;
import org.apache.solr.common.SolrException.ErrorCode;
import org.apache.solr.core.SolrCore;
import org.apache.solr.search.CacheRegenerator;
import org.apache.solr.search.SolrCache;
import org.apache.solr.search.SolrIndexSearcher;
import traveltimelab.core.Memory;
import traveltimelab.core.Search;
import traveltimelab.solr.BaseCache;

/** A cache of travel times, for either query parser. */
public abstract class RequestCache extends BaseCache {
  /** A memory that says its size, for caches with {@code maxRamMB}. */
  private static final class SizedMemory extends Memory implements Accountable {
    SizedMemory(int mostPlaces, boolean onlyPositive) {
      super(mostPlaces, onlyPositive);
    }

    @Override
    public long ramBytesUsed() {
      return ramBytes();
    }
  }

  private final boolean isFuzzy;
  private int mostPlaces = Integer.MAX_VALUE;
  private boolean onlyPositive;

  RequestCache(boolean isFuzzy) {
    this.isFuzzy = isFuzzy;
  }

  @Override
  @SuppressWarnings({"rawtypes", "unchecked"})
  public Object init(Map args, Object persistence, CacheRegenerator regenerator) {
    if (isFuzzy) {
      Object size = args.get("secondary_size");
      String text = size == null ? "10000" : size.toString().trim();
      if (!text.matches("0*[1-9][0-9]{0,8}")) {
        String problem = "secondary_size must be a whole number of at least 1; got " + text;
        throw new SolrException(ErrorCode.SERVER_ERROR, "cache " + args.get("name") + ": " + problem);
      }
      mostPlaces = Integer.parseInt(text);
      onlyPositive = Boolean.parseBoolean(String.valueOf(args.get("only_positive")));
    }
    return super.init(args, persistence, regenerator);
  }

  /** Return the cache of a name, or null if there is none. */
  public static RequestCache find(SolrIndexSearcher searcher, String name) {
    SolrCache<?, ?> cache = searcher.getCache(name);
    if (cache != null && !(cache instanceof RequestCache)) {
      throw new SolrException(ErrorCode.SERVER_ERROR, problem(name, cache.getClass().getName()));
    }
    return (RequestCache) cache;
  }

  /** Check, when a core loads, that a cache is configured. */
  public static void require(SolrCore core, String name, String element) {
    if (!core.getSolrConfig().userCacheConfigs.containsKey(name)) {
      String fix = "add <cache name=\"" + name + "\" class=\"" + ExactRequestCache.class.getName() + "\"/> to <query>";
      String problem = ": there is no cache " + name + " to take travel times from; " + fix;
      throw new SolrException(ErrorCode.SERVER_ERROR, element + problem);
    }
  }

  private static String problem(String name, String type) {
    return "The cache " + name + " must be one of the classes in " + RequestCache.class.getPackage().getName()
        + "; got " + type;
  }

  private Object key(Search search) {
    return isFuzzy ? search.fuzzyKey() : search;
  }

  /** Return what is kept for a search, or null. */
  public Memory peek(Search search) {
    return get(key(search));
  }

  /** Return what is kept for a search; for a new search nothing yet. */
  public Memory memory(Search search) {
    Object key = key(search);
    synchronized (this) {
      Memory memory = get(key);
      if (memory == null) {
        memory = new SizedMemory(mostPlaces, onlyPositive);
        put(key, memory);
      }
      return memory;
    }
  }

  /** Put a memory again that has grown, so that the cache takes note of its size. */
  public void weigh(Search search, Memory memory) {
    put(key(search), memory);
  }
}
