package traveltimelab.solr;

import java.io.IOException;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.Scorer;
import org.apache.lucene.search.Weight;
import org.apache.solr.search.DelegatingCollector;
import org.apache.solr.search.SolrIndexSearcher;

/** What differs between versions of Solr and has no class of its own. */
final class Version {
  private Version() {}

  static DelegatingCollector collector(Filter<?> filter) {
    return new Gatherer(filter);
  }

  /** Score documents by a query anew. */
  static Filter.Scoring scoring(SolrIndexSearcher searcher, Query query) throws IOException {
    Weight weight = searcher.createNormalizedWeight(query, true);
    return new Filter.Scoring() {
      private Scorer scorer;

      @Override
      public void enter(LeafReaderContext leaf) throws IOException {
        scorer = weight.scorer(leaf);
      }

      @Override
      public float score(int doc) throws IOException {
        return scorer != null && scorer.iterator().advance(doc) == doc ? scorer.score() : 0f;
      }
    };
  }
}
