package traveltimelab.solr;

import java.io.IOException;
import java.util.Map;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.queries.function.FunctionValues;
import org.apache.lucene.queries.function.ValueSource;
import org.apache.lucene.queries.function.docvalues.FloatDocValues;
import traveltimelab.core.Answers;
import traveltimelab.core.Memory;
import traveltimelab.core.Scores;
import traveltimelab.core.Search;
import traveltimelab.solr.cache.RequestCache;

/** Scores of a main query; 0 while the travel times are not there yet. */
final class ScoreSource extends ValueSource {
  private final Search search;
  private final Answers<?> answers;
  private final RequestCache cache;

  ScoreSource(Search search, Answers<?> answers, RequestCache cache) {
    this.search = search;
    this.answers = answers;
    this.cache = cache;
  }

  @Override
  @SuppressWarnings("rawtypes")
  public FunctionValues getValues(Map context, LeafReaderContext leaf) throws IOException {
    Locations locations = new Locations(leaf, search.field());
    Memory memory = cache == null ? null : cache.peek(search);
    return new FloatDocValues(this) {
      @Override
      public float floatVal(int doc) {
        if (!locations.advance(doc)) {
          return 0f;
        }
        long place = locations.place();
        int seconds = answers == null ? -2 : answers.secondsAt(place);
        if (seconds == -2) {
          seconds = memory == null ? -1 : memory.seconds(place, search.limit());
        }
        return Scores.main(search.limit(), seconds);
      }
    };
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ScoreSource && ((ScoreSource) other).search.equals(search);
  }

  @Override
  public int hashCode() {
    return search.hashCode();
  }

  @Override
  public String description() {
    return "score of travel time(" + search + ")";
  }
}
