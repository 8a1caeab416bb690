package traveltimelab.core;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.Test;

public class MemoryTest {
  private static final FastSearch.Mode MODE = FastSearch.Mode.WALKING;

  private static FastSearch search(int limit, boolean distances) {
    return new FastSearch("f", new Place("", 0, 0), limit, MODE, "uk", false, distances);
  }

  /** A service whose travel time to a place is its number; it notes what it is asked for. */
  private static Client<FastSearch> service(List<Long> asked) {
    return (search, places, numbers, times) -> {
      for (int number : numbers) {
        long place = places.place(number);
        asked.add(place);
        times.seconds[number] = place <= search.limit() ? (int) place : -1;
        if (times.metres != null) {
          times.metres[number] = place <= search.limit() ? 2 * (int) place : -1;
        }
      }
    };
  }

  private static List<Long> ask(Memory memory, int limit, boolean distances, long... places) {
    List<Long> asked = new ArrayList<>();
    Answers<FastSearch> answers = new Answers<>(search(limit, distances));
    for (long place : places) {
      answers.add(place);
    }
    assertEquals(answers.complete(memory, service(asked)), asked.size());
    for (long place : places) {
      assertEquals(place <= limit ? place : -1, answers.secondsAt(place));
    }
    assertEquals(-2, answers.secondsAt(-5));
    return asked;
  }

  @Test
  public void eachPlaceIsAskedOnce() {
    assertEquals(Arrays.asList(10L, 20L), ask(null, 15, false, 10, 20, 10, 20, 10));
    Memory memory = new Memory(Integer.MAX_VALUE, false);
    assertEquals(Arrays.asList(10L, 20L), ask(memory, 15, false, 10, 20));
    assertEquals(Arrays.asList(30L), ask(memory, 15, false, 10, 20, 30));
    assertEquals(10, memory.seconds(10, 15));
    assertEquals(-1, memory.seconds(20, 15));
    assertEquals(-1, memory.seconds(99, 15));
  }

  @Test
  public void unreachableHoldsForShorterLimits() {
    Memory memory = new Memory(100, false);
    ask(memory, 15, false, 10, 20);
    assertEquals(Arrays.asList(), ask(memory, 5, false, 10, 20));
    assertEquals(Arrays.asList(20L), ask(memory, 16, false, 10, 20));
    assertEquals(Arrays.asList(20L), ask(memory, 25, false, 10, 20));
    assertEquals(Arrays.asList(), ask(memory, 40, false, 10, 20));
    assertEquals(-1, memory.seconds(20, 19));
    assertEquals(20, memory.seconds(20, 21));
  }

  @Test
  public void distancesAreAskedForWhenTheyAreNotKnown() {
    Memory memory = new Memory(100, false);
    ask(memory, 15, false, 10, 20);
    assertEquals(-1, memory.metres(10, 15));
    assertEquals(Arrays.asList(10L), ask(memory, 15, true, 10, 20));
    assertEquals(20, memory.metres(10, 15));
    assertEquals(Arrays.asList(), ask(memory, 15, false, 10));
    assertEquals(20, memory.metres(10, 15));
  }

  /** A time that is rounded down to the limit need not be within it, so that the service decides. */
  @Test
  public void timesAtTheLimit() {
    for (int answer : new int[] {-1, 20}) {
      Memory memory = new Memory(100, false);
      ask(memory, 50, false, 20);
      int[] asked = {0};
      Client<FastSearch> service =
          (search, places, numbers, times) -> {
            times.seconds[0] = answer;
            asked[0]++;
          };
      for (int i = 0; i < 3; i++) {
        Answers<FastSearch> answers = new Answers<>(search(20, false));
        answers.add(20);
        answers.complete(memory, service);
        assertEquals(answer, answers.secondsAt(20));
        assertEquals(1, asked[0]);
        assertEquals(answer, memory.seconds(20, 20));
        assertEquals(20, memory.seconds(20, 21));
      }
      assertEquals(Arrays.asList(), ask(memory, 21, false, 20));
    }
  }

  @Test
  public void onlyPositive() {
    Memory memory = new Memory(100, true);
    ask(memory, 15, false, 10, 20);
    assertEquals(Arrays.asList(20L), ask(memory, 15, false, 10, 20));
    assertEquals(1, memory.size());
  }

  @Test
  public void failuresKeepNothing() {
    Memory memory = new Memory(100, false);
    Answers<FastSearch> answers = new Answers<>(search(15, false));
    answers.add(10);
    Client<FastSearch> broken =
        (search, places, numbers, times) -> {
          times.seconds[0] = 1;
          throw new ServiceException(ServiceException.Reason.UNAVAILABLE, "is down");
        };
    ServiceException error = assertThrows(ServiceException.class, () -> answers.complete(memory, broken));
    assertEquals("The travel-time service is down", error.getMessage());
    assertEquals(0, memory.size());
    assertEquals(-2, answers.secondsAt(10));
    List<Long> asked = new ArrayList<>();
    answers.complete(memory, service(asked));
    assertEquals(Arrays.asList(10L), asked);
  }

  /** Against the standard library's map in the order of access. */
  @Test
  public void oldestPlacesMakeRoom() {
    Random random = new Random(16);
    for (int size : new int[] {1, 2, 7, 50}) {
      Memory memory = new Memory(size, false);
      Map<Long, Integer> twin =
          new LinkedHashMap<Long, Integer>(16, 0.75f, true) {
            private static final long serialVersionUID = 1L;

            @Override
            protected boolean removeEldestEntry(Map.Entry<Long, Integer> eldest) {
              return size() > size;
            }
          };
      for (int i = 0; i < 5000; i++) {
        long place = random.nextInt(3 * size);
        boolean isKnown = twin.get(place) != null;
        assertEquals(isKnown ? 0 : 1, ask(memory, 1000, false, place).size());
        twin.put(place, 1);
        assertTrue(memory.size() <= size);
      }
    }
  }

  @Test
  public void tableAgainstHashMap() {
    Random random = new Random(16);
    PlaceTable table = new PlaceTable();
    Map<Long, Integer> twin = new HashMap<>();
    for (int i = 0; i < 100_000; i++) {
      long place = random.nextInt(30_000) * 0x100000001L;
      Integer number = twin.putIfAbsent(place, twin.size());
      assertEquals(number == null ? twin.size() - 1 : number, table.add(place));
    }
    assertEquals(twin.size(), table.size());
    assertEquals(-1, table.find(-1));
    assertTrue(table.ramBytes() < 40L * twin.size());
    assertArrayEquals(new int[0], new Memory(5, false).recall(table, new int[0], 1, new Times(0, false)));
  }
}
