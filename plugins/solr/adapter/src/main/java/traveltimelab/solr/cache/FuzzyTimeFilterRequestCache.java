package traveltimelab.solr.cache;

/** The same as {@link FuzzyRequestCache}, under the name that configurations for the JSON parser have. */
public final class FuzzyTimeFilterRequestCache extends FuzzyRequestCache {}
