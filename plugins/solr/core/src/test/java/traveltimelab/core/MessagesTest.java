package traveltimelab.core;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.time.Instant;
import java.util.Random;
import org.junit.Test;

public class MessagesTest {
  private static byte[] hex(String text) {
    String digits = text.replace(" ", "");
    byte[] bytes = new byte[digits.length() / 2];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) Integer.parseInt(digits.substring(2 * i, 2 * i + 2), 16);
    }
    return bytes;
  }

  private static PlaceTable places(double... coordinates) {
    PlaceTable table = new PlaceTable();
    for (int i = 0; i < coordinates.length; i += 2) {
      table.add(Coordinates.pack(coordinates[i], coordinates[i + 1]));
    }
    return table;
  }

  /** The example of docs/contract.md, section 8.5. */
  @Test
  public void matrixRequest() {
    Place origin = new Place("origin", 51.5, -0.1);
    FastSearch search = new FastSearch("f", origin, 900, FastSearch.Mode.DRIVING_AND_FERRY, "uk", false, true);
    byte[] expected =
        hex(
            "0a 22 0a 0a 0d 00 00 4e 42 15 cd cc cc bd 12 0a d0 0f cf 0f e0 a7 12 e0 b6 0d 1a 02 08 03 28 88 0e"
                + "32 01 01");
    assertArrayEquals(expected, FastClient.encode(search, places(51.51, -0.11, 53, 1), new int[] {0, 1}));
  }

  @Test
  public void matrixAnswer() throws IOException {
    byte[] answer = hex("12 13 0a 03 fc 0a 01 1a 0c b0 18 ff ff ff ff ff ff ff ff ff 01");
    Times times = new Times(2, true);
    FastClient.decode(answer, new int[] {1, 0}, times);
    assertArrayEquals(new int[] {-1, 702}, times.seconds);
    assertArrayEquals(new int[] {-1, 3120}, times.metres);
    // Numbers one by one instead of packed, and a field that nobody knows.
    FastClient.decode(hex("f8 01 05 12 07 08 fc 0a 08 01 18 05"), new int[] {0, 1}, new Times(2, false));
    for (String wrong : new String[] {"", "12 00", "12 05 0a 03 fc 0a 01 1a", "12 13 0a", "0a 02 08 07", "ff ff"}) {
      assertThrows(wrong, IOException.class, () -> FastClient.decode(hex(wrong), new int[] {0, 1}, new Times(2, true)));
    }
    IOException error =
        assertThrows(IOException.class, () -> FastClient.decode(hex("0a 02 08 07"), new int[] {0}, new Times(1, false)));
    assertTrue(error.getMessage(), error.getMessage().contains("TRAVEL_TIME_LIMIT_TOO_HIGH"));
  }

  /** Broken answers are refused with one kind of error, whatever is broken. */
  @Test
  public void brokenAnswers() {
    Random random = new Random(16);
    for (int i = 0; i < 20_000; i++) {
      byte[] answer = hex("12 13 0a 03 fc 0a 01 1a 0c b0 18 ff ff ff ff ff ff ff ff ff 01");
      for (int change = random.nextInt(3); change >= 0; change--) {
        answer[random.nextInt(answer.length)] = (byte) random.nextInt();
      }
      try {
        FastClient.decode(answer, new int[] {0, 1}, new Times(2, true));
      } catch (IOException error) {
        // As it should be.
      }
    }
  }

  private static TimeFilterSearch search(boolean isArrival) {
    Instant time = Instant.parse("2026-03-02T08:00:00Z");
    Place place = new Place("", 51.5, -0.1);
    return new TimeFilterSearch("f", isArrival, place, time, 900, "{\"type\":\"driving\"}", "{\"a\":1}", true);
  }

  @Test
  public void jsonRequest() throws IOException {
    String text = TimeFilterClient.encode(search(true), places(0, 0, 45, 22.5, 1, 1), new int[] {0, 1});
    assertEquals(
        "{\"locations\":[{\"id\":\"location\",\"coords\":{\"lat\":51.5,\"lng\":-0.1}},"
            + "{\"id\":\"0\",\"coords\":{\"lat\":0.0,\"lng\":0.0}},"
            + "{\"id\":\"1\",\"coords\":{\"lat\":45.0,\"lng\":22.5}}],"
            + "\"arrival_searches\":[{\"id\":\"search\",\"arrival_location_id\":\"location\","
            + "\"departure_location_ids\":[\"0\",\"1\"],\"arrival_time\":\"2026-03-02T08:00:00Z\",\"travel_time\":900,"
            + "\"transportation\":{\"type\":\"driving\"},\"properties\":[\"travel_time\",\"distance\"],"
            + "\"range\":{\"a\":1}}]}",
        text);
    Json.parse(text);
    assertTrue(TimeFilterClient.encode(search(false), places(0, 0), new int[] {0}).contains("\"departure_searches\""));
  }

  @Test
  public void jsonAnswer() throws IOException {
    String locations = "{\"id\":\"1\",\"properties\":[{\"travel_time\":5,\"distance\":7},{\"travel_time\":9}]}";
    Times times = new Times(3, true);
    String answer = "{\"results\":[{\"search_id\":\"search\",\"locations\":[%s],\"unreachable\":[%s]}]}";
    TimeFilterClient.decode(String.format(answer, locations, "\"0\""), new int[] {2, 0}, times);
    assertArrayEquals(new int[] {5, 0, -1}, times.seconds);
    assertArrayEquals(new int[] {7, 0, -1}, times.metres);
    for (String unreachable : new String[] {"", "\"0\",\"0\"", "\"0\",\"1\"", "\"2\",\"0\"", "\"x\",\"0\""}) {
      String wrong = String.format(answer, locations, unreachable);
      assertThrows(wrong, IOException.class, () -> TimeFilterClient.decode(wrong, new int[] {0, 1}, new Times(2, true)));
    }
  }

  @Test
  public void coordinatesAreThoseOfLucene() {
    assertEquals(0L, Coordinates.pack(0, 0));
    assertEquals(Integer.MAX_VALUE, (int) (Coordinates.pack(90, 180) >> 32));
    Random random = new Random(1);
    for (int i = 0; i < 1000; i++) {
      double lat = random.nextDouble() * 180 - 90;
      double lng = random.nextDouble() * 360 - 180;
      long packed = Coordinates.pack(lat, lng);
      assertEquals(lat, Coordinates.lat(packed), 5e-8);
      assertEquals(lng, Coordinates.lng(packed), 1e-7);
      assertEquals(packed, Coordinates.pack(Coordinates.lat(packed), Coordinates.lng(packed)));
    }
  }

  @Test
  public void batches() {
    assertEquals(0, Batches.of(new int[0], 10).size());
    assertEquals(3, Batches.of(new int[21], 10).size());
    assertEquals(7, Batches.of(new int[21], 10).get(0).length);
  }
}
