package traveltimelab.core;

import java.util.Arrays;

/** Travel times and distances of places, in the order of the places. */
public final class Times {
  public static final int UNREACHABLE = -1;

  /** Seconds, or -1 where unreachable. */
  public final int[] seconds;
  /** Metres, or -1 where unreachable or not known; null if distances were not asked for. */
  public final int[] metres;

  public Times(int size, boolean withDistances) {
    this(new int[size], withDistances ? new int[size] : null);
  }

  private Times(int[] seconds, int[] metres) {
    this.seconds = seconds;
    this.metres = metres;
  }

  /** Return a copy with room for more places. */
  Times copy(int size) {
    return new Times(Arrays.copyOf(seconds, size), metres == null ? null : Arrays.copyOf(metres, size));
  }
}
