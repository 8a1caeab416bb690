package traveltimelab.elasticsearch;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.http.HttpServerTransport;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.Plugin;
import org.elasticsearch.transport.Netty4Plugin;

/**
 * One node of Elasticsearch on a free port of this machine, with the plugin named by the first argument.
 *
 * <p>The second argument is an empty folder, further ones are settings, {@code name=value}. It prints its address, and ends
 * when its standard input does.
 */
public final class OneNode extends Node {
  private OneNode(Environment environment, List<Class<? extends Plugin>> plugins) {
    super(environment, plugins, false);
  }

  public static void main(String[] arguments) throws Exception {
    Settings.Builder settings =
        Settings.builder()
            .put("cluster.name", "check")
            .put("node.name", "check")
            .put("path.home", arguments[1])
            .put("network.host", "127.0.0.1")
            .put("http.port", "0")
            .put("transport.port", "0")
            .put("http.type", "netty4")
            .put("transport.type", "netty4")
            .put("discovery.type", "single-node")
            .put("cluster.routing.allocation.disk.threshold_enabled", false);
    for (int i = 2; i < arguments.length; i++) {
      String[] pair = arguments[i].split("=", 2);
      settings.put(pair[0], pair[1]);
    }
    LogConfigurator.configureWithoutConfig(Settings.builder().put("logger.level", "WARN").build());
    Environment environment =
        InternalSettingsPreparer.prepareEnvironment(
            settings.build(), Map.of(), Path.of(arguments[1], "config"), () -> "check");
    Class<? extends Plugin> plugin = Class.forName(arguments[0]).asSubclass(Plugin.class);
    try (Node node = new OneNode(environment, List.of(Netty4Plugin.class, plugin)).start()) {
      HttpServerTransport http = node.injector().getInstance(HttpServerTransport.class);
      System.out.println("Listening at http://" + http.boundAddress().publishAddress());
      while (System.in.read() >= 0) {}
    }
  }
}
