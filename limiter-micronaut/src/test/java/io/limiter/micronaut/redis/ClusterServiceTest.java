// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.Fallback;
import io.limiter.core.outage.FallbackCounts;
import io.limiter.core.testing.ClusterGroup;
import io.limiter.core.testing.RecordedLog;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** A service whose {@code redis.uris}, or {@code redis.uri}, name a Redis Cluster. */
class ClusterServiceTest {

  private static final String SPEC = "ClusterServiceTest";

  @AutoClose private final ClusterGroup group = ClusterGroup.withoutReplicas();

  @Test
  void limitsHoldOverAllItsNodes() {
    assertLimited("redis.uris", group.uris(), group.servers());
  }

  /** Its first calls are decided by all nodes; the connections to the one are closed later. */
  @Test
  void anyOneOfItsNodesIsEnough() {
    List<RedisProcess> others = group.servers().subList(1, group.servers().size());

    try (RecordedLog log = RecordedLog.ofInfo("io.limiter")) {
      assertLimited("redis.uri", group.uris().get(0), others);

      assertThat(log.messages())
          .filteredOn(line -> line.contains("is one node of a Redis Cluster: name several"))
          .hasSize(1);
      assertThat(log.messages())
          .filteredOn(line -> line.endsWith(": 3 primaries, one connection to each"))
          .hasSize(1);
    }
  }

  private void assertLimited(String setting, Object address, List<RedisProcess> connectedOnce) {
    try (HttpService server =
        HttpService.start(
            SPEC,
            Map.of(
                setting,
                address,
                "redis.client-name",
                "limits",
                "limiter.redis.connections",
                "event-loop",
                "limiter.redis.deadline",
                "5s",
                "limiter.redis.start-timeout",
                "30s"))) {
      for (int i = 0; i < 20; i++) {
        assertThat(get(server, "key-" + i)).as("caller %d", i).isEqualTo(200);
      }
      assertThat(get(server, "key-0")).as("the second call of one").isEqualTo(429);
      for (int i = 20; i < 30; i++) {
        assertThat(get(server, "key-" + i)).isEqualTo(200);
      }
      assertThat(get(server, "key-30")).as("the 31st of all").isEqualTo(429);

      FallbackCounts fallbacks = server.bean(FallbackCounts.class);
      assertThat(fallbacks.of(Fallback.LOCAL)).isZero();
      for (RedisProcess node : connectedOnce) {
        assertThat(limiters(node)).as("connections to one node").hasSize(1);
      }
    }
    await()
        .atMost(Duration.ofSeconds(5))
        .until(() -> group.servers().stream().allMatch(node -> limiters(node).isEmpty()));
  }

  private List<String> limiters(RedisProcess node) {
    return group
        .admin(node)
        .clientList()
        .lines()
        .filter(line -> line.contains("name=limits"))
        .toList();
  }

  private static int get(HttpService server, String key) {
    return server.status("/cluster", "X-Api-Key", key);
  }

  @Controller("/cluster")
  @Requires(property = "spec.name", value = SPEC)
  static class Route {
    @Get
    @RateRule(count = 30, time = 600, limitType = LimitType.GLOBAL)
    @RateRule(count = 1, time = 600, header = "X-Api-Key")
    String get() {
      return "ok";
    }
  }
}
