package traveltimelab.solr;

import java.io.IOException;
import org.apache.solr.search.DelegatingCollector;

/** Passes documents on when {@code finish} is called, before Solr 9.4. */
final class FinishGatherer extends Gatherer {
  FinishGatherer(Filter<?> filter) {
    super(filter);
  }

  @Override
  public void finish() throws IOException {
    deliver();
    if (delegate instanceof DelegatingCollector) {
      ((DelegatingCollector) delegate).finish();
    }
  }
}
