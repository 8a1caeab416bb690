package traveltimelab.solr;

import org.apache.solr.common.util.NamedList;
import traveltimelab.core.Client;
import traveltimelab.core.Options;
import traveltimelab.core.Parameters;
import traveltimelab.core.TimeFilterClient;
import traveltimelab.core.TimeFilterSearch;

/** Query parser over {@code /v4/time-filter}. */
public final class TimeFilterQParserPlugin extends ParserPlugin<TimeFilterSearch> {
  @Override
  protected Options read(NamedList<?> args) {
    return Options.ofTimeFilter(args::get);
  }

  @Override
  protected Client<TimeFilterSearch> connect(Options options) {
    return new TimeFilterClient(options);
  }

  @Override
  protected TimeFilterSearch parse(Parameters parameters, Options options) {
    return TimeFilterSearch.parse(parameters);
  }
}
