// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.sentinel.api.StatefulRedisSentinelConnection;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;

/**
 * A primary, two replicas and three sentinels on loopback, of real processes. The sentinels take a
 * primary for lost after a second.
 */
public final class SentinelGroup implements AutoCloseable {

  private static final String NAME = "limits";
  private static final Duration READY = Duration.ofSeconds(20);

  private final List<RedisProcess> servers = new ArrayList<>();
  private final List<Process> sentinels = new ArrayList<>();
  private final List<Integer> sentinelPorts = new ArrayList<>();

  private SentinelGroup() {}

  public static SentinelGroup start() {
    SentinelGroup group = new SentinelGroup();
    try {
      RedisProcess primary = RedisProcess.onFreePort("--repl-diskless-sync-delay", "0").start();
      group.servers.add(primary);
      for (int i = 0; i < 2; i++) {
        group.servers.add(
            RedisProcess.onFreePort(
                    "--replicaof",
                    "127.0.0.1",
                    Integer.toString(primary.port()),
                    "--repl-diskless-sync-delay",
                    "0")
                .start());
      }
      for (int i = 0; i < 3; i++) {
        group.startSentinel(primary.port());
      }
      Awaitility.await().atMost(READY).until(group::isComplete);
      return group;
    } catch (RuntimeException e) {
      group.close();
      throw e;
    }
  }

  private void startSentinel(int primary) {
    int port = RedisProcess.freePort();
    try {
      Path directory = Files.createTempDirectory("limiter-sentinel-");
      Path configuration = directory.resolve("sentinel.conf");
      Files.writeString(
          configuration,
          """
          port %d
          bind 127.0.0.1
          dir %s
          sentinel monitor %s 127.0.0.1 %d 2
          sentinel down-after-milliseconds %s 1000
          sentinel failover-timeout %s 3000
          """
              .formatted(port, directory, NAME, primary, NAME, NAME));
      sentinels.add(
          new ProcessBuilder(
                  RedisBinary.installedOrEmbedded().toString(),
                  configuration.toString(),
                  "--sentinel")
              .redirectErrorStream(true)
              .redirectOutput(directory.resolve("sentinel.log").toFile())
              .start());
      sentinelPorts.add(port);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Whether every sentinel knows both replicas and both other sentinels. */
  private boolean isComplete() {
    return sentinelPorts.stream()
        .allMatch(
            port -> {
              Map<String, String> master = master(port);
              return "2".equals(master.get("num-slaves"))
                  && "2".equals(master.get("num-other-sentinels"));
            });
  }

  private Map<String, String> master(int sentinel) {
    RedisURI uri = RedisURI.create("redis://127.0.0.1:" + sentinel);
    uri.setTimeout(Duration.ofSeconds(2));
    RedisClient client = RedisClient.create(uri);
    try (StatefulRedisSentinelConnection<String, String> connection = client.connectSentinel()) {
      return connection.sync().master(NAME);
    } catch (RuntimeException notYet) {
      return Map.of();
    } finally {
      client.shutdown(Duration.ZERO, Duration.ofSeconds(1));
    }
  }

  /** The server that the first sentinel takes for the primary. */
  public RedisProcess primary() {
    String port = master(sentinelPorts.get(0)).get("port");
    return servers.stream()
        .filter(server -> Integer.toString(server.port()).equals(port))
        .findFirst()
        .orElseThrow(() -> new IllegalStateException("No primary: " + port));
  }

  public String uri() {
    return sentinelPorts.stream()
        .map(port -> "127.0.0.1:" + port)
        .collect(Collectors.joining(",", "redis-sentinel://", "#" + NAME));
  }

  @Override
  public void close() {
    sentinels.forEach(Process::destroyForcibly);
    servers.forEach(RedisProcess::close);
  }
}
