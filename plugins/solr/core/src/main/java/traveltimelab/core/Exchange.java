package traveltimelab.core;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.SocketTimeoutException;
import java.net.URL;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** One POST and its answer. */
final class Exchange {
  private static final int MOST_CONNECT_MS = 10_000;

  private final String address;
  private final byte[] body;
  private final Map<String, String> headers = new LinkedHashMap<>();
  private volatile HttpURLConnection connection;
  private volatile boolean isReading;
  private volatile boolean isAborted;

  int status;
  byte[] answer;

  Exchange(String address, String contentType, byte[] body) {
    this.address = address;
    this.body = body;
    headers.put("Content-Type", contentType);
    headers.put("Accept", contentType);
    headers.put("User-Agent", "traveltime-lab Solr plugin");
  }

  Exchange header(String name, String value) {
    headers.put(name, value);
    return this;
  }

  String address() {
    return address;
  }

  int bytesSent() {
    return body.length;
  }

  /** Return a header of the answer, or null. */
  String answered(String name) {
    return connection.getHeaderField(name);
  }

  /** Send, and read the answer, until a moment of {@link System#nanoTime}. */
  void run(long deadline) {
    try {
      int remaining = remainingMs(deadline);
      HttpURLConnection http = (HttpURLConnection) new URL(address).openConnection();
      http.setConnectTimeout(Math.min(remaining, MOST_CONNECT_MS));
      http.setReadTimeout(remaining);
      http.setInstanceFollowRedirects(false);
      http.setUseCaches(false);
      http.setRequestMethod("POST");
      http.setDoOutput(true);
      for (Map.Entry<String, String> header : headers.entrySet()) {
        http.setRequestProperty(header.getKey(), header.getValue());
      }
      connection = http;
      try (OutputStream out = http.getOutputStream()) {
        out.write(body);
      }
      status = http.getResponseCode();
      isReading = true;
      answer = read(http, deadline);
    } catch (SocketTimeoutException error) {
      throw late(error);
    } catch (IOException | RuntimeException error) {
      if (error instanceof ServiceException) {
        throw (ServiceException) error;
      }
      if (isAborted) {
        throw late(error);
      }
      String text = "could not be asked at " + address + ": " + error;
      throw new ServiceException(ServiceException.Reason.UNAVAILABLE, text, error);
    }
  }

  private byte[] read(HttpURLConnection http, long deadline) throws IOException {
    InputStream in = status >= 400 ? http.getErrorStream() : http.getInputStream();
    if (in == null) {
      return new byte[0];
    }
    int announced = http.getContentLength();
    ByteArrayOutputStream read = new ByteArrayOutputStream(Math.max(1024, Math.min(announced, 1 << 24)));
    byte[] buffer = new byte[1 << 16];
    try (InputStream stream = in) {
      for (int n = stream.read(buffer); n >= 0; n = stream.read(buffer)) {
        read.write(buffer, 0, n);
        remainingMs(deadline);
      }
    }
    if (announced >= 0 && read.size() != announced) {
      throw new IOException("the answer ended after " + read.size() + " of " + announced + " bytes");
    }
    return read.toByteArray();
  }

  private int remainingMs(long deadline) throws SocketTimeoutException {
    long remaining = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
    if (remaining <= 0 || isAborted) {
      throw new SocketTimeoutException("the time is over");
    }
    return (int) Math.min(remaining, Integer.MAX_VALUE);
  }

  private ServiceException late(Exception error) {
    String text = "did not answer in time at " + address;
    return new ServiceException(ServiceException.Reason.UNAVAILABLE, text, error);
  }

  /**
   * End the exchange from another thread.
   *
   * <p>A connection that waits for an answer is closed at once. One that reads an answer cannot be closed without waiting
   * for the reader; it ends at its next bytes, or when its read timeout is over.
   */
  void abort() {
    isAborted = true;
    HttpURLConnection http = connection;
    if (http != null && !isReading) {
      http.disconnect();
    }
  }
}
