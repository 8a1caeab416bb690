package traveltimelab.solr;

import org.apache.solr.schema.IndexSchema;
import org.apache.solr.schema.LatLonPointSpatialField;
import org.apache.solr.schema.SchemaField;
import traveltimelab.core.BadParameterException;

/** Checks of the field that has the locations. */
public final class Fields {
  private Fields() {}

  public static void check(String name, IndexSchema schema) {
    SchemaField field = schema.getFieldOrNull(name);
    if (field == null) {
      throw new BadParameterException("field", "must be a field of the schema; got " + name);
    }
    String problem = null;
    if (!(field.getType() instanceof LatLonPointSpatialField)) {
      problem = "must be a location, of the type solr.LatLonPointSpatialField; " + name + " is a "
          + field.getType().getTypeName();
    } else if (field.multiValued()) {
      problem = "must have one location per document; " + name + " is multiValued";
    } else if (!field.hasDocValues()) {
      problem = "must have docValues; " + name + " has none";
    }
    if (problem != null) {
      throw new BadParameterException("field", problem);
    }
  }
}
