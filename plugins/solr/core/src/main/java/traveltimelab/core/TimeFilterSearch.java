package traveltimelab.core;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.Map;
import java.util.Objects;

/** A search over {@code /v4/time-filter}. */
public final class TimeFilterSearch implements Search {
  final String field;
  final boolean isArrival;
  final Place place;
  final Instant time;
  final int travelTime;
  /** JSON with sorted keys, so that two spellings of the same object are equal. */
  final String transportation;
  /** JSON with sorted keys, or an empty text. */
  final String range;
  final boolean distances;

  TimeFilterSearch(
      String field, boolean isArrival, Place place, Instant time, int travelTime, String transportation, String range,
      boolean distances) {
    this.field = field;
    this.isArrival = isArrival;
    this.place = place;
    this.time = time;
    this.travelTime = travelTime;
    this.transportation = transportation;
    this.range = range;
    this.distances = distances;
  }

  /** Read the parameters of a query. */
  public static TimeFilterSearch parse(Parameters parameters) {
    String field = parameters.require("field");
    int travelTime = parameters.seconds("travel_time", 0);
    Map<?, ?> transportation = Json.object("transportation", parameters.require("transportation"));
    if (!(transportation.get("type") instanceof String)) {
      throw new BadParameterException("transportation", "needs a type, such as {\"type\":\"driving\"}");
    }
    String range = parameters.get("range");
    range = range == null ? "" : Json.write(Json.object("range", range));
    boolean arrives = isGiven(parameters, "arrival");
    boolean departs = isGiven(parameters, "departure");
    if (arrives == departs) {
      String found = arrives ? "; got both" : "; got neither";
      throw new BadParameterException(
          arrives ? "arrival_time" : "departure_time",
          "and its location: either arrival_time with arrival_location or departure_time with departure_location must"
              + " be given" + found);
    }
    String side = arrives ? "arrival" : "departure";
    return new TimeFilterSearch(
        field,
        arrives,
        place(side + "_location", parameters.require(side + "_location")),
        instant(side + "_time", parameters.require(side + "_time")),
        travelTime,
        Json.write(transportation),
        range,
        parameters.distances());
  }

  /** Whether the time and the location of a side are given; one without the other is an error. */
  private static boolean isGiven(Parameters parameters, String side) {
    boolean hasTime = parameters.get(side + "_time") != null;
    boolean hasLocation = parameters.get(side + "_location") != null;
    if (hasTime != hasLocation) {
      String missing = side + (hasTime ? "_location" : "_time");
      throw new BadParameterException(missing, "is missing: " + side + (hasTime ? "_time" : "_location") + " needs it");
    }
    return hasTime;
  }

  private static Place place(String parameter, String text) {
    Map<?, ?> object = Json.object(parameter, text);
    Object lat = object.get("lat");
    Object lng = object.get("lng");
    if (!(lat instanceof Number) || !(lng instanceof Number)) {
      throw new BadParameterException(parameter, "must be JSON such as {\"lat\":51.5,\"lng\":-0.1}; got " + text);
    }
    return new Place(parameter, ((Number) lat).doubleValue(), ((Number) lng).doubleValue());
  }

  private static Instant instant(String parameter, String text) {
    try {
      return OffsetDateTime.parse(text).toInstant();
    } catch (DateTimeException error) {
      String example = "2026-03-02T08:00:00Z or 2026-03-02T08:00:00+02:00";
      throw new BadParameterException(parameter, "must be a date and time such as " + example + "; got " + text);
    }
  }

  @Override
  public String field() {
    return field;
  }

  @Override
  public int limit() {
    return travelTime;
  }

  @Override
  public boolean distances() {
    return distances;
  }

  @Override
  public Object fuzzyKey() {
    return new TimeFilterSearch("", isArrival, place, time, 0, transportation, range, false);
  }

  @Override
  public boolean equals(Object object) {
    if (!(object instanceof TimeFilterSearch)) {
      return false;
    }
    TimeFilterSearch other = (TimeFilterSearch) object;
    return field.equals(other.field)
        && isArrival == other.isArrival
        && place.equals(other.place)
        && time.equals(other.time)
        && travelTime == other.travelTime
        && transportation.equals(other.transportation)
        && range.equals(other.range)
        && distances == other.distances;
  }

  @Override
  public int hashCode() {
    return Objects.hash(field, isArrival, place, time, travelTime, transportation, range, distances);
  }

  @Override
  public String toString() {
    return transportation + (isArrival ? " to " : " from ") + place + " at " + time + " within " + travelTime + " s, "
        + field;
  }
}
