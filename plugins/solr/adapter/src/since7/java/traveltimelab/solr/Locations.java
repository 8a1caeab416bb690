package traveltimelab.solr;

import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.lucene.index.DocValues;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.SortedNumericDocValues;

/** The locations of the documents of a leaf, packed as in {@link traveltimelab.core.Coordinates}. */
public final class Locations {
  private final LeafReaderContext leaf;
  private final String field;
  private SortedNumericDocValues values;
  private int last = -1;

  public Locations(LeafReaderContext leaf, String field) throws IOException {
    this.leaf = leaf;
    this.field = field;
    values = DocValues.getSortedNumeric(leaf.reader(), field);
  }

  /** Go to a document; return whether it has a location. */
  public boolean advance(int doc) {
    try {
      if (doc < last) {
        // Doc values go forwards only.
        values = DocValues.getSortedNumeric(leaf.reader(), field);
      }
      last = doc;
      return values.advanceExact(doc);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  /** Return the location of the document; call it once. */
  public long place() {
    try {
      return values.nextValue();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }
}
