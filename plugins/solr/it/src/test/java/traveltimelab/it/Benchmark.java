package traveltimelab.it;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.Test;
import org.noggit.ObjectBuilder;

/**
 * 60 queries over 200,000 documents with the parser over Protocol Buffers; the README has the command. Not run by
 * {@code mvn verify}.
 */
public class Benchmark {
  private static final int N_DOCUMENTS = Integer.getInteger("benchmark.documents", 200_000);

  private final StringBuilder report = new StringBuilder();

  private void say(String format, Object... values) throws IOException {
    report.append(String.format(Locale.ROOT, format, values)).append('\n');
    Path file = Paths.get(System.getProperty("it.work"), "benchmark.txt");
    Files.write(file, report.toString().getBytes(StandardCharsets.UTF_8));
  }

  @Test
  public void run() throws Exception {
    World world = World.get();
    List<Object> more = new ArrayList<>();
    Random random = new Random(16);
    for (int i = world.documents.size(); i < N_DOCUMENTS; i++) {
      Map<?, ?> document = (Map<?, ?>) world.documents.get(random.nextInt(world.documents.size()));
      Map<String, Object> other = new LinkedHashMap<>();
      other.put("id", "" + i);
      if (document.get("location") != null) {
        String[] place = ((String) document.get("location")).split(",");
        double lat = Double.parseDouble(place[0]) + 0.001 * random.nextGaussian();
        double lng = Double.parseDouble(place[1]) + 0.001 * random.nextGaussian();
        other.put("location", lat + "," + lng);
      }
      more.add(other);
      if (more.size() == 20_000) {
        world.solr.add(more);
        more.clear();
      }
    }
    if (!more.isEmpty()) {
      world.solr.add(more);
    }
    List<List<String>> queries = new ArrayList<>();
    for (Object item : world.cases) {
      queries.add(fast((Map<?, ?>) item));
    }
    String only = "id:*";
    // Something compiled, connections open.
    ask(world, queries.get(0), "-id:warm", "uncached");
    say("%d documents, %d queries, Solr %s", N_DOCUMENTS, queries.size(), System.getProperty("solr.version"));
    long before = usedBytes();
    List<Double> base = new ArrayList<>();
    List<Double> cold = new ArrayList<>();
    List<Double> warm = new ArrayList<>();
    List<Double> repeated = new ArrayList<>();
    long found = 0;
    for (int i = 0; i < queries.size(); i++) {
      base.add(ask(world, Collections.<String>emptyList(), only + " OR id:x" + i, null)[0]);
      double[] first = ask(world, queries.get(i), only, "traveltime");
      double[] second = ask(world, queries.get(i), "-id:none", "traveltime");
      cold.add(first[0]);
      warm.add(second[0]);
      repeated.add(ask(world, queries.get(i), only, "traveltime")[0]);
      if (first[1] != second[1]) {
        throw new AssertionError("query " + i + ": " + first[1] + " documents, then " + second[1]);
      }
      found += (long) first[1];
    }
    long after = usedBytes();
    say("documents found per query, mean: %.0f", found / (double) queries.size());
    say("milliseconds, median / 90 %% / most");
    say("  no travel-time filter       %s", summary(base));
    say("  cold, the service asked     %s", summary(cold));
    say("  warm, from the exact cache  %s", summary(warm));
    say("  repeated, Solr's own cache  %s", summary(repeated));
    say("heap after collection: %.0f MB before, %.0f MB with %d searches in the cache: %.1f MB a search",
        before / 1e6, after / 1e6, queries.size(), (after - before) / 1e6 / queries.size());
    long[] bytes = bytes(world, queries.get(1));
    say("bytes of one query: %d sent in %d requests, %d received", bytes[0], bytes[2], bytes[1]);
  }

  private static List<String> fast(Map<?, ?> query) throws IOException {
    Map<?, ?> parameters = (Map<?, ?>) query.get("parameters");
    Map<String, String> all = new LinkedHashMap<>();
    if (parameters.containsKey("origin")) {
      for (Map.Entry<?, ?> entry : parameters.entrySet()) {
        all.put((String) entry.getKey(), (String) entry.getValue());
      }
    } else {
      boolean isArrival = parameters.containsKey("arrival_location");
      Object place = parameters.get(isArrival ? "arrival_location" : "departure_location");
      Map<?, ?> coordinates = (Map<?, ?>) ObjectBuilder.fromJSON((String) place);
      all.put("origin", coordinates.get("lat") + "," + coordinates.get("lng"));
      all.put("field", "location");
      all.put("limit", (String) parameters.get("travel_time"));
      Map<?, ?> transportation = (Map<?, ?>) ObjectBuilder.fromJSON((String) parameters.get("transportation"));
      all.put("mode", (String) transportation.get("type"));
      all.put("requestType", isArrival ? "MANY_TO_ONE" : "ONE_TO_MANY");
    }
    all.put("country", "uk");
    List<String> raw = new ArrayList<>();
    for (Map.Entry<String, String> entry : all.entrySet()) {
      raw.addAll(Arrays.asList(entry.getKey(), entry.getValue()));
    }
    return raw;
  }

  /** Return milliseconds and the number of documents found. */
  private static double[] ask(World world, List<String> query, String other, String parser) throws IOException {
    List<String> parameters = new ArrayList<>(query);
    parameters.addAll(Arrays.asList("fq", "{!cache=false}" + other, "rows", "10", "fl", "id"));
    if (parser != null) {
      parameters.addAll(Arrays.asList("fq", "{!" + parser + "}"));
    }
    long start = System.nanoTime();
    Solr.Answer answer = world.ask(parameters);
    double milliseconds = (System.nanoTime() - start) / 1e6;
    answer.documents();
    Object count = ((Map<?, ?>) answer.json().get("response")).get("numFound");
    return new double[] {milliseconds, ((Number) count).doubleValue()};
  }

  private static String summary(List<Double> values) {
    List<Double> sorted = new ArrayList<>(values);
    Collections.sort(sorted);
    int n = sorted.size();
    return String.format(Locale.ROOT, "%6.0f %6.0f %6.0f", sorted.get(n / 2), sorted.get(n * 9 / 10), sorted.get(n - 1));
  }

  private static long usedBytes() throws InterruptedException {
    for (int i = 0; i < 3; i++) {
      System.gc();
      Thread.sleep(200);
    }
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }

  /** Ask through a service that passes requests on to the real one and counts bytes of bodies. */
  private static long[] bytes(World world, List<String> query) throws IOException {
    AtomicLong sent = new AtomicLong();
    AtomicLong received = new AtomicLong();
    AtomicLong requests = new AtomicLong();
    world.failing.behaviour =
        (exchange, body) -> {
          URL target = new URL(world.service.address + exchange.getRequestURI());
          HttpURLConnection connection = (HttpURLConnection) target.openConnection();
          connection.setRequestMethod("POST");
          connection.setDoOutput(true);
          for (String header : Arrays.asList("Authorization", "Content-Type")) {
            connection.setRequestProperty(header, exchange.getRequestHeaders().getFirst(header));
          }
          try (OutputStream out = connection.getOutputStream()) {
            out.write(body);
          }
          ByteArrayOutputStream answer = new ByteArrayOutputStream();
          byte[] buffer = new byte[1 << 16];
          try (InputStream in = connection.getInputStream()) {
            for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
              answer.write(buffer, 0, n);
            }
          }
          sent.addAndGet(body.length);
          received.addAndGet(answer.size());
          requests.incrementAndGet();
          exchange.sendResponseHeaders(200, answer.size());
          exchange.getResponseBody().write(answer.toByteArray());
        };
    List<String> counted = new ArrayList<>(query);
    // Other than before, so that no cache has it; and in time for the slow way.
    counted.set(counted.indexOf("limit") + 1, "1799");
    ask(world, counted, "id:*", "counted");
    return new long[] {sent.get(), received.get(), requests.get()};
  }
}
