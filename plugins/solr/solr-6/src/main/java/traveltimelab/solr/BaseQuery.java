package traveltimelab.solr;

import java.io.IOException;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.Weight;
import org.apache.solr.search.ExtendedQueryBase;

/** The part of a query that differs between versions of Solr. */
abstract class BaseQuery extends ExtendedQueryBase {
  /** Return the query that scores in place of this one. */
  protected abstract Query scoring(IndexSearcher searcher);

  @Override
  public Weight createWeight(IndexSearcher searcher, boolean needsScores) throws IOException {
    return scoring(searcher).createWeight(searcher, needsScores);
  }
}
