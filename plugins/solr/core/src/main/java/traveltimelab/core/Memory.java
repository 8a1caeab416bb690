package traveltimelab.core;

import java.util.Arrays;

/**
 * The travel times that a cache keeps under one key. Safe for use by several threads.
 *
 * <p>With a size, the places that were least recently asked for make room for others.
 */
public class Memory {
  /** Approximate size of an empty one. */
  private static final long BASE_BYTES = 512;

  private static final int NOT_ASKED = Integer.MIN_VALUE;
  private static final int NONE = -1;

  private final int mostPlaces;
  private final boolean onlyPositive;
  private final PlaceTable table = new PlaceTable();
  /** Seconds; for an unreachable place -1 minus the limit within which it is. */
  private int[] seconds = new int[16];
  private int[] metres = new int[16];
  /**
   * Whether a place is reachable within a limit that equals its seconds: 1, -1, or 0 if that is not known. Seconds are
   * rounded, so that a time of 300.4 s is 300 in the answer of a longer search and unreachable within 300.
   */
  private byte[] edges = new byte[16];
  /** Neighbours in the order of use; older is towards the tail. */
  private int[] older;
  private int[] newer;
  private int newest = NONE;
  private int oldest = NONE;

  /**
   * Make an empty memory.
   *
   * @param mostPlaces its size; {@link Integer#MAX_VALUE} is none
   * @param onlyPositive keep reachable places only
   */
  public Memory(int mostPlaces, boolean onlyPositive) {
    this.mostPlaces = mostPlaces;
    this.onlyPositive = onlyPositive;
    if (mostPlaces != Integer.MAX_VALUE) {
      older = new int[16];
      newer = new int[16];
    }
  }

  /**
   * Fill in the times of places that are known.
   *
   * @param places the places of a query
   * @param wanted the numbers of those to look for
   * @param limit the limit of the search: times above it count as unreachable
   * @param times where times go, and distances if they are asked for
   * @return the numbers of the places that are not known
   */
  public synchronized int[] recall(PlaceTable places, int[] wanted, int limit, Times times) {
    int[] missing = new int[wanted.length];
    int nMissing = 0;
    for (int i : wanted) {
      int number = table.find(places.place(i));
      if (number < 0 || !isKnown(number, limit, times.metres != null)) {
        missing[nMissing++] = i;
        continue;
      }
      use(number);
      boolean isReached = isReached(number, limit);
      times.seconds[i] = isReached ? seconds[number] : Times.UNREACHABLE;
      if (times.metres != null) {
        times.metres[i] = isReached ? metres[number] : -1;
      }
    }
    return Arrays.copyOf(missing, nMissing);
  }

  private boolean isKnown(int number, int limit, boolean withDistance) {
    if (seconds[number] < 0) {
      return limit <= -1 - seconds[number];
    }
    if (seconds[number] == limit && edges[number] == 0) {
      return false;
    }
    return !isReached(number, limit) || !withDistance || metres[number] != NOT_ASKED;
  }

  private boolean isReached(int number, int limit) {
    int time = seconds[number];
    return time >= 0 && (time < limit || time == limit && edges[number] == 1);
  }

  /** Store the answers for some of the places: those whose numbers are listed. */
  public synchronized void keep(PlaceTable places, int[] numbers, int limit, Times times) {
    for (int i : numbers) {
      int time = times.seconds[i];
      if (time < 0 && onlyPositive) {
        continue;
      }
      long place = places.place(i);
      int number = table.find(place);
      if (number < 0) {
        number = room(place);
        seconds[number] = time < 0 ? -1 - limit : time;
        metres[number] = NOT_ASKED;
        edges[number] = 0;
      } else if (time >= 0) {
        edges[number] = seconds[number] == time ? edges[number] : 0;
        seconds[number] = time;
      } else if (seconds[number] == limit) {
        edges[number] = -1;
      } else if (seconds[number] < 0) {
        seconds[number] = Math.min(seconds[number], -1 - limit);
      }
      if (time == limit) {
        edges[number] = 1;
      }
      if (times.metres != null && time >= 0) {
        metres[number] = times.metres[i];
      }
      use(number);
    }
  }

  /** Return the number of a new place, which takes that of the oldest one when the memory is full. */
  private int room(long place) {
    if (table.size() >= mostPlaces) {
      int number = oldest;
      unlink(number);
      table.replace(number, place);
      link(number);
      return number;
    }
    int number = table.add(place);
    if (number == seconds.length) {
      seconds = Arrays.copyOf(seconds, 2 * number);
      metres = Arrays.copyOf(metres, 2 * number);
      edges = Arrays.copyOf(edges, 2 * number);
      if (older != null) {
        older = Arrays.copyOf(older, 2 * number);
        newer = Arrays.copyOf(newer, 2 * number);
      }
    }
    link(number);
    return number;
  }

  private void use(int number) {
    if (older != null && newest != number) {
      unlink(number);
      link(number);
    }
  }

  private void link(int number) {
    if (older == null) {
      return;
    }
    older[number] = newest;
    newer[number] = NONE;
    if (newest != NONE) {
      newer[newest] = number;
    }
    newest = number;
    if (oldest == NONE) {
      oldest = number;
    }
  }

  private void unlink(int number) {
    if (newer[number] == NONE) {
      newest = older[number];
    } else {
      older[newer[number]] = older[number];
    }
    if (older[number] == NONE) {
      oldest = newer[number];
    } else {
      newer[older[number]] = newer[number];
    }
  }

  /** Return the travel time of a place within a limit, or -1. */
  public synchronized int seconds(long place, int limit) {
    int number = table.find(place);
    return number >= 0 && isReached(number, limit) ? seconds[number] : -1;
  }

  /** Return the distance of a place whose travel time is within a limit, or -1. */
  public synchronized int metres(long place, int limit) {
    int number = table.find(place);
    return number < 0 || !isReached(number, limit) || metres[number] == NOT_ASKED ? -1 : metres[number];
  }

  public synchronized int size() {
    return table.size();
  }

  public synchronized long ramBytes() {
    return BASE_BYTES + table.ramBytes() + seconds.length * (older == null ? 9L : 17L);
  }
}
