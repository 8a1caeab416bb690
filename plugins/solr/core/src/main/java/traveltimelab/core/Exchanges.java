package traveltimelab.core;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

/** Several exchanges side by side, with one time limit for all. Threads live as long as the call. */
final class Exchanges {
  /** The most requests of one query at a time. */
  private static final int MOST_THREADS = 8;

  /** How long a call waits for its threads after it has given up on their exchanges. */
  private static final long GRACE_MS = 1000;

  private final List<Exchange> exchanges;
  private final Consumer<Exchange> reader;
  private final long deadline;
  private final AtomicInteger next = new AtomicInteger();
  private final AtomicReference<RuntimeException> failure = new AtomicReference<>();

  private Exchanges(List<Exchange> exchanges, Consumer<Exchange> reader, long timeoutMs) {
    this.exchanges = exchanges;
    this.reader = reader;
    this.deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
  }

  /**
   * Run exchanges and read their answers, or throw the first failure.
   *
   * @param reader called with each exchange when it is done, in the thread that ran it
   */
  static void run(List<Exchange> exchanges, Consumer<Exchange> reader, long timeoutMs) {
    new Exchanges(exchanges, reader, timeoutMs).run();
  }

  private void run() {
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < Math.min(exchanges.size(), MOST_THREADS); i++) {
      Thread thread = new Thread(this::work, "traveltime-request-" + i);
      thread.setDaemon(true);
      threads.add(thread);
      thread.start();
    }
    try {
      if (!join(threads, deadline)) {
        fail(late());
      }
    } catch (InterruptedException error) {
      fail(new ServiceException(ServiceException.Reason.UNAVAILABLE, "was not waited for: interrupted", error));
      Thread.currentThread().interrupt();
    }
    if (failure.get() != null) {
      finish(threads);
      throw failure.get();
    }
  }

  private ServiceException late() {
    String text = "did not answer in time at " + exchanges.get(0).address();
    return new ServiceException(ServiceException.Reason.UNAVAILABLE, text);
  }

  private void work() {
    try {
      for (int i = next.getAndIncrement(); i < exchanges.size() && failure.get() == null; i = next.getAndIncrement()) {
        exchanges.get(i).run(deadline);
        reader.accept(exchanges.get(i));
      }
    } catch (RuntimeException error) {
      fail(error);
    } catch (OutOfMemoryError error) {
      fail(new ServiceException(ServiceException.Reason.NOT_UNDERSTOOD, "sent more than fits in memory", error));
    }
  }

  /** Note a failure, unless there is one already, and end the exchanges that are running. */
  private void fail(RuntimeException error) {
    if (failure.compareAndSet(null, error)) {
      exchanges.forEach(Exchange::abort);
    }
  }

  private void finish(List<Thread> threads) {
    boolean isInterrupted = Thread.interrupted();
    try {
      join(threads, System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(GRACE_MS));
    } catch (InterruptedException error) {
      isInterrupted = true;
    }
    if (isInterrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Wait for threads until a moment; return whether all have ended. */
  private static boolean join(List<Thread> threads, long until) throws InterruptedException {
    for (Thread thread : threads) {
      // 0 would mean forever.
      long remaining = Math.max(1, TimeUnit.NANOSECONDS.toMillis(until - System.nanoTime()) + 1);
      thread.join(remaining);
      if (thread.isAlive()) {
        return false;
      }
    }
    return true;
  }
}
