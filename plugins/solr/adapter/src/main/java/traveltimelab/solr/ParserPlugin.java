package traveltimelab.solr;

import org.apache.solr.common.params.SolrParams;
import org.apache.solr.common.util.NamedList;
import org.apache.solr.request.SolrQueryRequest;
import org.apache.solr.search.QParser;
import org.apache.solr.search.QParserPlugin;
import org.apache.solr.search.SyntaxError;
import traveltimelab.core.BadParameterException;
import traveltimelab.core.Client;
import traveltimelab.core.Options;
import traveltimelab.core.Parameters;
import traveltimelab.core.Search;

/** What both query parsers have in common. */
public abstract class ParserPlugin<S extends Search> extends QParserPlugin {
  private Options options;
  private Client<S> client;

  protected abstract Options read(NamedList<?> args);

  protected abstract Client<S> connect(Options options);

  protected abstract S parse(Parameters parameters, Options options);

  @Override
  @SuppressWarnings("rawtypes")
  public void init(NamedList args) {
    try {
      options = read(args);
    } catch (BadParameterException error) {
      throw Failures.ofOption("queryParser " + getClass().getName(), error);
    }
    client = connect(options);
  }

  @Override
  public QParser createParser(String text, SolrParams local, SolrParams raw, SolrQueryRequest request) {
    return new QParser(text, local, raw, request) {
      @Override
      public org.apache.lucene.search.Query parse() throws SyntaxError {
        try {
          Parameters parameters =
              Parameters.of(options.prefix, name -> local == null ? null : local.get(name), raw::get);
          S search = ParserPlugin.this.parse(parameters, options);
          Fields.check(search.field(), request.getSchema());
          return new TravelTimeQuery<>(
              search, parameters.weight(), options.isFilteringDisabled, options.cache, client);
        } catch (BadParameterException error) {
          throw Failures.of(error);
        }
      }
    };
  }
}
