// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.limiter.core.DecidedBy;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.call.LimitedCall;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The connection is fit for decisions before the first request can come. */
class StartWithRedisTest {

  private final RedisProcess redis = RedisProcess.onFreePort().start();
  private final HttpService server =
      HttpService.start(
          "StartWithRedisTest",
          Map.of(
              "redis.uri", redis.uri(),
              "limiter.redis.key-prefix", "start:",
              "limiter.redis.deadline", "5s",
              "limiter.redis.connections", "shared"));
  private final RedisClient client = RedisClient.create(redis.uri());
  private final StatefulRedisConnection<String, String> connection = client.connect();

  @AfterEach
  void close() {
    client.shutdown();
    server.close();
    redis.close();
  }

  @Test
  void scriptsAreLoadedBeforeTheFirstRequestWhichRedisDecides() {
    assertThat(stats())
        .containsPattern("cmdstat_script(\\|load)?:calls=5,")
        .doesNotContain("cmdstat_eval:");
    long before = evalshas();

    assertThat(get()).isEqualTo(DecidedBy.STORE.name());

    assertThat(evalshas()).isEqualTo(before + 1);
    assertThat(stats()).doesNotContain("cmdstat_eval:");
  }

  @Test
  void itsScriptsAreThereAfterARestartOfRedis() {
    redis.kill();
    redis.start();
    await()
        .atMost(Duration.ofSeconds(20))
        .untilAsserted(() -> assertThat(get()).isEqualTo(DecidedBy.STORE.name()));
    assertThat(submit("first").statusCode()).isEqualTo(200);
    assertThat(submit("first").statusCode()).isEqualTo(409);

    assertThat(stats()).contains("cmdstat_evalsha:").doesNotContain("cmdstat_eval:");
  }

  private HttpResponse<String> submit(String key) {
    return server.post("/submitted", "{}", "X-Order", key);
  }

  @Test
  void aServiceHasOneConnection() {
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

  private String get() {
    return server.get("/who-decided").body();
  }

  @Controller
  @Requires(property = "spec.name", value = "StartWithRedisTest")
  static class Decided {
    @Post("/submitted")
    @RateLimiter(
        header = "X-Order",
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(time = 60),
        duplicate = @Duplicate(by = DuplicateBy.CALLER, claim = "1s"))
    String submitted(@Body String order) {
      return order;
    }

    @Get(value = "/who-decided", produces = "text/plain")
    @RateRule
    String by(HttpRequest<?> request) {
      return LimitedCall.of(request).orElseThrow().verdict().decidedBy().name();
    }
  }
}
