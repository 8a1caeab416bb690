package traveltimelab.solr.query;

/** Distances of the parser over Protocol Buffers. */
public final class DistanceValueSourceParser extends CachedValueParser {
  public DistanceValueSourceParser() {
    super(Kind.FAST, true);
  }
}
