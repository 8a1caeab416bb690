package traveltimelab.core;

import java.net.URI;
import java.util.function.Function;

/** The options of a query parser in {@code solrconfig.xml}. */
public final class Options {
  public static final String DEFAULT_CACHE = "traveltime";
  static final int DEFAULT_LOCATION_LIMIT = 2000;
  static final double DEFAULT_TIMEOUT_S = 60.0;

  public final String appId;
  public final String apiKey;
  /** Address that paths are appended to; it ends with a slash. */
  public final String uri;
  public final boolean isFilteringDisabled;
  public final String cache;
  public final String prefix;
  /** Default country, or null. */
  public final String country;
  /** The most locations of one JSON request. */
  public final int locationLimit;
  /** The longest that the requests of one query may take together. */
  public final long timeoutMs;

  private Options(Function<String, Object> get, String defaultUri) {
    appId = required(get, "app_id");
    apiKey = required(get, "api_key");
    uri = checkedUri(text(get, "api_uri", defaultUri));
    isFilteringDisabled = Parameters.flag("filtering_disabled", text(get, "filtering_disabled", "false"));
    cache = text(get, "cache", DEFAULT_CACHE);
    prefix = text(get, "prefix", Parameters.DEFAULT_PREFIX);
    country = text(get, "country", null);
    String limit = text(get, "location_limit", String.valueOf(DEFAULT_LOCATION_LIMIT));
    if (!limit.matches("0*[1-9][0-9]{0,8}")) {
      throw new BadParameterException("location_limit", "must be a whole number of at least 1; got " + limit);
    }
    locationLimit = Integer.parseInt(limit);
    timeoutMs = milliseconds(text(get, "timeout", String.valueOf(DEFAULT_TIMEOUT_S)));
  }

  /** Read the options of the parser over Protocol Buffers. */
  public static Options ofFast(Function<String, Object> get) {
    return new Options(get, "http://127.0.0.1:8000/api/v3/");
  }

  /** Read the options of the parser over JSON. */
  public static Options ofTimeFilter(Function<String, Object> get) {
    return new Options(get, "http://127.0.0.1:8000/v4/");
  }

  private static String text(Function<String, Object> get, String name, String otherwise) {
    Object value = get.apply(name);
    return value == null ? otherwise : value.toString().trim();
  }

  private static String required(Function<String, Object> get, String name) {
    String value = text(get, name, "");
    if (value.isEmpty()) {
      throw new BadParameterException(name, "is missing: add <str name=\"" + name + "\"> to the queryParser");
    }
    return value;
  }

  private static String checkedUri(String text) {
    try {
      URI parsed = URI.create(text);
      if (("http".equals(parsed.getScheme()) || "https".equals(parsed.getScheme())) && parsed.getHost() != null) {
        return text.endsWith("/") ? text : text + "/";
      }
    } catch (IllegalArgumentException error) {
      // The message below covers it.
    }
    throw new BadParameterException("api_uri", "must be such as http://127.0.0.1:8000/api/v3/; got " + text);
  }

  private static long milliseconds(String seconds) {
    try {
      double value = Double.parseDouble(seconds);
      if (value >= 0.001 && value <= 86_400) {
        return (long) (1000 * value);
      }
    } catch (NumberFormatException error) {
      // The message below covers it.
    }
    throw new BadParameterException("timeout", "must be a number of seconds, at most a day; got " + seconds);
  }

  @Override
  public String toString() {
    return "app_id " + appId + " at " + uri;
  }
}
