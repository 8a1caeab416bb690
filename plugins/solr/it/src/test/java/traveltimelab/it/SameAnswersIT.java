package traveltimelab.it;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.Test;

/** Queries over both parsers return exactly what the library answers. */
public class SameAnswersIT {
  private static final Map<String, String> PREFIXES = new HashMap<>();

  static {
    PREFIXES.put("traveltime", "traveltime_");
  }

  private static String prefix(String parser) {
    return PREFIXES.getOrDefault(parser, parser + "_");
  }

  @Test
  public void sixtyQueriesColdAndFromTheCache() throws Exception {
    World world = World.get();
    assertEquals(60, world.cases.size());
    for (String pass : Arrays.asList("cold", "warm")) {
      int number = 0;
      for (Object item : world.cases) {
        check(world, (Map<?, ?>) item, pass + " case " + number++);
      }
    }
  }

  private static void check(World world, Map<?, ?> query, String name) throws IOException {
    String parser = (String) query.get("parser");
    Map<?, ?> expected = (Map<?, ?>) query.get("expected");
    boolean isLocal = (Boolean) query.get("local");
    List<String> parameters = new ArrayList<>();
    StringBuilder local = new StringBuilder("{!" + parser);
    for (Map.Entry<?, ?> entry : ((Map<?, ?>) query.get("parameters")).entrySet()) {
      String value = (String) entry.getValue();
      if (isLocal) {
        local.append(' ').append(entry.getKey()).append("='").append(value).append('\'');
        // The local parameter wins over a wrong one of the request.
        value = entry.getKey().equals("limit") ? "1" : value;
      }
      parameters.addAll(Arrays.asList(prefix(parser) + entry.getKey(), value));
    }
    parameters.addAll(Arrays.asList("fq", local + "}", "fq", "id:*"));
    if (isLocal || parser.equals("uncached")) {
      parameters.addAll(Arrays.asList("fl", "id"));
      Map<String, Object> found = World.field(world.ask(parameters), "id");
      assertEquals(name, new TreeSet<Object>(expected.keySet()), new TreeSet<Object>(found.keySet()));
      return;
    }
    String start = parser.equals("traveltime") ? "" : parser + "_";
    parameters.addAll(Arrays.asList(prefix(parser) + "distances", "true"));
    parameters.addAll(Arrays.asList("fl", "id,time:" + start + "time(),dist:" + start + "dist()"));
    Solr.Answer answer = world.ask(parameters);
    Map<String, Object> times = World.field(answer, "time");
    Map<String, Object> distances = World.field(answer, "dist");
    Map<String, Object> seconds = new TreeMap<>();
    Map<String, Object> metres = new TreeMap<>();
    for (Map.Entry<?, ?> entry : expected.entrySet()) {
      seconds.put((String) entry.getKey(), ((List<?>) entry.getValue()).get(0));
      metres.put((String) entry.getKey(), ((List<?>) entry.getValue()).get(1));
    }
    assertEquals(name, seconds, times);
    assertEquals(name, metres, distances);
  }

  @Test
  public void casesAreNotTrivial() throws Exception {
    int filled = 0;
    for (Object item : World.get().cases) {
      int size = ((Map<?, ?>) ((Map<?, ?>) item).get("expected")).size();
      filled += size > 10 && size < 1900 ? 1 : 0;
    }
    assertTrue("only " + filled + " queries select some documents and not all", filled >= 45);
  }
}
