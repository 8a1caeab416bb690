package traveltimelab.core;

/** How travel times become scores. */
public final class Scores {
  private Scores() {}

  /** Mix the score of a query with that of a travel time, which is 1 at once and 0 where unreachable (time -1). */
  public static float filter(float score, float weight, int limit, int time) {
    if (weight == 0f) {
      return score;
    }
    double near = time < 0 || time > limit ? 0.0 : (limit - (double) time + 1.0) / (limit + 1.0);
    return (float) ((1.0 - weight) * score + weight * near);
  }

  /** The score of a main query: 1 at once, 0.5 at the limit, 0 where unreachable. */
  public static float main(int limit, int time) {
    if (time < 0 || time > limit) {
      return 0f;
    }
    return time == 0 ? 1f : (float) (limit / ((double) limit + time));
  }
}
