package traveltimelab.solr;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.search.CollectionTerminatedException;
import org.apache.lucene.search.Query;
import org.apache.solr.handler.component.ResponseBuilder;
import org.apache.solr.request.SolrRequestInfo;
import org.apache.solr.search.SolrIndexSearcher;
import traveltimelab.core.Answers;
import traveltimelab.core.Memory;
import traveltimelab.core.Scores;
import traveltimelab.core.Search;
import traveltimelab.core.ServiceException;
import traveltimelab.solr.cache.RequestCache;

/**
 * Gathers the documents that reach the filter, asks for the travel times of all of them, and then passes on those that
 * are reachable. Documents without a location are left out at once.
 */
final class Filter<S extends Search> {
  /** Where documents go in the end. */
  interface Sink {
    void enter(LeafReaderContext leaf) throws IOException;

    void collect(int doc, float score) throws IOException;

    /** End the leaf that was entered last. */
    void leave() throws IOException;
  }

  /** Scores of single documents, in ascending order within a leaf. */
  interface Scoring {
    void enter(LeafReaderContext leaf) throws IOException;

    float score(int doc) throws IOException;
  }

  private final TravelTimeQuery<S> query;
  private final RequestCache cache;
  private final SolrIndexSearcher searcher;
  private final RequestAnswers request;
  private final Answers<S> answers;

  private List<LeafReaderContext> leaves = new ArrayList<>();
  /** For each leaf the number of documents that were gathered before it. */
  private List<Integer> starts = new ArrayList<>();
  private int[] docs = new int[64];
  private int[] places = new int[64];
  private float[] scores = new float[64];
  private int size;
  private Locations locations;

  Filter(TravelTimeQuery<S> query, RequestCache cache, SolrIndexSearcher searcher) {
    this.query = query;
    this.cache = cache;
    this.searcher = searcher;
    request = RequestAnswers.current();
    answers = request == null ? new Answers<>(query.search) : request.getOrMake(query.search);
  }

  void enter(LeafReaderContext leaf) throws IOException {
    leaves.add(leaf);
    starts.add(size);
    locations = new Locations(leaf, query.search.field());
  }

  /** Return whether a document has a location. */
  boolean hasLocation(int doc) {
    return locations.advance(doc);
  }

  /** Gather a document that has a location. */
  void add(int doc, float score) {
    if (size == docs.length) {
      docs = Arrays.copyOf(docs, 2 * size);
      places = Arrays.copyOf(places, 2 * size);
      scores = Arrays.copyOf(scores, 2 * size);
    }
    docs[size] = doc;
    places[size] = answers.add(locations.place());
    scores[size++] = score;
  }

  /** Ask for travel times, and pass on what is reachable. Then the filter can gather anew, as grouping does. */
  void deliver(Sink sink, boolean needsScores) throws IOException {
    Memory memory = cache == null ? null : cache.memory(query.search);
    try {
      if (answers.complete(memory, query.client) > 0 && cache != null) {
        cache.weigh(query.search, memory);
      }
    } catch (ServiceException error) {
      throw Failures.of(error);
    }
    Scoring scoring = needsScores ? scoringWithTimes() : null;
    for (int i = 0; i < leaves.size(); i++) {
      int end = i + 1 < leaves.size() ? starts.get(i + 1) : size;
      try {
        deliver(sink, scoring, leaves.get(i), starts.get(i), end);
      } catch (CollectionTerminatedException error) {
        // The collector wants no more of this leaf.
      }
      sink.leave();
    }
    leaves = new ArrayList<>();
    starts = new ArrayList<>();
    size = 0;
  }

  private void deliver(Sink sink, Scoring scoring, LeafReaderContext leaf, int from, int to) throws IOException {
    sink.enter(leaf);
    if (scoring != null) {
      scoring.enter(leaf);
    }
    for (int i = from; i < to; i++) {
      int seconds = answers.seconds(places[i]);
      if (seconds >= 0 || query.isFilteringDisabled) {
        float score = scoring == null ? scores[i] : scoring.score(docs[i]);
        sink.collect(docs[i], Scores.filter(score, query.weight, query.search.limit(), seconds));
      }
    }
  }

  /**
   * Return scores of the main query if they depend on travel times, else null. Those that came with the documents were
   * computed before the times were known.
   */
  private Scoring scoringWithTimes() throws IOException {
    if (request == null || !request.isScored()) {
      return null;
    }
    ResponseBuilder response = SolrRequestInfo.getRequestInfo().getResponseBuilder();
    Query main = response == null ? null : response.getQuery();
    return main == null ? null : Version.scoring(searcher, main);
  }
}
