package traveltimelab.solr;

import java.io.IOException;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.search.DocIdSetIterator;
import org.apache.lucene.search.LeafCollector;
import org.apache.lucene.search.Scorer;
import org.apache.solr.search.DelegatingCollector;

/** The collector of a {@link Filter}: gathers documents, and passes on at the end those that are reachable. */
final class Gatherer extends DelegatingCollector implements Filter.Sink {
  private final Filter<?> filter;
  private final Replay replay = new Replay();
  LeafCollector sink;

  Gatherer(Filter<?> filter) {
    this.filter = filter;
  }

  @Override
  public void setScorer(Scorer scorer) {
    this.scorer = scorer;
  }

  @Override
  protected void doSetNextReader(LeafReaderContext leaf) throws IOException {
    context = leaf;
    docBase = leaf.docBase;
    filter.enter(leaf);
  }

  @Override
  public void collect(int doc) throws IOException {
    if (filter.hasLocation(doc)) {
      filter.add(doc, needsScores() ? scorer.score() : 0f);
    }
  }

  /** Ask for travel times and pass documents on. */
  @Override
  public void finish() throws IOException {
    filter.deliver(this, needsScores());
    if (delegate instanceof DelegatingCollector) {
      ((DelegatingCollector) delegate).finish();
    }
  }

  @Override
  public void enter(LeafReaderContext leaf) throws IOException {
    sink = delegate.getLeafCollector(leaf);
    sink.setScorer(replay);
  }

  @Override
  public void collect(int doc, float score) throws IOException {
    replay.doc = doc;
    replay.score = score;
    sink.collect(doc);
  }

  @Override
  public void leave() throws IOException {
    // These versions do not tell collectors the end of a leaf.
  }

  /** The document that is passed on, and its score. */
  private static final class Replay extends Scorer {
    int doc = -1;
    float score;

    Replay() {
      super(null);
    }

    @Override
    public int docID() {
      return doc;
    }

    @Override
    public float score() {
      return score;
    }

    /** Overrides a method of Solr up to 7.6. */
    public int freq() {
      return 1;
    }

    @Override
    public DocIdSetIterator iterator() {
      throw new UnsupportedOperationException("documents are passed on, not searched");
    }
  }
}
