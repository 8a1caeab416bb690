package traveltimelab.core;

/**
 * Coordinates packed into a long, in the form of Lucene's doc values for points on the earth: the upper 32 bits are the
 * latitude in steps of 180 / 2^32 degrees, the lower ones the longitude in steps of 360 / 2^32 degrees.
 */
public final class Coordinates {
  private static final double LAT_STEP = 180.0 / (1L << 32);
  private static final double LNG_STEP = 360.0 / (1L << 32);

  private Coordinates() {}

  public static double lat(long packed) {
    return (int) (packed >> 32) * LAT_STEP;
  }

  public static double lng(long packed) {
    return (int) packed * LNG_STEP;
  }

  /** Pack coordinates; each is rounded down to a step. */
  public static long pack(double lat, double lng) {
    int latBits = (int) Math.min(Math.floor(lat / LAT_STEP), Integer.MAX_VALUE);
    int lngBits = (int) Math.min(Math.floor(lng / LNG_STEP), Integer.MAX_VALUE);
    return ((long) latBits << 32) | (lngBits & 0xFFFFFFFFL);
  }
}
