package traveltimelab.solr;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.solr.request.SolrRequestInfo;
import traveltimelab.core.Answers;
import traveltimelab.core.Search;

/** The travel times that one request of Solr has asked for, kept with the request. */
final class RequestAnswers {
  private final Map<Search, Answers<?>> answers = new ConcurrentHashMap<>();
  private volatile boolean isScored;

  /** Return those of the request that runs in this thread, or null if there is none. */
  static RequestAnswers current() {
    SolrRequestInfo info = SolrRequestInfo.getRequestInfo();
    if (info == null || info.getReq() == null) {
      return null;
    }
    Map<Object, Object> context = info.getReq().getContext();
    synchronized (context) {
      return (RequestAnswers) context.computeIfAbsent(RequestAnswers.class, key -> new RequestAnswers());
    }
  }

  boolean has(Search search) {
    return answers.containsKey(search);
  }

  Answers<?> get(Search search) {
    return answers.get(search);
  }

  @SuppressWarnings("unchecked")
  <S extends Search> Answers<S> getOrMake(S search) {
    return (Answers<S>) answers.computeIfAbsent(search, key -> new Answers<>(search));
  }

  /** Note that scores of the main query depend on travel times, so that they are not known before these are. */
  void noteScoring() {
    isScored = true;
  }

  boolean isScored() {
    return isScored;
  }
}
