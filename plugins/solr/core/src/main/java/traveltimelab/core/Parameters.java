package traveltimelab.core;

import java.util.Arrays;
import java.util.List;
import java.util.function.Function;

/**
 * The parameters of a query, from several places of which the first one that has a parameter decides. In each place the
 * name with the prefix comes before the bare name.
 */
public final class Parameters {
  public static final String DEFAULT_PREFIX = "traveltime_";

  private final String prefix;
  private final Function<String, String> local;
  private final List<Function<String, String>> places;

  private Parameters(String prefix, Function<String, String> local, List<Function<String, String>> places) {
    this.prefix = prefix;
    this.local = local;
    this.places = places;
  }

  /** Parameters of a query parser: local ones, then those of the request. */
  public static Parameters of(String prefix, Function<String, String> local, Function<String, String> raw) {
    return new Parameters(prefix, local, Arrays.asList(local, raw));
  }

  /** Parameters of a value source, which sees those of the request only. */
  public static Parameters ofRequest(String prefix, Function<String, String> raw) {
    return new Parameters(prefix, name -> null, Arrays.asList(raw));
  }

  /** Return a parameter, or null. */
  public String get(String name) {
    for (Function<String, String> place : places) {
      String value = place.apply(prefix + name);
      if (value == null) {
        value = place.apply(name);
      }
      if (value != null) {
        return value;
      }
    }
    return null;
  }

  public String require(String name) {
    String value = get(name);
    if (value == null || value.trim().isEmpty()) {
      String where = " is missing: give it as a local parameter, or as " + prefix + name + " in the request";
      throw new BadParameterException(name, where.substring(1));
    }
    return value.trim();
  }

  /** Return a whole number of seconds, at least {@code least}. */
  public int seconds(String name, int least) {
    String text = require(name);
    try {
      int value = Integer.parseInt(text);
      if (value >= least) {
        return value;
      }
    } catch (NumberFormatException error) {
      // The message below covers it.
    }
    throw new BadParameterException(name, "must be a whole number of seconds, at least " + least + "; got " + text);
  }

  /** Return the share of the travel time in the score of a filter, 0 to 1. */
  public float weight() {
    String text = get("weight");
    if (text == null) {
      return 0f;
    }
    try {
      float value = Float.parseFloat(text);
      if (value >= 0f && value <= 1f) {
        return value;
      }
    } catch (NumberFormatException error) {
      // The message below covers it.
    }
    throw new BadParameterException("weight", "must be a number from 0 to 1; got " + text);
  }

  /**
   * Return whether distances are asked for.
   *
   * <p>Value sources see parameters of the request only, and would look for times without distances if a query had asked
   * for them with a local parameter. So that form is refused.
   */
  public boolean distances() {
    if (local.apply(prefix + "distances") != null || local.apply("distances") != null) {
      String fix = "must be a parameter of the request, not a local one: " + prefix + "distances=true";
      throw new BadParameterException("distances", fix);
    }
    String text = get("distances");
    return text != null && flag("distances", text);
  }

  static boolean flag(String name, String text) {
    if (text.equalsIgnoreCase("true")) {
      return true;
    }
    if (text.equalsIgnoreCase("false")) {
      return false;
    }
    throw new BadParameterException(name, "must be true or false; got " + text);
  }
}
