package traveltimelab.solr;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import org.apache.lucene.search.LeafCollector;
import org.apache.solr.search.DelegatingCollector;

/**
 * Passes documents on when {@code complete} is called, from Solr 9.4 on.
 *
 * <p>The plugin is compiled for Solr 9.0, which has neither this method nor the end of a leaf.
 */
final class CompleteGatherer extends Gatherer {
  private static final Method COMPLETE = method(DelegatingCollector.class, "complete");
  private static final Method FINISH_LEAF = method(LeafCollector.class, "finish");

  CompleteGatherer(Filter<?> filter) {
    super(filter);
  }

  /** Overrides the method of Solr 9.4. */
  public void complete() throws IOException {
    deliver();
    if (delegate instanceof DelegatingCollector) {
      call(COMPLETE, delegate);
    }
  }

  @Override
  public void leave() throws IOException {
    if (sink != null) {
      call(FINISH_LEAF, sink);
    }
  }

  private static Method method(Class<?> type, String name) {
    try {
      return type.getMethod(name);
    } catch (NoSuchMethodException error) {
      throw new LinkageError(type + " has no method " + name, error);
    }
  }

  private static void call(Method method, Object target) throws IOException {
    try {
      method.invoke(target);
    } catch (InvocationTargetException error) {
      Throwable cause = error.getCause();
      if (cause instanceof IOException) {
        throw (IOException) cause;
      }
      if (cause instanceof Error) {
        throw (Error) cause;
      }
      throw (RuntimeException) cause;
    } catch (IllegalAccessException error) {
      throw new IllegalStateException(error);
    }
  }
}
