// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.cluster;

import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.StoreException;
import io.limiter.core.StoreHarness;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.RedisStore;
import io.limiter.core.testing.Ports;
import io.limiter.core.testing.RedisProcess;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How a Cluster is connected to; a Cluster of a single primary, which starts quickly. */
class ClusterConnectionsTest {

  private static final Duration HEALS_WITHIN = Duration.ofSeconds(10);
  private static final LimitRequest CALL = call(rule(1_000, StoreHarness.HOUR));

  @TempDir private Path directory;
  private final int port = Ports.free();
  private RedisProcess redis;
  private ClusterConnections connections;
  private RedisStore store;

  @AfterEach
  void close() {
    if (store != null) {
      store.close();
    }
    if (redis != null) {
      redis.close();
    }
  }

  @Test
  void itConnectsByItselfOnceTheClusterIsThere() {
    assertThat(open().firstAttempt()).succeedsWithin(HEALS_WITHIN).isEqualTo(false);
    assertThat(decide()).isEqualTo("DISCONNECTED");

    start();

    await().atMost(HEALS_WITHIN).until(() -> decide().equals("decided"));
    assertThat(others()).as("one to each primary, and none to ask for them").hasSize(1);
  }

  @Test
  void itIsWarmBeforeItIsHandedOut() {
    start();
    open();

    assertThat(connections.firstAttempt()).succeedsWithin(HEALS_WITHIN).isEqualTo(true);

    String commands = admin(node -> node.info("commandstats"));
    assertThat(commands).contains("cmdstat_evalsha:calls=1,");
    assertThat(decide()).isEqualTo("decided");
  }

  @Test
  @Tag("faults")
  void aClusterThatAcceptsAndNeverAnswersEndsTheAttempt() {
    start();
    redis.suspend();

    assertThat(open().firstAttempt()).succeedsWithin(Duration.ofSeconds(5)).isEqualTo(false);

    redis.resume();
    await().atMost(HEALS_WITHIN).until(() -> decide().equals("decided"));
  }

  @Test
  @Tag("faults")
  void aPrimaryThatWasKilledAndStartedAgainIsTakenBack() {
    start();
    assertThat(open().firstAttempt()).succeedsWithin(HEALS_WITHIN).isEqualTo(true);
    redis.kill();
    await().atMost(HEALS_WITHIN).until(() -> !decide().equals("decided"));

    redis.start();

    await().atMost(HEALS_WITHIN).until(() -> decide().equals("decided"));
  }

  /** A Redis that was configured as a Cluster by mistake is reported, and the fallback decides. */
  @Test
  void aRedisThatIsNoClusterIsNotUsed() {
    redis = RedisProcess.onPort(port).start();

    assertThat(open().firstAttempt()).succeedsWithin(HEALS_WITHIN).isEqualTo(false);

    assertThat(decide()).isEqualTo("DISCONNECTED");
  }

  @Test
  void aClosedOneLeavesNothingBehind() {
    start();
    assertThat(open().firstAttempt()).succeedsWithin(HEALS_WITHIN).isEqualTo(true);

    store.close();

    await().atMost(HEALS_WITHIN).until(() -> admin(RedisCommands::clientList).lines().count() == 1);
    await()
        .atMost(HEALS_WITHIN)
        .until(() -> Thread.getAllStackTraces().keySet().stream().noneMatch(this::isLettuces));
  }

  private boolean isLettuces(Thread thread) {
    return thread.getName().startsWith("lettuce-") && !thread.getName().contains("admin");
  }

  @Test
  void someNodeHasToBeNamed() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ClusterConnections.open(List.of(), RedisSettings.defaults()))
        .withMessageContaining("name at least one");
  }

  private void start() {
    redis =
        RedisProcess.onPort(
                port,
                "--cluster-enabled",
                "yes",
                "--cluster-config-file",
                directory.resolve("nodes.conf").toString())
            .start();
    admin(node -> node.clusterAddSlots(IntStream.range(0, 16_384).toArray()));
    await()
        .atMost(HEALS_WITHIN)
        .until(() -> admin(RedisCommands::clusterInfo).contains("state:ok"));
  }

  private ClusterConnections open() {
    connections =
        ClusterConnections.open(
            List.of(RedisURI.create("redis://127.0.0.1:" + port)), RedisSettings.defaults());
    store =
        new RedisStore(
            connections, new RedisSettings(RedisSettings.DEFAULT_PREFIX, Duration.ofSeconds(1)));
    return connections;
  }

  private String decide() {
    try {
      store.decide(CALL, Mode.ACQUIRE).toCompletableFuture().join();
      return "decided";
    } catch (CompletionException e) {
      FailureReason reason = ((StoreException) e.getCause()).reason();
      return reason.name();
    }
  }

  /** Connections except that of this test. */
  private List<String> others() {
    String all = admin(RedisCommands::clientList);
    return all.lines().filter(line -> !line.contains("name=admin")).toList();
  }

  private <T> T admin(Function<RedisCommands<String, String>, T> commands) {
    RedisClient client =
        RedisClient.create(
            RedisURI.builder()
                .withHost("127.0.0.1")
                .withPort(port)
                .withClientName("admin")
                .build());
    try (var connection = client.connect()) {
      return commands.apply(connection.sync());
    } finally {
      client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
    }
  }
}
