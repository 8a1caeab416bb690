package traveltimelab.core;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.util.HashMap;
import java.util.Map;
import org.junit.Test;

public class SearchTest {
  private static Map<String, String> map(String... pairs) {
    Map<String, String> map = new HashMap<>();
    for (int i = 0; i < pairs.length; i += 2) {
      map.put(pairs[i], pairs[i + 1]);
    }
    return map;
  }

  private static FastSearch fast(String... changes) {
    Map<String, String> all = map("origin", "51.5,-0.1", "field", "f", "limit", "900", "mode", "pt", "country", "UK");
    all.putAll(map(changes));
    return FastSearch.parse(Parameters.ofRequest("p_", all::get), null);
  }

  private static TimeFilterSearch byJson(String... changes) {
    Map<String, String> all =
        map(
            "field", "f", "travel_time", "900", "transportation", "{\"type\":\"driving\",\"a\":1}", "arrival_time",
            "2026-03-02T10:00:00+02:00", "arrival_location", "{\"lat\":51.5,\"lng\":-0.1}");
    all.putAll(map(changes));
    return TimeFilterSearch.parse(Parameters.ofRequest("p_", all::get));
  }

  @Test
  public void localBeforeRawAndPrefixedBeforeBare() {
    Map<String, String> local = map("limit", "1", "p_mode", "a", "mode", "b");
    Map<String, String> raw = map("p_limit", "2", "limit", "3", "p_field", "x", "field", "y", "origin", "o");
    Parameters parameters = Parameters.of("p_", local::get, raw::get);
    assertEquals("1", parameters.get("limit"));
    assertEquals("a", parameters.get("mode"));
    assertEquals("x", parameters.get("field"));
    assertEquals("o", parameters.get("origin"));
    assertEquals(null, parameters.get("country"));
  }

  @Test
  public void equalSearchesHaveEqualKeys() {
    assertEquals(fast(), fast("country", "uk"));
    assertEquals(fast().hashCode(), fast("country", "uk").hashCode());
    assertNotEquals(fast(), fast("limit", "901"));
    assertEquals(fast().fuzzyKey(), fast("limit", "1", "country", "fr", "field", "g", "distances", "true").fuzzyKey());
    assertNotEquals(fast().fuzzyKey(), fast("mode", "driving").fuzzyKey());
    assertNotEquals(fast().fuzzyKey(), fast("requestType", "MANY_TO_ONE").fuzzyKey());
    TimeFilterSearch other = byJson("transportation", " {\"a\":1, \"type\":\"driving\"}");
    assertEquals(byJson(), other);
    assertEquals(byJson(), byJson("arrival_time", "2026-03-02T08:00:00Z"));
    assertEquals(byJson().fuzzyKey(), byJson("travel_time", "60", "field", "g", "distances", "true").fuzzyKey());
    assertNotEquals(byJson().fuzzyKey(), byJson("range", "{\"enabled\":true}").fuzzyKey());
    assertNotEquals(fast().fuzzyKey(), byJson().fuzzyKey());
  }

  @Test
  public void aPlusMayBeABlank() {
    // A plus in an address that is not escaped.
    assertEquals(FastSearch.Mode.DRIVING_AND_FERRY, fast("mode", "driving ferry").mode);
  }

  @Test
  public void bothSidesOrNone() {
    BadParameterException error =
        assertThrows(
            BadParameterException.class,
            () -> byJson("departure_time", "2026-03-02T08:00:00Z", "departure_location", "{}"));
    assertTrue(error.getMessage(), error.getMessage().contains("got both"));
    error = assertThrows(BadParameterException.class, () -> byJson("arrival_time", null));
    assertEquals("arrival_time", error.parameter());
    error = assertThrows(BadParameterException.class, () -> byJson("transportation", "{\"type\":\"a\"} x"));
    assertEquals("transportation", error.parameter());
  }

  @Test
  public void geohashes() {
    // The published example of geohash.org.
    Place place = Place.parse("origin", "u4pruydqqvj");
    assertEquals(57.64911, place.lat, 1e-5);
    assertEquals(10.40744, place.lng, 1e-5);
    assertEquals(new Place("", 22.5, 22.5), Place.parse("origin", "s"));
    for (String wrong : new String[] {"a", "", "1,2,3", "x,y", "90.1,0", "0,181", "NaN,0", "0123456789012345678901234"}) {
      assertThrows(wrong, BadParameterException.class, () -> Place.parse("origin", wrong));
    }
  }

  @Test
  public void options() {
    Map<String, Object> given = new HashMap<>();
    BadParameterException error = assertThrows(BadParameterException.class, () -> Options.ofFast(given::get));
    assertEquals("app_id", error.parameter());
    given.put("app_id", "a");
    error = assertThrows(BadParameterException.class, () -> Options.ofFast(given::get));
    assertEquals("api_key", error.parameter());
    given.put("api_key", "k");
    Options options = Options.ofTimeFilter(given::get);
    assertEquals("traveltime", options.cache);
    assertEquals("traveltime_", options.prefix);
    assertEquals(2000, options.locationLimit);
    assertEquals(60_000, options.timeoutMs);
    given.put("api_uri", "https://host/x");
    assertEquals("https://host/x/", Options.ofFast(given::get).uri);
    String[][] wrong = {
      {"api_uri", "host"}, {"filtering_disabled", "yes"}, {"location_limit", "0"}, {"timeout", "-1"}, {"timeout", "NaN"}
    };
    for (String[] each : wrong) {
      Map<String, Object> changed = new HashMap<>(given);
      changed.put(each[0], each[1]);
      error = assertThrows(BadParameterException.class, () -> Options.ofFast(changed::get));
      assertEquals(each[0], error.parameter());
    }
  }

  @Test
  public void scores() {
    assertEquals(0.3f, Scores.filter(0.3f, 0f, 900, 100), 0f);
    assertEquals(1f, Scores.filter(0f, 1f, 900, 0), 0f);
    assertEquals(0f, Scores.filter(5f, 1f, 900, -1), 0f);
    // The sample of the documentation: limit 3600, times 1107 and 2444.
    assertEquals(0.6926f, Scores.filter(0f, 1f, 3600, 1107), 5e-5f);
    assertEquals(0.3213f, Scores.filter(0f, 1f, 3600, 2444), 5e-5f);
    assertEquals(0.5f, Scores.main(900, 900), 0f);
    assertEquals(1f, Scores.main(0, 0), 0f);
    assertEquals(0f, Scores.main(900, -1), 0f);
  }
}
