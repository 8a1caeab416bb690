package traveltimelab.solr.cache;

/** Keeps travel times under all parameters of a search. */
public class ExactRequestCache extends RequestCache {
  public ExactRequestCache() {
    super(false);
  }
}
