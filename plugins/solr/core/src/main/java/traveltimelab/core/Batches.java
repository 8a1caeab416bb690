package traveltimelab.core;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Cuts numbers into parts of about equal size. */
final class Batches {
  private Batches() {}

  static List<int[]> of(int[] numbers, int most) {
    int count = (int) ((numbers.length + (long) most - 1) / most);
    List<int[]> batches = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      int from = (int) ((long) numbers.length * i / count);
      int to = (int) ((long) numbers.length * (i + 1) / count);
      batches.add(Arrays.copyOfRange(numbers, from, to));
    }
    return batches;
  }
}
