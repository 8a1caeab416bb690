package traveltimelab.it;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/** A service that fails in the way that a test says. */
final class FailingService implements AutoCloseable {
  /** What to do with a request. */
  interface Behaviour {
    void answer(HttpExchange exchange, byte[] body) throws IOException, InterruptedException;
  }

  private final HttpServer server;
  private final ExecutorService threads = Executors.newCachedThreadPool();
  final AtomicInteger requests = new AtomicInteger();
  volatile Behaviour behaviour;

  FailingService() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(threads);
    server.createContext("/", this::handle);
    server.start();
  }

  String address() {
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  private void handle(HttpExchange exchange) throws IOException {
    requests.incrementAndGet();
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    byte[] buffer = new byte[4096];
    try (InputStream in = exchange.getRequestBody()) {
      for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
        body.write(buffer, 0, n);
      }
    }
    try {
      behaviour.answer(exchange, body.toByteArray());
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    } finally {
      exchange.close();
    }
  }

  /** Answer with a status, a body and headers (name, value, ...). */
  static Behaviour saying(int status, String body, String... headers) {
    return (exchange, request) -> {
      for (int i = 0; i < headers.length; i += 2) {
        exchange.getResponseHeaders().set(headers[i], headers[i + 1]);
      }
      byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
      exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
      exchange.getResponseBody().write(bytes);
    };
  }

  @Override
  public void close() {
    server.stop(0);
    threads.shutdownNow();
  }
}
