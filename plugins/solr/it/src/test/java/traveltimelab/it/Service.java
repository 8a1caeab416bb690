package traveltimelab.it;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A travel-time service of the sample city, as the command {@code traveltime-lab serve} starts it. */
final class Service implements AutoCloseable {
  private static final Pattern ADDRESS = Pattern.compile("Serving .* at (http://[^ ]+)");

  private final Process process;
  final String address;

  Service(String... options) throws IOException {
    List<String> command = new ArrayList<>(Arrays.asList("-u", "-m", "traveltime_lab", "serve", "--port", "0"));
    command.addAll(Arrays.asList("--credentials", "it:secret", "--quiet"));
    command.addAll(Arrays.asList(options));
    process = python(command).start();
    StringBuilder said = new StringBuilder();
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      said.append(line).append('\n');
      Matcher found = ADDRESS.matcher(line);
      if (found.find()) {
        address = found.group(1);
        Thread rest = new Thread(() -> lines.lines().forEach(other -> {}), "output of the service");
        rest.setDaemon(true);
        rest.start();
        return;
      }
    }
    throw new IOException("traveltime-lab serve did not start; -Dtraveltime.python=COMMAND chooses the Python:\n" + said);
  }

  /** A command of Python that finds the package in this repository or, failing that, where it is installed. */
  static ProcessBuilder python(List<String> arguments) {
    List<String> command = new ArrayList<>();
    command.add(System.getProperty("traveltime.python"));
    command.addAll(arguments);
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    String root = new File(System.getProperty("it.folder"), "../../..").toPath().normalize().toString();
    String others = System.getenv("PYTHONPATH");
    builder.environment().put("PYTHONPATH", others == null ? root : root + File.pathSeparator + others);
    return builder;
  }

  /** End at once, in the middle of whatever it does. */
  void kill() {
    process.destroyForcibly();
    try {
      process.waitFor(10, TimeUnit.SECONDS);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    kill();
  }
}
