// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Verdict;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.HttpService;
import io.limiter.micronaut.testing.StoreDecorator;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.event.BeanCreatedEvent;
import io.micronaut.context.event.BeanCreatedEventListener;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which connections a service has, and which threads an answer passes. */
class ServerConnectionsTest {

  private static final String SPEC = "ServerConnectionsTest";

  @AutoClose private final RedisProcess redis = RedisProcess.onFreePort().start();

  @ParameterizedTest
  @CsvSource({
    "auto, 16, 3",
    "event-loop, 16, 3",
    "EVENT-LOOP, 2, 2",
    "auto, 1, 1",
    "shared, 16, 1",
  })
  void aServerHasOneForEachEventLoopUnlessItsSettingsSayOtherwise(
      String connections, int max, int expected) {
    try (HttpService server = start(connections, max)) {
      assertThat(server.context().isRunning()).isTrue();
      assertThat(clients()).isEqualTo(expected);
    }
    await().atMost(Duration.ofSeconds(5)).until(() -> clients() == 0);
  }

  @Test
  void aServiceWithoutAServerConnectsAllTheSame() {
    try (ApplicationContext context = ApplicationContext.run(settings(Map.of()))) {
      assertThat(context.isRunning()).isTrue();
      // Only a server waits for its connections before it starts.
      await().atMost(Duration.ofSeconds(5)).until(() -> clients() == 3);
    }
  }

  @Test
  void anAnswerComesOnTheEventLoopThatServesTheRequest() {
    try (HttpService server = start("auto", 16)) {
      for (int call = 0; call < 12; call++) {
        get(server);
      }
      assertThat(server.bean(Threads.class).decided)
          .hasSize(12)
          .allSatisfy(decided -> assertThat(decided.answered).isSameAs(decided.asked));
    }
  }

  /** On a connection of its own, so that all event loops get some. */
  private static void get(HttpService server) {
    assertThat(server.onNewConnection().status("/connections")).isEqualTo(200);
  }

  private HttpService start(String connections, int max) {
    return HttpService.start(
        SPEC,
        settings(
            Map.of(
                "limiter.redis.connections", connections,
                "limiter.redis.max-connections", max)));
  }

  private Map<String, Object> settings(Map<String, Object> more) {
    Map<String, Object> all = new HashMap<>(more);
    all.put("spec.name", SPEC);
    all.put("redis.uri", redis.uri());
    all.put("limiter.redis.deadline", "5s");
    all.put("limiter.redis.start-timeout", "5s");
    all.put("micronaut.netty.event-loops.default.num-threads", 3);
    return all;
  }

  /** Connections to this Redis, but the one that asks. */
  private long clients() {
    RedisClient client = RedisClient.create(redis.uri());
    try (StatefulRedisConnection<String, String> connection = client.connect()) {
      String own = "id=" + connection.sync().clientId() + " ";
      return connection.sync().clientList().lines().filter(line -> !line.startsWith(own)).count();
    } finally {
      client.shutdown();
    }
  }

  @Controller("/connections")
  @Requires(property = "spec.name", value = SPEC)
  static class Route {
    @Get
    @RateRule(count = 1_000)
    String get() {
      return "ok";
    }
  }

  record Decided(Thread asked, Thread answered) {}

  /** Notes where decisions are asked for, and where their answers come. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Threads implements BeanCreatedEventListener<LimitStore> {

    final List<Decided> decided = new CopyOnWriteArrayList<>();

    @Override
    public LimitStore onCreated(BeanCreatedEvent<LimitStore> event) {
      return new StoreDecorator(event.getBean()) {
        @Override
        public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
          Thread asked = Thread.currentThread();
          return store
              .decide(request, mode)
              .whenComplete(
                  (verdict, failure) -> {
                    if (mode == Mode.ACQUIRE) {
                      decided.add(new Decided(asked, Thread.currentThread()));
                    }
                  });
        }
      };
    }
  }
}
