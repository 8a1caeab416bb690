package traveltimelab.core;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/** The Protocol Buffers matrix; docs/contract.md, section 8. */
public final class FastClient implements Client<FastSearch> {
  /**
   * The most places of one request, half of what the service allows. Smaller requests would only make it search from the
   * origin more often.
   */
  static final int BATCH = 100_000;

  private static final String MEDIA = "application/octet-stream";
  private static final int DISTANCES = 1;

  /** Names of error numbers in answers with status 200, which old versions of the service gave. */
  private static final String[] ERRORS = {
    "UNKNOWN", "ONE_TO_MANY_MUST_NOT_BE_NULL", "SOURCE_MUST_NOT_BE_NULL", "TRANSPORTATION_MUST_NOT_BE_NULL",
    "SOURCE_NOT_IN_GEOMETRY", "UNRECOGNIZED_TRANSPORTATION_MODE", "TRAVEL_TIME_LIMIT_TOO_LOW",
    "TRAVEL_TIME_LIMIT_TOO_HIGH", "AUTH_ERROR_NO_USER_ID", "SERVICE_MISMATCH_WRONG_TRANSPORTATION_MODE",
    "SOURCE_OUT_OF_REACH", "INTERLEAVED_DELTAS_INVALID_COORDINATE_PAIRS", "DISTANCE_PROPERTY_NOT_SUPPORTED",
    "BOTH_MANY_TO_ONE_AND_ONE_TO_MANY_CANNOT_BE_SENT", "ONE_TO_MANY_OR_MANY_TO_ONE_MUST_NOT_BE_NULL",
    "INVALID_PROTO_REQUEST", "TOO_MANY_REQUESTS"
  };

  private final Options options;
  private final String authorization;

  public FastClient(Options options) {
    this.options = options;
    byte[] pair = (options.appId + ":" + options.apiKey).getBytes(StandardCharsets.UTF_8);
    authorization = "Basic " + Base64.getEncoder().encodeToString(pair);
  }

  @Override
  public void ask(FastSearch search, PlaceTable places, int[] numbers, Times times) {
    String path = search.country + "/time-filter/fast/" + search.mode.path;
    Map<Exchange, int[]> batches = new IdentityHashMap<>();
    List<Exchange> exchanges = new ArrayList<>();
    for (int[] batch : Batches.of(numbers, BATCH)) {
      byte[] body = encode(search, places, batch);
      Exchange exchange = new Exchange(options.uri + path, MEDIA, body).header("Authorization", authorization);
      exchanges.add(exchange);
      batches.put(exchange, batch);
    }
    Exchanges.run(exchanges, exchange -> read(exchange, batches.get(exchange), times), options.timeoutMs);
  }

  static byte[] encode(FastSearch search, PlaceTable places, int[] numbers) {
    ProtoWriter deltas = new ProtoWriter();
    for (int number : numbers) {
      long place = places.place(number);
      deltas.zigzag((int) Math.round((Coordinates.lat(place) - search.origin.lat) * 1e5));
      deltas.zigzag((int) Math.round((Coordinates.lng(place) - search.origin.lng) * 1e5));
    }
    ProtoWriter origin = new ProtoWriter().float32(1, (float) search.origin.lat).float32(2, (float) search.origin.lng);
    ProtoWriter inner =
        new ProtoWriter()
            .message(1, origin.toBytes())
            .message(2, deltas.toBytes())
            .message(3, new ProtoWriter().number(1, search.mode.number).toBytes())
            .signed(5, search.limit);
    if (search.distances) {
      inner.message(6, new byte[] {DISTANCES});
    }
    return new ProtoWriter().message(search.manyToOne ? 2 : 1, inner.toBytes()).toBytes();
  }

  private static void read(Exchange exchange, int[] numbers, Times times) {
    if (exchange.status != 200) {
      throw refusal(exchange);
    }
    try {
      decode(exchange.answer, numbers, times);
    } catch (IOException error) {
      String text = "gave an answer that does not fit the request, at " + exchange.address() + ": ";
      throw new ServiceException(ServiceException.Reason.NOT_UNDERSTOOD, text + error.getMessage(), error);
    }
  }

  private static ServiceException refusal(Exchange exchange) {
    String name = exchange.answered("X-ERROR-MESSAGE");
    String details = exchange.answered("X-ERROR-DETAILS");
    StringBuilder words = new StringBuilder("answered ").append(exchange.status);
    if (name == null && details == null) {
      words.append(' ').append(Words.of(exchange.answer));
    } else {
      words.append(name == null ? "" : " " + name).append(details == null ? "" : ": " + details);
    }
    return ServiceException.ofStatus(exchange.status, words + " (" + exchange.address() + ")");
  }

  static void decode(byte[] answer, int[] numbers, Times times) throws IOException {
    int[] seconds = {};
    int[] metres = {};
    ProtoReader in = new ProtoReader(answer);
    while (in.hasNext()) {
      int tag = in.tag();
      if (tag == (1 << 3 | ProtoReader.BYTES)) {
        throw new IOException(errorOf(in.message()));
      }
      if (tag != (2 << 3 | ProtoReader.BYTES)) {
        in.skipField(tag & 7);
        continue;
      }
      ProtoReader properties = in.message();
      while (properties.hasNext()) {
        int field = properties.tag();
        if (field >>> 3 == 1) {
          seconds = properties.numbers(field & 7, seconds, true);
        } else if (field >>> 3 == 3) {
          metres = properties.numbers(field & 7, metres, false);
        } else {
          properties.skipField(field & 7);
        }
      }
    }
    check("travel times", seconds.length, numbers.length);
    if (times.metres != null) {
      check("distances", metres.length, numbers.length);
    }
    for (int i = 0; i < numbers.length; i++) {
      times.seconds[numbers[i]] = Math.max(seconds[i], Times.UNREACHABLE);
      if (times.metres != null) {
        times.metres[numbers[i]] = seconds[i] < 0 ? -1 : Math.max(metres[i], -1);
      }
    }
  }

  private static void check(String what, int found, int wanted) throws IOException {
    if (found != wanted) {
      throw new IOException(found + " " + what + " for " + wanted + " places");
    }
  }

  private static String errorOf(ProtoReader error) throws IOException {
    int type = 0;
    while (error.hasNext()) {
      int tag = error.tag();
      if (tag == (1 << 3 | ProtoReader.VARINT)) {
        type = (int) error.varint();
      } else {
        error.skipField(tag & 7);
      }
    }
    return "error " + (type >= 0 && type < ERRORS.length ? ERRORS[type] : Integer.toString(type));
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof FastClient
        && ((FastClient) other).options.uri.equals(options.uri)
        && ((FastClient) other).authorization.equals(authorization);
  }

  @Override
  public int hashCode() {
    return Arrays.asList(options.uri, authorization).hashCode();
  }
}
