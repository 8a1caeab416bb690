package traveltimelab.solr.cache;

/** The same as {@link ExactRequestCache}, under the name that configurations for the JSON parser have. */
public final class ExactTimeFilterRequestCache extends ExactRequestCache {}
