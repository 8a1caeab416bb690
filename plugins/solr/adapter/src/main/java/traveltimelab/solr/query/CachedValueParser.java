package traveltimelab.solr.query;

import java.io.Writer;
import org.apache.lucene.queries.function.ValueSource;
import org.apache.solr.common.util.NamedList;
import org.apache.solr.core.SolrCore;
import org.apache.solr.request.SolrQueryRequest;
import org.apache.solr.response.QueryResponseWriter;
import org.apache.solr.response.SolrQueryResponse;
import org.apache.solr.search.FunctionQParser;
import org.apache.solr.search.SyntaxError;
import org.apache.solr.search.ValueSourceParser;
import org.apache.solr.util.plugin.SolrCoreAware;
import traveltimelab.core.BadParameterException;
import traveltimelab.core.FastSearch;
import traveltimelab.core.Options;
import traveltimelab.core.Parameters;
import traveltimelab.core.Search;
import traveltimelab.core.TimeFilterSearch;
import traveltimelab.solr.Failures;
import traveltimelab.solr.Fields;
import traveltimelab.solr.cache.RequestCache;

/**
 * What the four value sources have in common.
 *
 * <p>A missing cache is found when the core loads. Solr shows the core to some kinds of plugins only, and value sources
 * are not among them; so these are also response writers, which are, though they write nothing.
 */
public abstract class CachedValueParser extends ValueSourceParser implements SolrCoreAware, QueryResponseWriter {
  /** Which query parser the values belong to. */
  protected enum Kind {
    FAST,
    TIME_FILTER
  }

  private final Kind kind;
  private final boolean isDistance;
  private String cacheName = Options.DEFAULT_CACHE;
  private String prefix = Parameters.DEFAULT_PREFIX;
  private String country;

  protected CachedValueParser(Kind kind, boolean isDistance) {
    this.kind = kind;
    this.isDistance = isDistance;
  }

  @Override
  @SuppressWarnings("rawtypes")
  public void init(NamedList args) {
    cacheName = option(args, "cache", cacheName);
    prefix = option(args, "prefix", prefix);
    country = option(args, "country", null);
  }

  @Override
  public void inform(SolrCore core) {
    RequestCache.require(core, cacheName, "valueSourceParser " + getClass().getName());
  }

  private static String option(NamedList<?> args, String name, String otherwise) {
    Object value = args == null ? null : args.get(name);
    return value == null ? otherwise : value.toString().trim();
  }

  @Override
  public ValueSource parse(FunctionQParser parser) throws SyntaxError {
    try {
      Parameters parameters = Parameters.ofRequest(prefix, parser.getParams()::get);
      Search search =
          kind == Kind.FAST ? FastSearch.parse(parameters, country) : TimeFilterSearch.parse(parameters);
      Fields.check(search.field(), parser.getReq().getSchema());
      RequestCache cache = RequestCache.find(parser.getReq().getSearcher(), cacheName);
      if (cache == null) {
        throw new BadParameterException(cacheName, "is no cache of this core");
      }
      return new CachedValues(search, cache, isDistance);
    } catch (BadParameterException error) {
      throw Failures.of(error);
    }
  }

  @Override
  public void write(Writer writer, SolrQueryRequest request, SolrQueryResponse response) {
    throw new UnsupportedOperationException(getClass().getName() + " is a valueSourceParser");
  }

  @Override
  public String getContentType(SolrQueryRequest request, SolrQueryResponse response) {
    throw new UnsupportedOperationException(getClass().getName() + " is a valueSourceParser");
  }
}
