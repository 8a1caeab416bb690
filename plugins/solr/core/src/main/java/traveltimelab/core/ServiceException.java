package traveltimelab.core;

/** The travel-time service refused a request, could not be reached, or gave an answer that is none. */
public final class ServiceException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** What became of the request. */
  public enum Reason {
    /** The service says that the request is wrong: 400, 404, 413, 422. */
    REFUSED,
    /** The service does not accept the credentials: 401, 403. */
    CREDENTIALS,
    /** No answer in time, no connection, too many requests (429), or a failure of the service (5xx). */
    UNAVAILABLE,
    /** An answer that does not fit the request. */
    NOT_UNDERSTOOD
  }

  private final Reason reason;

  public ServiceException(Reason reason, String message) {
    super(message);
    this.reason = reason;
  }

  public ServiceException(Reason reason, String message, Throwable cause) {
    super(message, cause);
    this.reason = reason;
  }

  public Reason reason() {
    return reason;
  }

  static ServiceException ofStatus(int status, String message) {
    Reason reason;
    if (status == 401 || status == 403) {
      reason = Reason.CREDENTIALS;
    } else if (status == 408 || status == 429 || status >= 500) {
      reason = Reason.UNAVAILABLE;
    } else if (status >= 400) {
      reason = Reason.REFUSED;
    } else {
      reason = Reason.NOT_UNDERSTOOD;
    }
    return new ServiceException(reason, message);
  }
}
