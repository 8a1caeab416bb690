package traveltimelab.core;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/** The matrix {@code /v4/time-filter}; docs/contract.md, section 7.4. */
public final class TimeFilterClient implements Client<TimeFilterSearch> {
  private static final String MEDIA = "application/json";
  private static final String SEARCH = "search";
  private static final String PLACE = "location";
  /** Seconds; docs/contract.md, section 3.9. */
  private static final int LEAST_TRAVEL_TIME = 60;

  private final Options options;

  public TimeFilterClient(Options options) {
    this.options = options;
  }

  @Override
  public void ask(TimeFilterSearch search, PlaceTable places, int[] numbers, Times times) {
    Map<Exchange, int[]> batches = new IdentityHashMap<>();
    List<Exchange> exchanges = new ArrayList<>();
    for (int[] batch : Batches.of(numbers, options.locationLimit)) {
      byte[] body = encode(search, places, batch).getBytes(StandardCharsets.UTF_8);
      Exchange exchange =
          new Exchange(options.uri + "time-filter", MEDIA, body)
              .header("X-Application-Id", options.appId)
              .header("X-Api-Key", options.apiKey);
      exchanges.add(exchange);
      batches.put(exchange, batch);
    }
    Exchanges.run(exchanges, exchange -> read(exchange, batches.get(exchange), times), options.timeoutMs);
  }

  static String encode(TimeFilterSearch search, PlaceTable places, int[] numbers) {
    String one = search.isArrival ? "arrival" : "departure";
    String many = search.isArrival ? "departure" : "arrival";
    StringBuilder text = new StringBuilder(80 * numbers.length + 500);
    text.append("{\"locations\":[");
    location(text, PLACE, search.place.lat, search.place.lng);
    for (int i = 0; i < numbers.length; i++) {
      long place = places.place(numbers[i]);
      location(text.append(','), Integer.toString(i), Coordinates.lat(place), Coordinates.lng(place));
    }
    text.append("],\"").append(one).append("_searches\":[{\"id\":\"").append(SEARCH).append("\",\"");
    text.append(one).append("_location_id\":\"").append(PLACE).append("\",\"").append(many).append("_location_ids\":[");
    for (int i = 0; i < numbers.length; i++) {
      text.append(i == 0 ? "\"" : ",\"").append(i).append('"');
    }
    text.append("],\"").append(one).append("_time\":\"").append(search.time).append("\",\"travel_time\":");
    // The service takes no less; what takes longer than the limit is left out of its answer (Answers.complete).
    text.append(Math.max(search.travelTime, LEAST_TRAVEL_TIME));
    text.append(",\"transportation\":").append(search.transportation);
    text.append(",\"properties\":[\"travel_time\"").append(search.distances ? ",\"distance\"]" : "]");
    if (!search.range.isEmpty()) {
      text.append(",\"range\":").append(search.range);
    }
    return text.append("}]}").toString();
  }

  private static void location(StringBuilder text, String id, double lat, double lng) {
    text.append("{\"id\":\"").append(id).append("\",\"coords\":{\"lat\":").append(lat);
    text.append(",\"lng\":").append(lng).append("}}");
  }

  private static void read(Exchange exchange, int[] numbers, Times times) {
    if (exchange.status != 200) {
      throw refusal(exchange);
    }
    try {
      decode(new String(exchange.answer, StandardCharsets.UTF_8), numbers, times);
    } catch (IOException | ClassCastException | NullPointerException error) {
      String text = "gave an answer that does not fit the request, at " + exchange.address() + ": ";
      throw new ServiceException(ServiceException.Reason.NOT_UNDERSTOOD, text + error.getMessage(), error);
    }
  }

  private static ServiceException refusal(Exchange exchange) {
    StringBuilder words = new StringBuilder("answered ").append(exchange.status);
    try {
      Map<?, ?> error = (Map<?, ?>) Json.parse(new String(exchange.answer, StandardCharsets.UTF_8));
      words.append(" (code ").append(error.get("error_code")).append("): ").append(error.get("description"));
      Object info = error.get("additional_info");
      if (info instanceof Map && !((Map<?, ?>) info).isEmpty()) {
        words.append(' ').append(Words.shorten(Json.write(info)));
      }
    } catch (IOException | ClassCastException | NullPointerException error) {
      words.append(' ').append(Words.of(exchange.answer));
    }
    return ServiceException.ofStatus(exchange.status, words + " (" + exchange.address() + ")");
  }

  static void decode(String answer, int[] numbers, Times times) throws IOException {
    List<?> results = (List<?>) ((Map<?, ?>) Json.parse(answer)).get("results");
    if (results == null || results.size() != 1) {
      throw new IOException("there must be one result");
    }
    Map<?, ?> result = (Map<?, ?>) results.get(0);
    boolean[] isAnswered = new boolean[numbers.length];
    for (Object item : (List<?>) result.get("locations")) {
      Map<?, ?> location = (Map<?, ?>) item;
      int i = numberOf(location.get("id"), isAnswered);
      Map<?, ?> first = (Map<?, ?>) ((List<?>) location.get("properties")).get(0);
      times.seconds[numbers[i]] = whole(first.get("travel_time"));
      if (times.metres != null) {
        Object distance = first.get("distance");
        times.metres[numbers[i]] = distance == null ? -1 : whole(distance);
      }
    }
    for (Object id : (List<?>) result.get("unreachable")) {
      int i = numberOf(id, isAnswered);
      times.seconds[numbers[i]] = Times.UNREACHABLE;
      if (times.metres != null) {
        times.metres[numbers[i]] = -1;
      }
    }
    for (int i = 0; i < isAnswered.length; i++) {
      if (!isAnswered[i]) {
        throw new IOException("location " + i + " is neither reachable nor unreachable");
      }
    }
  }

  private static int whole(Object number) throws IOException {
    int value = ((Number) number).intValue();
    if (value < 0) {
      throw new IOException("there is a negative number: " + number);
    }
    return value;
  }

  private static int numberOf(Object id, boolean[] isAnswered) throws IOException {
    try {
      int number = Integer.parseInt((String) id);
      if (number >= 0 && number < isAnswered.length && !isAnswered[number]) {
        isAnswered[number] = true;
        return number;
      }
    } catch (NumberFormatException error) {
      // The message below covers it.
    }
    throw new IOException("location " + id + " was not asked for, or is there twice");
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof TimeFilterClient && identity().equals(((TimeFilterClient) other).identity());
  }

  @Override
  public int hashCode() {
    return identity().hashCode();
  }

  private List<String> identity() {
    return Arrays.asList(options.uri, options.appId, options.apiKey);
  }
}
