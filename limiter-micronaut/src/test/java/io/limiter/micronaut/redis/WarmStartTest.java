// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.limiter.core.DecidedBy;
import io.limiter.core.resilience.Fallback;
import io.limiter.core.resilience.FallbackCounts;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.call.LimitedCall;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.runtime.server.EmbeddedServer;
import java.net.http.HttpClient;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The connection is fit for decisions before the first request can come. */
class WarmStartTest {

  private final RedisProcess redis = RedisProcess.onFreePort().start();
  private final EmbeddedServer server =
      ApplicationContext.run(
          EmbeddedServer.class,
          Map.of(
              "spec.name", "WarmStartTest",
              "redis.uri", redis.uri(),
              "limiter.redis.key-prefix", "warm:",
              "limiter.redis.deadline", "5s",
              "limiter.redis.connections", "shared",
              "micronaut.server.port", -1));
  private final RedisClient client = RedisClient.create(redis.uri());
  private final StatefulRedisConnection<String, String> connection = client.connect();

  @AfterEach
  void close() {
    client.shutdown();
    server.close();
    redis.close();
  }

  @Test
  void scriptsAreLoadedBeforeTheFirstRequestWhichRedisDecides() throws Exception {
    assertThat(stats())
        .containsPattern("cmdstat_script(\\|load)?:calls=3,")
        .doesNotContain("cmdstat_eval:");
    long before = evalshas();

    assertThat(get()).isEqualTo(DecidedBy.STORE.name());

    assertThat(evalshas()).isEqualTo(before + 1);
    assertThat(stats()).doesNotContain("cmdstat_eval:");
  }

  @Test
  void whatWarmsItIsGoneTwoSecondsLater() {
    List<String> keys = connection.sync().keys("*");

    assertThat(keys).isNotEmpty().allMatch(key -> key.startsWith("warm:"));
    await().atMost(Duration.ofSeconds(5)).until(() -> connection.sync().dbsize() == 0);
  }

  @Test
  void noFallbackIsCountedThatWarmsIt() {
    FallbackCounts counts = server.getApplicationContext().getBean(FallbackCounts.class);

    assertThat(Stream.of(Fallback.values()).mapToLong(counts::of)).containsOnly(0L);
  }

  @Test
  void aServiceHasOneConnection() throws Exception {
    get();

    assertThat(connection.sync().clientList().lines())
        .filteredOn(client -> !client.startsWith("id=" + connection.sync().clientId() + " "))
        .hasSize(1);
  }

  private long evalshas() {
    return stats()
        .lines()
        .filter(line -> line.startsWith("cmdstat_evalsha:"))
        .mapToLong(line -> Long.parseLong(line.replaceAll("cmdstat_evalsha:calls=(\\d+),.*", "$1")))
        .sum();
  }

  private String stats() {
    return connection.sync().info("commandstats");
  }

  private String get() throws Exception {
    return HttpClient.newHttpClient()
        .send(
            java.net.http.HttpRequest.newBuilder(server.getURI().resolve("/who-decided")).build(),
            BodyHandlers.ofString())
        .body();
  }

  @Controller
  @Requires(property = "spec.name", value = "WarmStartTest")
  static class Decided {
    @Get(value = "/who-decided", produces = "text/plain")
    @RateRule
    String by(HttpRequest<?> request) {
      return LimitedCall.of(request).orElseThrow().verdict().decidedBy().name();
    }
  }
}
