package traveltimelab.core;

/** Asks the service for the travel times of places. */
public interface Client<S extends Search> {
  /**
   * Fill in times, and distances if the search asks for them, of some places.
   *
   * @param places the places of a query
   * @param numbers the numbers of those to ask for
   * @throws ServiceException if not every one of them was answered
   */
  void ask(S search, PlaceTable places, int[] numbers, Times times);
}
