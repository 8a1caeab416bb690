package traveltimelab.solr;

import java.io.IOException;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.search.LeafCollector;
import org.apache.lucene.search.Scorable;
import org.apache.lucene.search.ScoreMode;
import org.apache.solr.search.DelegatingCollector;

/** The collector of a {@link Filter}: gathers documents, and passes on at the end those that are reachable. */
abstract class Gatherer extends DelegatingCollector implements Filter.Sink {
  private final Filter<?> filter;
  private final Replay replay = new Replay();
  LeafCollector sink;

  Gatherer(Filter<?> filter) {
    this.filter = filter;
  }

  @Override
  public void setScorer(Scorable scorer) {
    this.scorer = scorer;
  }

  /** Documents are wanted whether their scores compete or not: travel times may change the scores. */
  @Override
  public ScoreMode scoreMode() {
    return needsScores() ? ScoreMode.COMPLETE : ScoreMode.COMPLETE_NO_SCORES;
  }

  private boolean needsScores() {
    return delegate.scoreMode().needsScores();
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

  /** Ask for travel times and pass documents on; the collector after this one is not ended yet. */
  final void deliver() throws IOException {
    filter.deliver(this, needsScores());
  }

  @Override
  public void enter(LeafReaderContext leaf) throws IOException {
    sink = null;
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
    // Only from Solr 9.4 on are collectors told the end of a leaf.
  }

  /** The document that is passed on, and its score. */
  private static final class Replay extends Scorable {
    int doc = -1;
    float score;

    @Override
    public int docID() {
      return doc;
    }

    @Override
    public float score() {
      return score;
    }
  }
}
