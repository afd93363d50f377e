// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.limiter.core.Source;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.plan.Ticket;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.runtime.server.EmbeddedServer;
import java.net.http.HttpClient;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Map;
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
        .contains("cmdstat_evalsha:calls=2,")
        .doesNotContain("cmdstat_eval:");

    assertThat(get()).isEqualTo(Source.STORE.name());

    assertThat(stats()).contains("cmdstat_evalsha:calls=3,").doesNotContain("cmdstat_eval:");
  }

  @Test
  void whatWarmsItTakesNothing() {
    assertThat(connection.sync().dbsize()).isZero();
  }

  @Test
  void aServiceHasOneConnection() throws Exception {
    get();

    assertThat(connection.sync().clientList().lines())
        .filteredOn(client -> !client.startsWith("id=" + connection.sync().clientId() + " "))
        .hasSize(1);
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
      return Ticket.of(request).orElseThrow().verdict().source().name();
    }
  }
}
