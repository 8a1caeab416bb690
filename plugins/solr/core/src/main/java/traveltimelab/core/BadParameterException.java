package traveltimelab.core;

/** A parameter of a query, or an option of the configuration, is missing or wrong. */
public final class BadParameterException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final String parameter;

  public BadParameterException(String parameter, String problem) {
    super(parameter + " " + problem);
    this.parameter = parameter;
  }

  /** The name of the parameter, without a prefix. */
  public String parameter() {
    return parameter;
  }
}
