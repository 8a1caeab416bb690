package traveltimelab.core;

import java.nio.charset.StandardCharsets;

/** Text of answers, short enough for an error message. */
final class Words {
  private static final int MOST = 500;

  private Words() {}

  static String of(byte[] body) {
    String text = new String(body, StandardCharsets.UTF_8).trim();
    if (text.isEmpty()) {
      return "without a word";
    }
    return shorten(text);
  }

  static String shorten(String text) {
    return text.length() > MOST ? text.substring(0, MOST) + "..." : text;
  }
}
