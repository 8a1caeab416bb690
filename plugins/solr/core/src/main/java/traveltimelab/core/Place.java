package traveltimelab.core;

import java.util.Locale;

/** The single point of a search. */
public final class Place {
  private static final String GEOHASH_DIGITS = "0123456789bcdefghjkmnpqrstuvwxyz";

  /** 24 digits are 60 bits for each coordinate, more than a double can tell apart. */
  private static final int MOST_DIGITS = 24;

  public final double lat;
  public final double lng;

  public Place(String parameter, double lat, double lng) {
    if (!(Math.abs(lat) <= 90.0)) {
      throw new BadParameterException(parameter, "needs a latitude from -90 to 90; got " + lat);
    }
    if (!(Math.abs(lng) <= 180.0)) {
      throw new BadParameterException(parameter, "needs a longitude from -180 to 180; got " + lng);
    }
    // No negative zero, so that equal places are equal keys.
    this.lat = lat + 0.0;
    this.lng = lng + 0.0;
  }

  /** Read {@code lat,lng}, or a geohash, which means the centre of its cell. */
  public static Place parse(String parameter, String text) {
    String trimmed = text.trim();
    int comma = trimmed.indexOf(',');
    if (comma < 0) {
      return ofGeohash(parameter, trimmed);
    }
    try {
      double lat = Double.parseDouble(trimmed.substring(0, comma));
      return new Place(parameter, lat, Double.parseDouble(trimmed.substring(comma + 1)));
    } catch (NumberFormatException error) {
      throw new BadParameterException(parameter, "must be lat,lon or a geohash; got " + text);
    }
  }

  static Place ofGeohash(String parameter, String text) {
    String hash = text.toLowerCase(Locale.ROOT);
    if (hash.isEmpty() || hash.length() > MOST_DIGITS) {
      throw new BadParameterException(parameter, "must be lat,lon or a geohash; got '" + text + "'");
    }
    double[] low = {-180.0, -90.0};
    double[] high = {180.0, 90.0};
    int axis = 0;
    for (int i = 0; i < hash.length(); i++) {
      int digit = GEOHASH_DIGITS.indexOf(hash.charAt(i));
      if (digit < 0) {
        throw new BadParameterException(parameter, "must be lat,lon or a geohash; got " + text);
      }
      for (int bit = 16; bit > 0; bit >>= 1) {
        double middle = (low[axis] + high[axis]) / 2;
        if ((digit & bit) != 0) {
          low[axis] = middle;
        } else {
          high[axis] = middle;
        }
        axis = 1 - axis;
      }
    }
    return new Place(parameter, (low[1] + high[1]) / 2, (low[0] + high[0]) / 2);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Place
        && Double.compare(((Place) other).lat, lat) == 0
        && Double.compare(((Place) other).lng, lng) == 0;
  }

  @Override
  public int hashCode() {
    return 31 * Double.hashCode(lat) + Double.hashCode(lng);
  }

  @Override
  public String toString() {
    return lat + "," + lng;
  }
}
