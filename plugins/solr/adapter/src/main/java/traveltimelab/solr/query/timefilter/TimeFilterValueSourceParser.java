package traveltimelab.solr.query.timefilter;

import traveltimelab.solr.query.CachedValueParser;

/** Travel times of the parser over JSON. */
public final class TimeFilterValueSourceParser extends CachedValueParser {
  public TimeFilterValueSourceParser() {
    super(Kind.TIME_FILTER, false);
  }
}
