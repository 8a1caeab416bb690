package traveltimelab.solr;

import java.util.Objects;
import org.apache.lucene.queries.function.FunctionQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.solr.common.SolrException;
import org.apache.solr.search.DelegatingCollector;
import org.apache.solr.search.PostFilter;
import org.apache.solr.search.SolrIndexSearcher;
import traveltimelab.core.Client;
import traveltimelab.core.Search;
import traveltimelab.solr.cache.RequestCache;

/**
 * Filters documents by travel time, after all other filters. Beside the same query as a filter it may also be a main
 * query, or part of one, and score documents.
 */
final class TravelTimeQuery<S extends Search> extends BaseQuery implements PostFilter {
  /** Cost from which on Solr runs a filter after all others. */
  private static final int POST_FILTER_COST = 100;

  final S search;
  final float weight;
  final boolean isFilteringDisabled;
  final String cacheName;
  final Client<S> client;

  TravelTimeQuery(S search, float weight, boolean isFilteringDisabled, String cacheName, Client<S> client) {
    this.search = search;
    this.weight = weight;
    this.isFilteringDisabled = isFilteringDisabled;
    this.cacheName = cacheName;
    this.client = client;
  }

  @Override
  public boolean getCache() {
    return false;
  }

  @Override
  public int getCost() {
    return Math.max(super.getCost(), POST_FILTER_COST);
  }

  @Override
  public DelegatingCollector getFilterCollector(IndexSearcher searcher) {
    RequestCache cache = RequestCache.find((SolrIndexSearcher) searcher, cacheName);
    return Version.collector(new Filter<>(this, cache, (SolrIndexSearcher) searcher));
  }

  @Override
  protected Query scoring(IndexSearcher searcher) {
    RequestAnswers answers = RequestAnswers.current();
    RequestCache cache =
        searcher instanceof SolrIndexSearcher ? RequestCache.find((SolrIndexSearcher) searcher, cacheName) : null;
    // What a cache holds does not count: it has the documents of other requests, and scoring matches every document, so
    // that the same query would be refused at first and select too much later.
    if (answers == null || !answers.has(search)) {
      throw new SolrException(
          SolrException.ErrorCode.BAD_REQUEST,
          "A travel-time query works as a filter query of its own, fq={!...}, not inside of other queries. As the main"
              + " query it scores documents if the same query is there as fq, too.");
    }
    answers.noteScoring();
    return new FunctionQuery(new ScoreSource(search, answers.get(search), cache));
  }

  @Override
  public boolean equals(Object object) {
    if (!(object instanceof TravelTimeQuery)) {
      return false;
    }
    TravelTimeQuery<?> other = (TravelTimeQuery<?>) object;
    return search.equals(other.search)
        && weight == other.weight
        && isFilteringDisabled == other.isFilteringDisabled
        && cacheName.equals(other.cacheName)
        && client.equals(other.client);
  }

  @Override
  public int hashCode() {
    return Objects.hash(search, weight, isFilteringDisabled, cacheName, client);
  }

  @Override
  public String toString(String field) {
    return "travel time(" + search + ")";
  }
}
