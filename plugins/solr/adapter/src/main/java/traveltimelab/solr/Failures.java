package traveltimelab.solr;

import org.apache.solr.common.SolrException;
import org.apache.solr.common.SolrException.ErrorCode;
import traveltimelab.core.BadParameterException;
import traveltimelab.core.ServiceException;

/** Makes errors of Solr from those of the plugin. */
public final class Failures {
  private Failures() {}

  /** A wrong parameter of a request: 400. */
  public static SolrException of(BadParameterException error) {
    return new SolrException(ErrorCode.BAD_REQUEST, "travel time: " + error.getMessage(), error);
  }

  /** A wrong option, found when the core loads. */
  public static SolrException ofOption(String element, BadParameterException error) {
    return new SolrException(ErrorCode.SERVER_ERROR, element + ": " + error.getMessage(), error);
  }

  /**
   * A failure of the service. What the service says is wrong about the request is 400; what may pass is 503; what is for
   * the administrator is 500.
   */
  public static SolrException of(ServiceException error) {
    ErrorCode code;
    switch (error.reason()) {
      case REFUSED:
        code = ErrorCode.BAD_REQUEST;
        break;
      case UNAVAILABLE:
        code = ErrorCode.SERVICE_UNAVAILABLE;
        break;
      default:
        code = ErrorCode.SERVER_ERROR;
    }
    return new SolrException(code, error.getMessage(), error);
  }
}
