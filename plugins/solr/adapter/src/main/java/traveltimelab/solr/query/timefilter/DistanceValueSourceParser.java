package traveltimelab.solr.query.timefilter;

import traveltimelab.solr.query.CachedValueParser;

/** Distances of the parser over JSON. */
public final class DistanceValueSourceParser extends CachedValueParser {
  public DistanceValueSourceParser() {
    super(Kind.TIME_FILTER, true);
  }
}
