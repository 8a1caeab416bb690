package traveltimelab.it;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.noggit.ObjectBuilder;

/** The service, a failing service, Solr with its documents, and the queries, once for all tests of a process. */
final class World {
  private static World world;
  private static Exception failure;

  final Service service;
  final FailingService failing;
  final Solr solr;
  final List<?> documents;
  final List<?> cases;

  /** Return the file of queries and answers: one that was given, or a new one. */
  private static Path cases(Path work) throws IOException, InterruptedException {
    if (!System.getProperty("traveltime.cases", "").isEmpty()) {
      return Paths.get(System.getProperty("traveltime.cases"));
    }
    Path folder = Files.createTempDirectory(work, "cases");
    Path written = folder.resolve("cases.json");
    String oracle = Paths.get(System.getProperty("it.folder"), "oracle.py").toString();
    run(Service.python(Arrays.asList(oracle, written.toString())), folder.resolve("output.txt"));
    return written;
  }

  private World() throws Exception {
    Path work = Files.createDirectories(Paths.get(System.getProperty("it.work")));
    Path written = cases(work);
    Map<?, ?> read = (Map<?, ?>) ObjectBuilder.fromJSON(new String(Files.readAllBytes(written), StandardCharsets.UTF_8));
    documents = (List<?>) read.get("documents");
    cases = (List<?>) read.get("cases");
    service = new Service();
    Runtime.getRuntime().addShutdownHook(new Thread(service::close));
    failing = new FailingService();
    System.setProperty("service", service.address);
    System.setProperty("failing", failing.address());
    Path home = Files.createTempDirectory(work, "home");
    solr = new Solr(home, Solr.resource("solrconfig.xml"), Solr.resource("schema.xml"));
    // Several segments.
    int part = documents.size() / 3;
    for (int from = 0; from < documents.size(); from += part) {
      solr.add(documents.subList(from, Math.min(from + part, documents.size())));
    }
  }

  static synchronized World get() throws Exception {
    if (failure != null) {
      throw new IllegalStateException("the first attempt failed", failure);
    }
    if (world == null) {
      try {
        world = new World();
      } catch (Exception error) {
        failure = error;
        throw error;
      }
    }
    return world;
  }

  /** Run a command to its end. Its output goes to a file: a pipe would stay open as long as processes that it started. */
  private static void run(ProcessBuilder builder, Path output) throws IOException, InterruptedException {
    if (builder.redirectOutput(output.toFile()).start().waitFor() != 0) {
      throw new IOException(builder.command() + ":\n" + new String(Files.readAllBytes(output), StandardCharsets.UTF_8));
    }
  }

  /** Ask for all documents that pass; parameters are name, value, ... */
  Solr.Answer ask(List<String> parameters) throws IOException {
    List<String> all = new ArrayList<>(Arrays.asList("q", "*:*", "rows", "5000", "sort", "id asc"));
    for (int i = 0; i < parameters.size(); i += 2) {
      int at = all.indexOf(parameters.get(i));
      if (at % 2 == 0 && !parameters.get(i).equals("fq") && !parameters.get(i).equals("facet.query")) {
        all.set(at + 1, parameters.get(i + 1));
      } else {
        all.add(parameters.get(i));
        all.add(parameters.get(i + 1));
      }
    }
    return solr.ask(all);
  }

  Solr.Answer ask(String... parameters) throws IOException {
    return ask(Arrays.asList(parameters));
  }

  /** Return a field of the documents found, by id. */
  static Map<String, Object> field(Solr.Answer answer, String name) throws IOException {
    Map<String, Object> found = new TreeMap<>();
    for (Object document : answer.documents()) {
      found.put((String) ((Map<?, ?>) document).get("id"), ((Map<?, ?>) document).get(name));
    }
    return found;
  }
}
