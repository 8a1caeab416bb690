package traveltimelab.core;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;

/** A search over the Protocol Buffers matrix. */
public final class FastSearch implements Search {
  /** Means of transportation: the word in queries, the number in messages, the last part of the path. */
  public enum Mode {
    PT("pt", 0, "pt"),
    DRIVING("driving", 1, "driving"),
    DRIVING_AND_PT("driving+pt", 2, "pt"),
    DRIVING_AND_FERRY("driving+ferry", 3, "driving+ferry"),
    WALKING("walking", 4, "walking"),
    CYCLING("cycling", 5, "cycling"),
    CYCLING_AND_FERRY("cycling+ferry", 6, "cycling+ferry"),
    WALKING_AND_FERRY("walking+ferry", 7, "walking+ferry");

    public final String word;
    final int number;
    final String path;

    Mode(String word, int number, String path) {
      this.word = word;
      this.number = number;
      this.path = path;
    }

    static Mode parse(String text) {
      StringBuilder words = new StringBuilder();
      for (Mode mode : values()) {
        if (mode.word.equals(text)) {
          return mode;
        }
        words.append(words.length() == 0 ? "" : ", ").append(mode.word);
      }
      throw new BadParameterException("mode", "must be one of " + words + "; got " + text);
    }
  }

  final String field;
  final Place origin;
  final int limit;
  final Mode mode;
  final String country;
  final boolean manyToOne;
  final boolean distances;

  FastSearch(
      String field, Place origin, int limit, Mode mode, String country, boolean manyToOne, boolean distances) {
    this.field = field;
    this.origin = origin;
    this.limit = limit;
    this.mode = mode;
    this.country = country;
    this.manyToOne = manyToOne;
    this.distances = distances;
  }

  /** Read the parameters of a query; {@code defaultCountry} may be null. */
  public static FastSearch parse(Parameters parameters, String defaultCountry) {
    String field = parameters.require("field");
    Place origin = Place.parse("origin", parameters.require("origin"));
    int limit = parameters.seconds("limit", 0);
    Mode mode = Mode.parse(parameters.require("mode").replace(' ', '+'));
    String country = parameters.get("country") == null ? defaultCountry : parameters.get("country");
    country = country == null ? parameters.require("country") : country.trim().toLowerCase(Locale.ROOT);
    if (!country.matches("[a-z0-9_.-]+")) {
      throw new BadParameterException("country", "must be a code such as uk or fi; got " + country);
    }
    boolean manyToOne = false;
    String type = parameters.get("requestType");
    if (type != null) {
      List<String> types = Arrays.asList("ONE_TO_MANY", "MANY_TO_ONE");
      if (!types.contains(type)) {
        throw new BadParameterException("requestType", "must be ONE_TO_MANY or MANY_TO_ONE; got " + type);
      }
      manyToOne = type.equals("MANY_TO_ONE");
    }
    return new FastSearch(field, origin, limit, mode, country, manyToOne, parameters.distances());
  }

  @Override
  public String field() {
    return field;
  }

  @Override
  public int limit() {
    return limit;
  }

  @Override
  public boolean distances() {
    return distances;
  }

  /** Origin, mode and direction: times do not depend on anything else. */
  @Override
  public Object fuzzyKey() {
    return new FastSearch("", origin, 0, mode, "", manyToOne, false);
  }

  @Override
  public boolean equals(Object object) {
    if (!(object instanceof FastSearch)) {
      return false;
    }
    FastSearch other = (FastSearch) object;
    return field.equals(other.field)
        && origin.equals(other.origin)
        && limit == other.limit
        && mode == other.mode
        && country.equals(other.country)
        && manyToOne == other.manyToOne
        && distances == other.distances;
  }

  @Override
  public int hashCode() {
    return Objects.hash(field, origin, limit, mode, country, manyToOne, distances);
  }

  @Override
  public String toString() {
    return mode.word + (manyToOne ? " to " : " from ") + origin + " within " + limit + " s, " + field;
  }
}
