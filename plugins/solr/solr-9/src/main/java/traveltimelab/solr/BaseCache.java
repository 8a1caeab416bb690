package traveltimelab.solr;

import org.apache.solr.search.CaffeineCache;
import traveltimelab.core.Memory;

/** The cache of Solr that those of the plugin are made of. */
public abstract class BaseCache extends CaffeineCache<Object, Memory> {}
