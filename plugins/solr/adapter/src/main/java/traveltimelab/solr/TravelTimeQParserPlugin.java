package traveltimelab.solr;

import org.apache.solr.common.util.NamedList;
import traveltimelab.core.Client;
import traveltimelab.core.FastClient;
import traveltimelab.core.FastSearch;
import traveltimelab.core.Options;
import traveltimelab.core.Parameters;

/** Query parser over the Protocol Buffers matrix. */
public final class TravelTimeQParserPlugin extends ParserPlugin<FastSearch> {
  @Override
  protected Options read(NamedList<?> args) {
    return Options.ofFast(args::get);
  }

  @Override
  protected Client<FastSearch> connect(Options options) {
    return new FastClient(options);
  }

  @Override
  protected FastSearch parse(Parameters parameters, Options options) {
    return FastSearch.parse(parameters, options.country);
  }
}
