package traveltimelab.solr.query;

/** Travel times of the parser over Protocol Buffers. */
public final class TravelTimeValueSourceParser extends CachedValueParser {
  public TravelTimeValueSourceParser() {
    super(Kind.FAST, false);
  }
}
