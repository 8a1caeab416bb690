package traveltimelab.core;

/** The parameters of one travel-time query. Searches with equal parameters are equal, and keys of the exact caches. */
public interface Search {
  /** The field with the locations of documents. */
  String field();

  /** The longest travel time in seconds. */
  int limit();

  boolean distances();

  /** What fuzzy caches keep times under: the search without its limit and what does not change times. */
  Object fuzzyKey();
}
