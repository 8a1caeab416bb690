package traveltimelab.it;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;
import java.util.Map;
import org.noggit.JSONUtil;
import org.noggit.ObjectBuilder;

/** A real Solr in a Jetty of this process, with one core. */
public final class Solr implements AutoCloseable {
  private final Object runner;
  private final String core;

  /** Start one; the files of the core are in the resources, {@code home} is an empty folder. */
  Solr(Path home, String config, String schema) throws Exception {
    Path conf = Files.createDirectories(home.resolve("documents/conf"));
    Files.write(home.resolve("solr.xml"), "<solr/>".getBytes(StandardCharsets.UTF_8));
    Files.write(home.resolve("documents/core.properties"), new byte[0]);
    Files.write(conf.resolve("solrconfig.xml"), config.getBytes(StandardCharsets.UTF_8));
    Files.write(conf.resolve("schema.xml"), schema.getBytes(StandardCharsets.UTF_8));
    Class<?> configs = anyOf("org.apache.solr.embedded.JettyConfig", "org.apache.solr.client.solrj.embedded.JettyConfig");
    Object builder = configs.getMethod("builder").invoke(null);
    builder.getClass().getMethod("setContext", String.class).invoke(builder, "/solr");
    Object built = builder.getClass().getMethod("build").invoke(builder);
    Class<?> runners =
        anyOf("org.apache.solr.embedded.JettySolrRunner", "org.apache.solr.client.solrj.embedded.JettySolrRunner");
    runner = runners.getConstructor(String.class, configs).newInstance(home.toString(), built);
    runners.getMethod("start").invoke(runner);
    core = "http://127.0.0.1:" + runners.getMethod("getLocalPort").invoke(runner) + "/solr/documents";
  }

  /** Start one as a program: a folder and a configuration are given; it prints its address, and ends with its input. */
  public static void main(String[] arguments) throws Exception {
    String config = new String(Files.readAllBytes(Paths.get(arguments[1])), StandardCharsets.UTF_8);
    try (Solr solr = new Solr(Paths.get(arguments[0]), config, resource("schema.xml"))) {
      System.out.println("Listening at " + solr.core);
      while (System.in.read() >= 0) {}
    }
  }

  /** Solr 9 moved the classes that run it. */
  private static Class<?> anyOf(String... names) throws ClassNotFoundException {
    for (String name : names) {
      try {
        return Class.forName(name);
      } catch (ClassNotFoundException error) {
        // The next one may be there.
      }
    }
    throw new ClassNotFoundException(String.join(", ", names));
  }

  static String resource(String name) throws IOException {
    try (InputStream in = Solr.class.getResourceAsStream("/core/conf/" + name)) {
      return new String(bytes(in), StandardCharsets.UTF_8);
    }
  }

  void add(List<?> documents) throws IOException {
    Answer answer = send(core + "/update?commit=true&wt=json", "application/json", JSONUtil.toJSON(documents));
    if (answer.status != 200) {
      throw new IOException(answer.text);
    }
  }

  /** Ask; parameters are name, value, name, value, ... */
  Answer ask(List<String> parameters) throws IOException {
    StringBuilder form = new StringBuilder();
    for (int i = 0; i < parameters.size(); i++) {
      form.append(i % 2 == 1 ? "=" : "&").append(URLEncoder.encode(parameters.get(i), "UTF-8"));
    }
    return send(core + "/select", "application/x-www-form-urlencoded", form.substring(1));
  }

  private static Answer send(String address, String type, String body) throws IOException {
    HttpURLConnection connection = (HttpURLConnection) new URL(address).openConnection();
    connection.setRequestMethod("POST");
    connection.setDoOutput(true);
    connection.setRequestProperty("Content-Type", type);
    connection.setReadTimeout(120_000);
    try (OutputStream out = connection.getOutputStream()) {
      out.write(body.getBytes(StandardCharsets.UTF_8));
    }
    int status = connection.getResponseCode();
    try (InputStream in = status >= 400 ? connection.getErrorStream() : connection.getInputStream()) {
      return new Answer(status, new String(bytes(in), StandardCharsets.UTF_8));
    }
  }

  private static byte[] bytes(InputStream in) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    byte[] buffer = new byte[1 << 16];
    for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
      out.write(buffer, 0, n);
    }
    return out.toByteArray();
  }

  @Override
  public void close() throws Exception {
    runner.getClass().getMethod("stop").invoke(runner);
  }

  /** What Solr answered. */
  static final class Answer {
    final int status;
    final String text;

    Answer(int status, String text) {
      this.status = status;
      this.text = text;
    }

    Map<?, ?> json() throws IOException {
      return (Map<?, ?>) ObjectBuilder.fromJSON(text);
    }

    List<?> documents() throws IOException {
      if (status != 200) {
        throw new IOException(status + " " + text);
      }
      return (List<?>) ((Map<?, ?>) json().get("response")).get("docs");
    }

    String error() throws IOException {
      return String.valueOf(((Map<?, ?>) json().get("error")).get("msg"));
    }
  }
}
