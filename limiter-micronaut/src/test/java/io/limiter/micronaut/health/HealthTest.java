// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.health;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.testing.ClusterGroup;
import io.limiter.core.testing.RecordedLog;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.health.LimiterHealth.RedisUsers;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.BeanProvider;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Requires;
import io.micronaut.management.health.indicator.HealthResult;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** Readiness of a service, as Kubernetes asks for it, while Redis is there and while it is away. */
class HealthTest {

  private static final LimitRequest CALL =
      LimitRequest.of(
          Policy.of("health", SlidingWindowLogRule.of(10, Duration.ofHours(1))),
          new Subject("user", "ada"));

  private static final ObjectMapper JSON = new ObjectMapper();

  static {
    // It reports each time that Redis cannot be reached, with the stack trace.
    ((Logger) LoggerFactory.getLogger(HealthResult.class)).setLevel(Level.OFF);
  }

  @AutoClose private final RedisProcess redis = RedisProcess.onFreePort();

  private HttpService start(Object... settings) {
    return run("redis.uri", redis.uri(), settings);
  }

  private static HttpService run(String property, Object redis, Object... settings) {
    Map<String, Object> all =
        HttpService.settings(
            property,
            redis,
            "endpoints.health.details-visible",
            "ANONYMOUS",
            "limiter.redis.deadline",
            "500ms");
    all.putAll(HttpService.settings(settings));
    return HttpService.start("HealthTest", all);
  }

  private static HttpResponse<String> readiness(HttpService server) {
    return server.get("/health/readiness");
  }

  private String name() {
    return "Redis at 127.0.0.1:" + redis.port();
  }

  private JsonNode indicators(HttpService server) throws IOException {
    return JSON.readTree(readiness(server).body()).get("details");
  }

  private void awaitStatus(HttpService server, int status) {
    await()
        .atMost(Duration.ofSeconds(20))
        .untilAsserted(() -> assertThat(readiness(server).statusCode()).isEqualTo(status));
  }

  private static void callOnce(HttpService server) {
    var unused = server.bean(Limiter.class).acquire(CALL).toCompletableFuture().join();
  }

  @Test
  void aRedisThatAnswersIsShown() throws IOException {
    redis.start();
    try (HttpService server = start()) {
      HttpResponse<String> ready = readiness(server);

      assertThat(ready.statusCode()).isEqualTo(200);
      JsonNode all = JSON.readTree(ready.body()).get("details");
      assertThat(all.has("redis")).as(ready.body()).isFalse();
      assertThat(all.at("/limiter/status").asText()).isEqualTo("UP");
      assertThat(all.at("/limiter/details/redis"))
          .isEqualTo(
              JSON.readTree(
                  "{\"%s\":{\"answers\":true,\"breaker\":\"closed\"}}".formatted(name())));
      assertThat(all.at("/limiter/details/fallbacks/TIMEOUT").asLong(-1)).isZero();
    }
  }

  @Test
  void theServiceIsReadyWhileRedisIsAwayAndTheReasonIsShown() throws IOException {
    redis.start();
    try (HttpService server = start()) {
      redis.kill();
      callOnce(server);

      assertThat(readiness(server).statusCode()).isEqualTo(200);
      JsonNode limiter = indicators(server).get("limiter");
      assertThat(limiter.get("status").asText()).isEqualTo("UP");
      assertThat(limiter.at("/details/redis/" + name() + "/answers").asBoolean(true)).isFalse();
      assertThat(limiter.at("/details/redis/" + name() + "/reason").asText())
          .isEqualTo("DISCONNECTED");
      assertThat(limiter.at("/details/fallbacks/DISCONNECTED").asLong()).isEqualTo(1);
    }
  }

  @Test
  void theServiceIsReadyIfRedisWasNeverThere() throws IOException {
    try (HttpService server = start()) {
      assertThat(readiness(server).statusCode()).isEqualTo(200);
      assertThat(indicators(server).at("/limiter/details/redis/" + name() + "/reason").asText())
          .isEqualTo("DISCONNECTED");
    }
  }

  @Test
  void withoutDetailsForAnyoneOnlyTheStatusIsShown() throws IOException {
    try (HttpService server = start("endpoints.health.details-visible", "NEVER")) {
      assertThat(readiness(server).body()).isEqualTo("{\"status\":\"UP\"}");
    }
  }

  @Test
  void whereRedisIsRequiredTheServiceIsNotReadyWithoutItAndReadyAgainWithoutAnyCall() {
    redis.start();
    try (HttpService server = start("limiter.health.required", "true")) {
      awaitStatus(server, 200);

      redis.suspend();
      for (int i = 0; i < 5; i++) {
        callOnce(server); // opens the breaker
      }
      assertThat(readiness(server).statusCode()).isEqualTo(503);

      redis.resume();
      awaitStatus(server, 200);

      redis.kill();
      awaitStatus(server, 503);

      redis.start();
      awaitStatus(server, 200);
    }
  }

  @Test
  void whereRedisIsRequiredAServiceThatStartsWithoutItIsNotReady() {
    try (HttpService server = start("limiter.health.required", "true")) {
      assertThat(readiness(server).statusCode()).isEqualTo(503);
    }
  }

  @Test
  void nodesOfAClusterAreShownEachByItself() throws IOException {
    try (ClusterGroup group =
            ClusterGroup.withoutReplicas("--cluster-require-full-coverage", "no");
        HttpService server = run("redis.uris", group.uris(), "limiter.health.required", "true")) {
      awaitStatus(server, 200);
      assertThat(indicators(server).at("/limiter/details/redis"))
          .hasSize(ClusterGroup.PRIMARIES)
          .allSatisfy(node -> assertThat(node.get("answers").asBoolean()).isTrue());

      RedisProcess lost = group.servers().get(2);
      lost.kill();
      awaitStatus(server, 503);

      JsonNode nodes = indicators(server).at("/limiter/details/redis");
      assertThat(nodes.at("/Redis at 127.0.0.1:" + lost.port() + "/answers").asBoolean(true))
          .as(nodes.toString())
          .isFalse();
      RedisProcess other = group.servers().get(0);
      assertThat(nodes.at("/Redis at 127.0.0.1:" + other.port() + "/answers").asBoolean())
          .as(nodes.toString())
          .isTrue();
    }
  }

  /** A bean of an application that uses Redis itself. */
  @Singleton
  @Requires(property = "test.user", value = "CONSTRUCTOR")
  static final class Constructed {
    Constructed(BeanProvider<RedisClient> client) {}
  }

  @Singleton
  @Requires(property = "test.user", value = "FIELD")
  static final class Filled {
    @Inject BeanProvider<List<StatefulRedisConnection<String, String>>> connections;
  }

  @Singleton
  @Requires(property = "test.user", value = "SETTER")
  static final class Set {
    @Inject
    void use(RedisClient client) {}
  }

  @Factory
  @Requires(property = "test.user", value = "FACTORY")
  static final class Made {
    @Singleton
    Thread made(RedisClient client) {
      return new Thread();
    }
  }

  @ParameterizedTest
  @CsvSource({
    "test.user, CONSTRUCTOR, io.limiter.micronaut.health.HealthTest$Constructed",
    "test.user, FIELD, io.limiter.micronaut.health.HealthTest$Filled",
    "test.user, SETTER, io.limiter.micronaut.health.HealthTest$Set",
    "test.user, FACTORY, io.limiter.micronaut.health.HealthTest$Made",
    "redis.caches.tea.expire-after-write, 1h, redis.caches",
    "micronaut.session.http.redis.enabled, true, micronaut.session.http.redis.enabled"
  })
  void whereTheApplicationUsesRedisItsIndicatorStaysAndALineStatesWhatToSet(
      String property, String value, String user) throws IOException {
    try (RecordedLog log = RecordedLog.ofInfo(RedisUsers.class);
        HttpService server = start(property, value)) {
      assertThat(readiness(server).statusCode()).isEqualTo(503);
      assertThat(indicators(server).at("/redis/status").asText()).isEqualTo("DOWN");
      assertThat(indicators(server).at("/limiter/status").asText()).isEqualTo("UP");
      assertThat(log.messages())
          .containsExactly(
              "The health indicator of micronaut-redis stays enabled, since its clients are used by "
                  + user
                  + ": while Redis is unavailable the service is not ready, although the limiter continues in memory. Set redis.health.enabled to false if the service can do without Redis, otherwise to true");
    }
  }

  @Test
  void aConfiguredIndicatorIsKeptAndNotLogged() throws IOException {
    try (RecordedLog log = RecordedLog.ofInfo(RedisUsers.class)) {
      try (HttpService server = start("redis.health.enabled", "true")) {
        assertThat(readiness(server).statusCode()).isEqualTo(503);
        assertThat(indicators(server).at("/redis/status").asText()).isEqualTo("DOWN");
      }
      try (HttpService server =
          start("redis.health.enabled", "false", "test.user", "CONSTRUCTOR")) {
        assertThat(readiness(server).statusCode()).isEqualTo(200);
        assertThat(indicators(server).has("redis")).isFalse();
        assertThat(indicators(server).has("limiter")).isTrue();
      }
      assertThat(log.messages()).isEmpty();
    }
  }

  @Test
  void withoutTheIndicatorAllIsAsMicronautHasIt() throws IOException {
    try (HttpService server = start("limiter.health.enabled", "off")) {
      assertThat(readiness(server).statusCode()).isEqualTo(503);
      assertThat(indicators(server).has("limiter")).isFalse();
      assertThat(indicators(server).has("redis")).isTrue();
    }
  }

  @Test
  void withoutARedisThereIsNothingToShow() throws IOException {
    try (HttpService server = run("some.property", "some value")) {
      assertThat(readiness(server).statusCode()).isEqualTo(200);
      assertThat(indicators(server).has("limiter")).isFalse();
    }
  }

  /** Also where it has the slot that is asked. Others are not found at the port that it states. */
  @ParameterizedTest
  @ValueSource(strings = {"auto", "shared"})
  void oneNodeOfAClusterIsNamedWithTheSettingForItsNodes(String connections, @TempDir Path files)
      throws IOException {
    try (RedisProcess node =
        RedisProcess.onFreePort(
                "--cluster-enabled",
                "yes",
                "--cluster-config-file",
                files.resolve("nodes.conf").toString(),
                "--cluster-announce-port",
                "1")
            .start()) {
      try (RedisClient client = RedisClient.create(node.uri())) {
        client.connect().sync().clusterAddSlots(IntStream.range(0, 16_384).toArray());
      }
      try (HttpService server =
          run("redis.uri", node.uri(), "limiter.redis.connections", connections)) {
        await()
            .atMost(Duration.ofSeconds(20))
            .untilAsserted(
                () ->
                    assertThat(indicators(server).at("/limiter/details/warnings/0").asText())
                        .isEqualTo(
                            "Redis at 127.0.0.1:%s (%s) is one node of a Redis Cluster: name several of its nodes in redis.uris instead of redis.uri, so that each start finds one of them"
                                .formatted(node.port(), node.product())));
        assertThat(indicators(server).at("/limiter/details/redis").toString())
            .contains("\"answers\":true");
      }
    }
  }

  @Test
  void aMistypedSettingStopsTheStart() {
    assertThatThrownBy(() -> start("limiter.health.required", "perhaps").close())
        .hasStackTraceContaining("limiter.health.required = perhaps: set it to true or false");
  }
}
