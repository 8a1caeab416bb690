package traveltimelab.it;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.After;
import org.junit.Test;

/** Parameters, scores, caches and failures. */
public class QueriesIT {
  private static final String ORIGIN = "-30.0304,-51.2224";
  private static final String GOOD = "origin=" + ORIGIN + " field=location limit=900 mode=driving country=uk";
  private static final String JSON_GOOD =
      "field=location travel_time=900 transportation='{\"type\":\"driving\"}' departure_time=2026-03-02T08:00:00Z"
          + " departure_location='{\"lat\":-30.0304,\"lng\":-51.2224}'";

  private static List<String> raw(String prefix, int limit, String... others) {
    List<String> all = new ArrayList<>();
    String[] pairs = {"origin", ORIGIN, "field", "location", "limit", "" + limit, "mode", "driving", "country", "uk"};
    for (int i = 0; i < pairs.length; i += 2) {
      all.addAll(Arrays.asList(prefix + pairs[i], pairs[i + 1]));
    }
    all.addAll(Arrays.asList(others));
    return all;
  }

  /** No thread of the plugin outlives its query by more than the time in which it is told to end. */
  @After
  public void noThreadIsLeft() throws Exception {
    for (int i = 0; i < 40 && !threads().isEmpty(); i++) {
      Thread.sleep(100);
    }
    assertEquals(Collections.emptySet(), threads());
  }

  private static Set<String> threads() {
    Set<String> names = new HashSet<>();
    for (Thread thread : Thread.getAllStackTraces().keySet()) {
      if (thread.getName().startsWith("traveltime-request")) {
        names.add(thread.getName());
      }
    }
    return names;
  }

  private static void refused(int status, String words, String... parameters) throws Exception {
    Solr.Answer answer = World.get().ask(parameters);
    assertEquals(answer.text, status, answer.status);
    assertTrue(answer.error(), answer.error().contains(words));
  }

  // Parameters --------------------------------------------------------------------------------------------------------

  @Test
  public void wrongParametersAreNamed() throws Exception {
    String[][] wrong = {
      {"origin=" + ORIGIN, "", "origin is missing"},
      {"origin=" + ORIGIN, "origin=here!", "origin must be lat,lon or a geohash"},
      {"origin=" + ORIGIN, "origin=91,0", "origin needs a latitude"},
      {"field=location", "", "field is missing"},
      {"field=location", "field=nowhere", "field must be a field of the schema"},
      {"field=location", "field=kind", "field must be a location"},
      {"field=location", "field=locations", "field must have one location per document"},
      {"field=location", "field=location_without", "field must have docValues"},
      {"limit=900", "", "limit is missing"},
      {"limit=900", "limit=-1", "limit must be a whole number of seconds"},
      {"limit=900", "limit=1.5", "limit must be a whole number of seconds"},
      {"mode=driving", "mode=flying", "mode must be one of pt, driving"},
      {"country=uk", "", "country is missing"},
      {"country=uk", "country=../x", "country must be a code"},
      {"country=uk", "country=uk requestType=ALL", "requestType must be ONE_TO_MANY or MANY_TO_ONE"},
      {"country=uk", "country=uk weight=2", "weight must be a number from 0 to 1"},
      {"country=uk", "country=uk distances=true", "distances must be a parameter of the request"},
    };
    for (String[] each : wrong) {
      assertTrue(GOOD.contains(each[0]));
      refused(400, each[2], "fq", "{!traveltime " + GOOD.replace(each[0], each[1]) + "}");
    }
    refused(400, "distances must be true or false", "fq", "{!traveltime " + GOOD + "}", "traveltime_distances", "maybe");
    String[][] wrongJson = {
      {"travel_time=900", "travel_time=-1", "travel_time must be"},
      {"'{\"type\":\"driving\"}'", "driving", "transportation must be a JSON object"},
      {"'{\"type\":\"driving\"}'", "'{}'", "transportation needs a type"},
      {"departure_time=2026-03-02T08:00:00Z", "", "departure_time is missing"},
      {"departure_time=2026-03-02T08:00:00Z", "departure_time=tomorrow", "departure_time must be a date and time"},
      {"travel_time=900", "travel_time=900 arrival_time=2026-03-02T08:00:00Z", "arrival_location is missing"},
      {"{\"lat\":-30.0304,\"lng\":-51.2224}", "{\"lat\":-30.0304}", "departure_location must be JSON"},
      {"travel_time=900", "travel_time=900 range=1", "range must be a JSON object"},
    };
    for (String[] each : wrongJson) {
      assertTrue(JSON_GOOD.contains(each[0]));
      refused(400, each[2], "fq", "{!json " + JSON_GOOD.replace(each[0], each[1]) + "}");
    }
  }

  @Test
  public void onlyFiltersOfTheirOwn() throws Exception {
    String words = "works as a filter query of its own";
    refused(400, words, "q", "{!uncached " + GOOD + "}");
    refused(400, words, "fq", "-_query_:\"{!uncached " + GOOD + "}\"");
    refused(400, words, "facet", "true", "facet.query", "{!uncached " + GOOD + "}");
    // Nor from a cache: the same query as a filter has filled it.
    String query = "{!traveltime " + GOOD.replace("900", "917") + "}";
    assertEquals(200, World.get().ask("fq", query).status);
    refused(400, words, "q", query);
    refused(400, words, "fq", "-_query_:\"" + query + "\"");
    refused(400, words, "fq", "filter(_query_:\"" + query + "\")");
    refused(400, words, "facet", "true", "facet.query", query);
    assertEquals(200, World.get().ask("fq", query).status);
  }

  @Test
  public void limitsMayBeZero() throws Exception {
    assertEquals(200, World.get().ask("fq", "{!traveltime " + GOOD.replace("900", "0") + "}").status);
    String json = JSON_GOOD.replace("travel_time=900", "travel_time=0");
    assertEquals(200, World.get().ask("fq", "{!json " + json + "}").status);
  }

  @Test
  public void wordsOfTheService() throws Exception {
    refused(400, "Unknown country 'xx'", "fq", "{!traveltime " + GOOD.replace("uk", "xx") + "}");
    refused(400, "SOURCE_NOT_IN_GEOMETRY", "fq", "{!traveltime " + GOOD.replace(ORIGIN, "0,0") + "}");
    refused(400, "TRAVEL_TIME_LIMIT_TOO_HIGH", "fq", "{!traveltime " + GOOD.replace("900", "90000") + "}");
    refused(400, "code 2", "fq", "{!json " + JSON_GOOD.replace("900", "90000") + "}");
    refused(400, "transportation", "fq", "{!json " + JSON_GOOD.replace("\"driving\"", "\"flying\"") + "}");
  }

  @Test
  public void severalQueriesInOneRequest() throws Exception {
    World world = World.get();
    List<String> parameters = raw("traveltime_", 900, "fq", "{!traveltime}", "fq", "{!fuzzy}");
    List<String> other = raw("fuzzy_", 600, "fuzzy_requestType", "MANY_TO_ONE", "fl", "id,time:time(),back:fuzzy_time()");
    parameters.addAll(other);
    Map<String, Object> there = World.field(world.ask(parameters), "time");
    Map<String, Object> back = World.field(world.ask(parameters), "back");
    assertFalse(there.isEmpty());
    assertNotEquals(there, back);
    for (String id : there.keySet()) {
      assertTrue((Long) there.get(id) <= 900 && (Long) back.get(id) >= 0 && (Long) back.get(id) <= 600);
    }
  }

  @Test
  public void groupsAndFacetsSeeTheFilter() throws Exception {
    World world = World.get();
    int size = world.ask("fq", "{!traveltime " + GOOD + "}").documents().size();
    String[] both = {"fq", "{!uncached " + GOOD + "}", "group", "true", "group.field", "kind", "facet", "true"};
    List<String> parameters = new ArrayList<>(Arrays.asList(both));
    parameters.addAll(Arrays.asList("facet.query", "kind:even", "facet.query", "kind:odd"));
    Map<?, ?> answer = world.ask(parameters).json();
    Map<?, ?> kind = (Map<?, ?>) ((Map<?, ?>) answer.get("grouped")).get("kind");
    assertEquals((long) size, kind.get("matches"));
    Map<?, ?> counts = (Map<?, ?>) ((Map<?, ?>) answer.get("facet_counts")).get("facet_queries");
    assertEquals((long) size, (Long) counts.get("kind:even") + (Long) counts.get("kind:odd"));
  }

  // Scores ------------------------------------------------------------------------------------------------------------

  @Test
  public void scores() throws Exception {
    World world = World.get();
    List<String> base = raw("traveltime_", 901, "fl", "id,score,time:time()", "sort", "score desc");
    List<String> filter = new ArrayList<>(base);
    filter.addAll(Arrays.asList("fq", "{!traveltime weight=0.25}"));
    Solr.Answer answer = world.ask(filter);
    Map<String, Object> times = World.field(answer, "time");
    for (Map.Entry<String, Object> entry : World.field(answer, "score").entrySet()) {
      long time = (Long) times.get(entry.getKey());
      assertEquals(0.75 + 0.25 * (901 - time + 1) / 902, ((Number) entry.getValue()).doubleValue(), 1e-5);
    }
    // Unless it sorts by score alone, Solr shows the score of the main query since version 8, but sorts by the other one.
    filter.set(filter.indexOf("score desc"), "score desc,id asc");
    answer = world.ask(filter);
    if (!System.getProperty("solr.version").startsWith("7.")) {
      assertEquals(Collections.singleton(1.0), new HashSet<>(World.field(answer, "score").values()));
    }
    long before = 0;
    for (Object document : answer.documents()) {
      long time = (Long) ((Map<?, ?>) document).get("time");
      assertTrue(time >= before);
      before = time;
    }
    // A limit that no other test has, so that the cache is empty at first.
    List<String> main = raw("traveltime_", 907, "fl", "id,score,time:time()", "sort", "score desc");
    main.addAll(Arrays.asList("fq", "{!traveltime}", "q", "{!traveltime}"));
    for (int i = 0; i < 2; i++) {
      answer = world.ask(main);
      times = World.field(answer, "time");
      assertTrue(times.size() > 100);
      for (Map.Entry<String, Object> entry : World.field(answer, "score").entrySet()) {
        long time = (Long) times.get(entry.getKey());
        assertEquals(907.0 / (907 + time), ((Number) entry.getValue()).doubleValue(), 1e-5);
      }
      main.addAll(Arrays.asList("start", "0"));
    }
  }

  @Test
  public void filteringDisabled() throws Exception {
    World world = World.get();
    int nLocated = world.ask("fq", "location:[-90,-180 TO 90,180]").documents().size();
    List<String> parameters = raw("traveltime_", 600, "fq", "{!all weight=1}", "sort", "score desc");
    parameters.addAll(Arrays.asList("fl", "id,score,time:time()"));
    Solr.Answer answer = world.ask(parameters);
    Map<String, Object> times = World.field(answer, "time");
    assertEquals(nLocated, times.size());
    Map<String, Object> scores = World.field(answer, "score");
    int nUnreachable = 0;
    for (Map.Entry<String, Object> entry : times.entrySet()) {
      long time = (Long) entry.getValue();
      double score = ((Number) scores.get(entry.getKey())).doubleValue();
      assertEquals(time < 0 ? 0.0 : (600.0 - time + 1) / 601, score, 1e-5);
      nUnreachable += time < 0 ? 1 : 0;
    }
    assertTrue(nUnreachable > 0 && nUnreachable < nLocated);
  }

  // Caches ------------------------------------------------------------------------------------------------------------

  /** Values without the filter: whether a cache has times for these parameters. */
  private static boolean isCached(List<String> parameters, String function) throws Exception {
    List<String> all = new ArrayList<>(parameters);
    all.addAll(Arrays.asList("fl", "id,time:" + function + "()"));
    for (Object time : World.field(World.get().ask(all), "time").values()) {
      if ((Long) time >= 0) {
        return true;
      }
    }
    return false;
  }

  @Test
  public void exactMissesOnAnyChange() throws Exception {
    World world = World.get();
    List<String> parameters = raw("traveltime_", 911);
    assertFalse(isCached(parameters, "time"));
    List<String> filter = new ArrayList<>(parameters);
    filter.addAll(Arrays.asList("fq", "{!traveltime}"));
    assertEquals(200, world.ask(filter).status);
    assertTrue(isCached(parameters, "time"));
    String[][] changes = {
      {"origin", "-30.0305,-51.2224"}, {"limit", "912"}, {"limit", "910"}, {"mode", "walking"}, {"country", "fi"},
      {"requestType", "MANY_TO_ONE"}, {"distances", "true"},
    };
    for (String[] change : changes) {
      List<String> changed = new ArrayList<>(parameters);
      int at = changed.indexOf("traveltime_" + change[0]);
      if (at >= 0) {
        changed.set(at + 1, change[1]);
      } else {
        changed.addAll(Arrays.asList("traveltime_" + change[0], change[1]));
      }
      assertFalse(change[0], isCached(changed, "time"));
    }
  }

  @Test
  public void fuzzyHitsOnSameOriginAndMode() throws Exception {
    World world = World.get();
    String origin = "-30.03,-51.22";
    List<String> parameters = raw("fuzzy_", 1200, "fuzzy_origin", origin);
    parameters.subList(0, 2).clear();
    assertFalse(isCached(parameters, "fuzzy_time"));
    List<String> filter = new ArrayList<>(parameters);
    filter.addAll(Arrays.asList("fq", "{!fuzzy}"));
    int size = world.ask(filter).documents().size();
    assertTrue(isCached(parameters, "fuzzy_time"));
    // A shorter limit and another country are answered from the cache, and equal a fresh answer.
    for (int limit : new int[] {1200, 600}) {
      List<String> shorter = raw("fuzzy_", limit, "fuzzy_origin", origin, "fl", "id,time:fuzzy_time()");
      shorter.subList(0, 2).clear();
      shorter.set(shorter.indexOf("uk"), "fi");
      assertTrue(isCached(shorter, "fuzzy_time"));
      List<String> fresh = raw("uncached_", limit, "uncached_origin", origin, "fq", "{!uncached}");
      fresh.subList(0, 2).clear();
      shorter.addAll(Arrays.asList("fq", "{!fuzzy}"));
      Map<String, Object> times = World.field(world.ask(shorter), "time");
      assertEquals(World.field(world.ask(fresh), "id").keySet(), times.keySet());
      assertTrue(limit == 600 ? times.size() < size : times.size() == size);
    }
    List<String> walking = new ArrayList<>(parameters);
    walking.set(walking.indexOf("driving"), "walking");
    assertFalse(isCached(walking, "fuzzy_time"));
  }

  /** A cache with too little room loses values, but never documents. */
  @Test
  public void smallCachesLoseNoDocuments() throws Exception {
    World world = World.get();
    List<String> small = raw("small_", 1800, "fq", "{!small}");
    List<String> fresh = raw("uncached_", 1800, "fq", "{!uncached}");
    Map<String, Object> expected = World.field(world.ask(fresh), "id");
    assertTrue(expected.size() > 500);
    assertEquals(expected, World.field(world.ask(small), "id"));
    small.addAll(Arrays.asList("fq", "id:*"));
    assertEquals(expected, World.field(world.ask(small), "id"));
  }

  @Test
  public void concurrentQueriesDoNotMix() throws Exception {
    World world = World.get();
    String[] modes = {"driving", "walking", "cycling"};
    Map<String, Map<String, Object>> expected = new TreeMap<>();
    ExecutorService threads = Executors.newFixedThreadPool(6);
    try {
      List<String> keys = new ArrayList<>();
      for (int limit = 300; limit <= 1500; limit += 300) {
        for (String mode : modes) {
          keys.add(limit + " " + mode);
          List<String> alone = raw("uncached_", limit, "fq", "{!uncached}");
          alone.set(alone.indexOf("driving"), mode);
          expected.put(limit + " " + mode, World.field(world.ask(alone), "id"));
        }
      }
      List<Future<Map<String, Object>>> found = new ArrayList<>();
      List<String> asked = new ArrayList<>();
      for (int i = 0; i < 60; i++) {
        String key = keys.get(i * 7 % keys.size());
        String parser = i % 2 == 0 ? "traveltime" : "fuzzy";
        List<String> parameters = raw(parser + "_", Integer.parseInt(key.split(" ")[0]), "fq", "{!" + parser + "}");
        parameters.set(parameters.indexOf("driving"), key.split(" ")[1]);
        parameters.addAll(Arrays.asList("fq", "id:*", "fq", "-id:none" + i));
        asked.add(key);
        found.add(threads.submit(() -> World.field(world.ask(parameters), "id")));
      }
      for (int i = 0; i < asked.size(); i++) {
        assertEquals(asked.get(i), expected.get(asked.get(i)), found.get(i).get());
      }
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  public void valueSourcesWithoutCacheFailTheCore() throws Exception {
    World.get();
    Path work = Files.createTempDirectory(Paths.get(System.getProperty("it.work")), "home");
    String config = Solr.resource("solrconfig.xml").replace("<cache name=\"fuzzy\"", "<cache name=\"other\"");
    try (Solr solr = new Solr(work, config, Solr.resource("schema.xml"))) {
      Solr.Answer answer = solr.ask(Arrays.asList("q", "*:*"));
      assertEquals(500, answer.status);
      assertTrue(answer.text, answer.text.contains("there is no cache fuzzy"));
    }
  }

  // Failures ----------------------------------------------------------------------------------------------------------

  @Test
  public void failuresOfTheServiceFailTheQuery() throws Exception {
    World world = World.get();
    String fast = "{!failing " + GOOD + "}";
    String json = "{!failing_json " + JSON_GOOD + "}";
    String[] headers = {"X-ERROR-CODE", "16", "X-ERROR-MESSAGE", "TOO_MANY_REQUESTS", "X-ERROR-DETAILS", "slow down"};
    world.failing.behaviour = FailingService.saying(429, "", headers);
    refused(503, "answered 429 TOO_MANY_REQUESTS: slow down", "fq", fast);
    world.failing.behaviour = FailingService.saying(401, "");
    refused(500, "answered 401", "fq", fast);
    world.failing.behaviour = FailingService.saying(500, "broken");
    refused(503, "answered 500 broken", "fq", fast);
    world.failing.behaviour = FailingService.saying(200, "");
    refused(500, "0 travel times for", "fq", fast);
    world.failing.behaviour = FailingService.saying(302, "", "Location", "http://127.0.0.1:1/");
    refused(500, "answered 302", "fq", fast);
    String error =
        "{\"http_status\":422,\"error_code\":16,\"description\":\"not covered\",\"documentation_link\":\"\","
            + "\"additional_info\":{\"search_id\":[\"search\"]}}";
    world.failing.behaviour = FailingService.saying(422, error);
    refused(400, "answered 422 (code 16): not covered {\"search_id\":[\"search\"]}", "fq", json);
    world.failing.behaviour = FailingService.saying(401, "{\"error_code\":10,\"description\":\"unauthorized\"}");
    refused(500, "answered 401 (code 10): unauthorized", "fq", json);
    world.failing.behaviour = FailingService.saying(200, "{\"results\":[{\"locations\":[],\"unreachable\":[]}]}");
    refused(500, "neither reachable nor unreachable", "fq", json);
    world.failing.behaviour = FailingService.saying(200, "<html>");
    refused(500, "does not fit the request", "fq", json);
  }

  @Test
  public void slowAndBrokenServices() throws Exception {
    World world = World.get();
    String fast = "{!failing " + GOOD + "}";
    String json = "{!failing_json " + JSON_GOOD + "}";
    // Says nothing.
    world.failing.behaviour = (exchange, body) -> Thread.sleep(6000);
    for (String query : new String[] {fast, json}) {
      long start = System.nanoTime();
      refused(503, "did not answer in time", "fq", query);
      assertTrue(System.nanoTime() - start < 5_000_000_000L);
    }
    // Sends one byte a time, for ever.
    world.failing.behaviour =
        (exchange, body) -> {
          exchange.sendResponseHeaders(200, 0);
          for (int i = 0; i < 60; i++) {
            exchange.getResponseBody().write(' ');
            exchange.getResponseBody().flush();
            Thread.sleep(100);
          }
        };
    refused(503, "did not answer in time", "fq", fast);
    // Ends in the middle of the answer.
    world.failing.behaviour =
        (exchange, body) -> {
          exchange.sendResponseHeaders(200, 1000);
          exchange.getResponseBody().write(new byte[10]);
          exchange.getResponseBody().flush();
          throw new java.io.IOException("the end");
        };
    refused(503, "could not be asked", "fq", fast);
  }

  @Test
  public void killedService() throws Exception {
    World.get();
    Path work = Files.createTempDirectory(Paths.get(System.getProperty("it.work")), "home");
    String before = System.getProperty("service");
    Service service = new Service();
    System.setProperty("service", service.address);
    try (Solr solr = new Solr(work, Solr.resource("solrconfig.xml"), Solr.resource("schema.xml"))) {
      solr.add(World.get().documents);
      List<String> known = Arrays.asList("q", "*:*", "rows", "5000", "fq", "{!traveltime " + GOOD + "}");
      List<?> documents = solr.ask(known).documents();
      assertFalse(documents.isEmpty());
      ExecutorService threads = Executors.newFixedThreadPool(4);
      List<Future<Solr.Answer>> answers = new ArrayList<>();
      for (int i = 0; i < 40; i++) {
        String query = "{!traveltime " + GOOD.replace("900", "" + (1000 + i)) + "}";
        answers.add(threads.submit(() -> solr.ask(Arrays.asList("q", "*:*", "rows", "5000", "fq", query))));
      }
      answers.get(2).get();
      service.kill();
      int nFailed = 0;
      for (Future<Solr.Answer> answer : answers) {
        Solr.Answer got = answer.get();
        if (got.status == 200) {
          assertTrue(got.documents().size() >= documents.size());
        } else {
          assertEquals(got.text, 503, got.status);
          nFailed++;
        }
      }
      threads.shutdown();
      assertTrue(nFailed > 0);
      // What the cache has is still answered.
      List<String> again = new ArrayList<>(known);
      again.addAll(Arrays.asList("fq", "id:*"));
      assertEquals(documents, solr.ask(again).documents());
    } finally {
      service.kill();
      System.setProperty("service", before);
    }
  }
}
