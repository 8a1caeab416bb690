package traveltimelab.solr.query;

import java.io.IOException;
import java.util.Map;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.queries.function.FunctionValues;
import org.apache.lucene.queries.function.ValueSource;
import org.apache.lucene.queries.function.docvalues.IntDocValues;
import traveltimelab.core.Memory;
import traveltimelab.core.Search;
import traveltimelab.solr.Locations;
import traveltimelab.solr.cache.RequestCache;

/** Travel times or distances of documents from a cache, -1 where it has none. */
final class CachedValues extends ValueSource {
  private final Search search;
  private final RequestCache cache;
  private final boolean isDistance;

  CachedValues(Search search, RequestCache cache, boolean isDistance) {
    this.search = search;
    this.cache = cache;
    this.isDistance = isDistance;
  }

  /** The cache is asked now and not earlier, because filters fill it while the query runs. */
  @Override
  @SuppressWarnings("rawtypes")
  public FunctionValues getValues(Map context, LeafReaderContext leaf) throws IOException {
    Locations locations = new Locations(leaf, search.field());
    Memory memory = isDistance && !search.distances() ? null : cache.peek(search);
    return new IntDocValues(this) {
      @Override
      public int intVal(int doc) {
        if (memory == null || !locations.advance(doc)) {
          return -1;
        }
        long place = locations.place();
        return isDistance ? memory.metres(place, search.limit()) : memory.seconds(place, search.limit());
      }
    };
  }

  @Override
  public boolean equals(Object object) {
    if (!(object instanceof CachedValues)) {
      return false;
    }
    CachedValues other = (CachedValues) object;
    return search.equals(other.search) && isDistance == other.isDistance;
  }

  @Override
  public int hashCode() {
    return 2 * search.hashCode() + (isDistance ? 1 : 0);
  }

  @Override
  public String description() {
    return (isDistance ? "distance(" : "travel time(") + search + ")";
  }
}
