package traveltimelab.core;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.noggit.JSONParser;
import org.noggit.JSONUtil;
import org.noggit.ObjectBuilder;

/** JSON, with the parser that Solr ships. */
final class Json {
  private Json() {}

  /** Read one value, with nothing after it. */
  static Object parse(String text) throws IOException {
    try {
      JSONParser parser = new JSONParser(text);
      Object value = ObjectBuilder.getVal(parser);
      if (parser.nextEvent() != JSONParser.EOF) {
        throw new IOException("there is text after the value");
      }
      return value;
    } catch (JSONParser.ParseException error) {
      throw new IOException(error.getMessage(), error);
    }
  }

  /** Read a parameter that must be an object. */
  static Map<?, ?> object(String parameter, String text) {
    try {
      Object value = parse(text);
      if (value instanceof Map) {
        return (Map<?, ?>) value;
      }
    } catch (IOException error) {
      throw new BadParameterException(parameter, "must be a JSON object; got " + text + ": " + error.getMessage());
    }
    throw new BadParameterException(parameter, "must be a JSON object; got " + text);
  }

  /** Write a value without blanks, the keys of objects sorted. */
  static String write(Object value) {
    return JSONUtil.toJSON(sorted(value), -1);
  }

  private static Object sorted(Object value) {
    if (value instanceof Map) {
      Map<String, Object> map = new TreeMap<>();
      for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
        map.put((String) entry.getKey(), sorted(entry.getValue()));
      }
      return map;
    }
    if (value instanceof List) {
      List<Object> list = new java.util.ArrayList<>();
      for (Object item : (List<?>) value) {
        list.add(sorted(item));
      }
      return list;
    }
    return value;
  }
}
