package traveltimelab.core;

import java.util.Arrays;

/**
 * A hash table from packed coordinates to the numbers 0, 1, 2, ... in the order in which they came.
 *
 * <p>Open addressing over arrays: 200,000 places take 4 MB, which boxed numbers would take many times.
 */
public final class PlaceTable {
  private long[] places;
  /** Number of the place plus 1, or 0 where the slot is free. */
  private int[] slots;
  private int size;

  public PlaceTable() {
    places = new long[16];
    slots = new int[32];
  }

  public int size() {
    return size;
  }

  public long place(int number) {
    return places[number];
  }

  /** Return the number of a place, or -1. */
  public int find(long place) {
    return slots[slotOf(place)] - 1;
  }

  /** Return the number of a place, which is new if the place is. */
  public int add(long place) {
    int slot = slotOf(place);
    if (slots[slot] != 0) {
      return slots[slot] - 1;
    }
    if (size == places.length) {
      places = Arrays.copyOf(places, 2 * size);
      slots = new int[4 * size];
      for (int number = 0; number < size; number++) {
        slots[slotOf(places[number])] = number + 1;
      }
      slot = slotOf(place);
    }
    places[size] = place;
    slots[slot] = ++size;
    return size - 1;
  }

  /** Put another place where one was; the number stays. */
  void replace(int number, long place) {
    free(slotOf(places[number]));
    places[number] = place;
    slots[slotOf(place)] = number + 1;
  }

  /** Free a slot, and move what collided with it, so that no search stops too early. */
  private void free(int slot) {
    int mask = slots.length - 1;
    slots[slot] = 0;
    for (int next = (slot + 1) & mask; slots[next] != 0; next = (next + 1) & mask) {
      int number = slots[next];
      slots[next] = 0;
      slots[slotOf(places[number - 1])] = number;
    }
  }

  private int slotOf(long place) {
    int mask = slots.length - 1;
    long mixed = place * 0x9E3779B97F4A7C15L;
    int slot = (int) (mixed >>> 32) & mask;
    while (slots[slot] != 0 && places[slots[slot] - 1] != place) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  public long ramBytes() {
    return 8L * places.length + 4L * slots.length;
  }
}
