package traveltimelab.core;

/**
 * Places that the queries of one request need travel times of, and the times. Each distinct place is looked up once.
 *
 * <p>Not safe for use by several threads.
 */
public final class Answers<S extends Search> {
  private final S search;
  private final PlaceTable places = new PlaceTable();
  private Times times;
  private int nAnswered;

  public Answers(S search) {
    this.search = search;
    times = new Times(0, search.distances());
  }

  /** Note a place, and return its number. */
  public int add(long place) {
    return places.add(place);
  }

  /** Return the travel time of a place that was noted before {@link #complete}: seconds, or -1. */
  public int seconds(int number) {
    return times.seconds[number];
  }

  /** Return the travel time of any place: seconds, -1 if unreachable, or -2 if it was not asked for. */
  public int secondsAt(long place) {
    int number = places.find(place);
    return number < 0 || number >= nAnswered ? -2 : times.seconds[number];
  }

  /**
   * Find the times of all places that were noted.
   *
   * @param memory what a cache holds for the search, or null
   * @return the number of places that the service was asked for
   * @throws ServiceException if the service did not answer for every one of them; nothing is kept then
   */
  public int complete(Memory memory, Client<S> client) {
    int size = places.size();
    int[] wanted = new int[size - nAnswered];
    for (int i = 0; i < wanted.length; i++) {
      wanted[i] = nAnswered + i;
    }
    Times found = times.copy(size);
    int[] missing = memory == null ? wanted : memory.recall(places, wanted, search.limit(), found);
    if (missing.length > 0) {
      try {
        client.ask(search, places, missing, found);
      } catch (ServiceException error) {
        throw new ServiceException(error.reason(), "The travel-time service " + error.getMessage(), error);
      }
      for (int number : missing) {
        if (found.seconds[number] > search.limit()) {
          found.seconds[number] = Times.UNREACHABLE;
        }
      }
      if (memory != null) {
        memory.keep(places, missing, search.limit(), found);
      }
    }
    times = found;
    nAnswered = size;
    return missing.length;
  }
}
