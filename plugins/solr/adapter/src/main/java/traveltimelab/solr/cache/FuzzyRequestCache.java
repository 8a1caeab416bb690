package traveltimelab.solr.cache;

/** Keeps travel times under origin, mode and direction, so that searches with other limits share them. */
public class FuzzyRequestCache extends RequestCache {
  public FuzzyRequestCache() {
    super(true);
  }
}
