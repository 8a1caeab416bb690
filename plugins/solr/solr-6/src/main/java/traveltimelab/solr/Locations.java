package traveltimelab.solr;

import java.io.IOException;
import org.apache.lucene.index.DocValues;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.SortedNumericDocValues;

/** The locations of the documents of a leaf, packed as in {@link traveltimelab.core.Coordinates}. */
public final class Locations {
  private final SortedNumericDocValues values;

  public Locations(LeafReaderContext leaf, String field) throws IOException {
    values = DocValues.getSortedNumeric(leaf.reader(), field);
  }

  /** Go to a document; return whether it has a location. */
  public boolean advance(int doc) {
    values.setDocument(doc);
    return values.count() > 0;
  }

  /** Return the location of the document. */
  public long place() {
    return values.valueAt(0);
  }
}
