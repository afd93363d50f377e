// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import io.limiter.core.redis.ConnectionSource;
import io.limiter.core.testing.RecordedLog;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Replaces;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.net.URL;
import java.time.Duration;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The log of a start states where limits are counted, before any request. */
class StartLinesTest {

  private static final String ALONE =
      "WARN Neither redis.uri nor redis.uris is set: each instance of this service counts separately";

  @AutoClose private final RecordedLog log = RecordedLog.ofInfo("io.limiter");

  @Test
  void withoutARedisThatEachInstanceCountsForItself() {
    try (ApplicationContext context = ApplicationContext.run(Map.of("spec.name", "none"))) {
      assertThat(context.isRunning()).isTrue();
      assertThat(log.lines()).containsOnlyOnce(ALONE);
    }
  }

  /** Micronaut leaves out a file that it cannot read, with the address of Redis in it. */
  @Test
  void aFileThatIsNotReadForWantOfSnakeyamlIsNamed() {
    ClassLoader without =
        new ClassLoader(getClass().getClassLoader()) {
          @Override
          protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.startsWith("org.yaml.")) {
              throw new ClassNotFoundException(name);
            }
            return super.loadClass(name, resolve);
          }

          @Override
          public @Nullable URL getResource(String name) {
            return super.getResource(name.equals("application.yml") ? "logback-test.xml" : name);
          }
        };
    try (ApplicationContext context =
        ApplicationContext.builder()
            .classLoader(without)
            .properties(Map.of("spec.name", "none"))
            .start()) {
      assertThat(context.isRunning()).isTrue();
      assertThat(log.lines())
          .containsOnlyOnce(
              ALONE
                  + ". application.yml is not read: add the dependency org.yaml:snakeyaml, or write application.properties");
    }
  }

  @Test
  void aDisabledRedisIsNotConnectedToAndTheStartWarns() {
    try (ApplicationContext context =
        ApplicationContext.run(
            Map.of(
                "spec.name",
                "none",
                "redis.uri",
                "redis://127.0.0.1:1",
                "limiter.redis.enabled",
                "Off"))) {
      assertThat(context.containsBean(ConnectionSource.class)).isFalse();
      assertThat(log.lines())
          .containsOnlyOnce(
              "WARN limiter.redis.enabled is false: each instance of this service counts separately")
          .noneMatch(line -> line.contains("redis.uri"));
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = "StartLinesTest.own")
  @Replaces(value = LimitStore.class, factory = LimitStoreFactory.class)
  static class OwnStore implements LimitStore {
    @Override
    public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
      return CompletableFuture.completedFuture(Verdict.free(request.policy()));
    }

    @Override
    public CompletionStage<Void> reset(Collection<StateKey> keys) {
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public void close() {}
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whereAnotherStoreCountsItDoesNotWarn(boolean redis) {
    try (ApplicationContext context =
        ApplicationContext.run(
            Map.of("spec.name", "StartLinesTest.own", "limiter.redis.enabled", redis))) {
      assertThat(context.getBean(LimitStore.class)).isInstanceOf(OwnStore.class);
      assertThat(log.lines()).noneMatch(line -> line.contains("counts separately"));
    }
  }

  @Test
  void aWordThatIsNeitherOnNorOffStopsTheStart() {
    assertThatThrownBy(
            () -> ApplicationContext.run(Map.of("limiter.redis.enabled", "perhaps")).close())
        .hasStackTraceContaining("limiter.redis.enabled = perhaps: set it to true or false");
  }

  @ParameterizedTest
  @CsvSource({
    "redis.uri, localhost:6379, localhost:6379, redis://localhost:6379",
    "redis.uri, 10.0.0.1:6379, 10.0.0.1:6379, redis://10.0.0.1:6379",
    "redis.uri, localhost, localhost, redis://localhost:6379",
    "redis.uri, http://cache:6379, http://cache:6379, redis://localhost:6379",
    "redis.uri, ann:s3cret@cache:6379, ***@cache:6379, redis://localhost:6379",
    "redis.uri, redis://ann:s3cret@ca che, redis://***@ca che, redis://localhost:6379",
    "redis.uri, redis://ann:s3@cret@a b, redis://***@a b, redis://localhost:6379",
    "redis.uri, 'redis://ann:s3\ncret@cache', redis://***@cache, redis://localhost:6379",
    "redis.uri, ann:s3cret, ***, redis://localhost:6379",
    "redis.uris, 'redis://a:1,b:2', b:2, redis://b:2",
    "redis.uris[1], b:2, b:2, redis://b:2",
  })
  void anAddressThatRedisCannotHaveStopsTheStart(
      String setting, String value, String shown, String remedy) {
    Map<String, Object> settings =
        setting.endsWith("]")
            ? Map.of("redis.uris[0]", "redis://a:1", setting, value)
            : Map.of(setting, value);
    String name = setting.equals("redis.uris") ? "redis.uris[1]" : setting;

    assertThat(Starts.mistake(settings))
        .hasMessage(
            "%s = %s: this is not the address of a Redis: write its scheme, host and port, such as %s, or rediss:// for TLS",
            name, shown, remedy)
        .hasNoCause();
  }

  @ParameterizedTest
  @CsvSource({
    "redis.uri, redis://my_redis:6379, redis://my_redis:6379: a host in an address has letters",
    "redis.uri, rediss://ann:s3cret@my_redis:6379/3, rediss://***@my_redis:6379/3: a host in",
    "redis.uri, redis://ann:s3#cret@cache:6379, redis://***@cache:6379: its host would have a colon",
    "redis.uri, redis://ann:s3?cret@cache:6379, redis://***@cache:6379: its host would have a colon",
    "redis.uri, redis://:s3cret, redis://***: its host would have a colon",
    "redis.uri, redis://ann:s3cret@cache:port, redis://***@cache:port: its host would have a colon",
    "redis.uris[0], redis://a:1/3, redis://a:1/3: a Redis Cluster has no database 3: remove the number",
    "redis.uris[0], redis://a:1?database=3, redis://a:1?database=3: a Redis Cluster has no database 3",
  })
  void anAddressThatWouldBeReadOtherwiseStopsTheStart(
      String setting, String value, String mistake) {
    assertThat(Starts.mistake(Map.of(setting, value)))
        .hasMessageStartingWith(setting + " = " + mistake)
        .hasNoCause();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "redis://[2001:db8::1]:6379",
        "redis://cache.shop.svc.cluster.local:6379/3",
        "redis-socket:///tmp/redis.sock",
        "redis-sentinel://a:26379,b:26379/0#main",
        "redis://cache"
      })
  void otherAddressesDoNot(String uri) {
    try (ApplicationContext context =
        ApplicationContext.run(
            Map.of("spec.name", "none", "limiter.redis.start-timeout", "0s", "redis.uri", uri))) {
      assertThat(context.isRunning()).isTrue();
    }
  }

  @Test
  void nothingWhereTheLimiterIsSwitchedOff() {
    try (ApplicationContext context = ApplicationContext.run(Map.of("limiter.enabled", false))) {
      assertThat(context.isRunning()).isTrue();
      assertThat(log.lines()).isEmpty();
    }
  }

  @Test
  void aStartNamesItsRedisAndHowItConnectsToIt() {
    try (RedisProcess redis = RedisProcess.onFreePort().start();
        ApplicationContext context =
            ApplicationContext.run(
                Map.of(
                    "spec.name",
                    "none",
                    "redis.uri",
                    "redis://127.0.0.1:%s/3?clientName=s3cret".formatted(redis.port()),
                    "limiter.redis.start-timeout",
                    "10s",
                    "micronaut.netty.event-loops.default.num-threads",
                    2))) {
      assertThat(context.isRunning()).isTrue();
      await()
          .atMost(Duration.ofSeconds(10))
          .until(() -> log.lines().stream().anyMatch(line -> line.contains("Connected to")));
      assertThat(log.lines())
          .containsOnlyOnce(
              "INFO Connected to Redis at 127.0.0.1:%s: stand-alone, 2 connections, each on an event loop of its own"
                  .formatted(redis.port()))
          .doesNotContain(ALONE);
      assertThat(String.join("\n", log.lines())).doesNotContain("s3cret");
    }
  }

  /** Settings of micronaut-redis that do not name a Redis do not make the limiter look for one. */
  @ParameterizedTest
  @CsvSource({
    "redis.timeout, 5s",
    "redis.health.enabled, false",
    "redis.client-name, shop",
    "redis.servers.a.uri, redis://127.0.0.1:6379",
    "redis.service.host, 10.0.0.11",
    "redis.port.6379.tcp, tcp://10.0.0.11:6379",
    "redis.uris.service.host, 10.0.0.11",
    "redis.sentinels.port, tcp://10.0.0.11:26379",
    "redis.sentinels[0], redis://127.0.0.1:26379",
    "redis.sentinel-master-id, limits",
  })
  void aStartWithoutAnAddressCountsInMemory(String setting, String value) {
    try (ApplicationContext context =
        ApplicationContext.run(Map.of("spec.name", "none", setting, value))) {
      assertThat(context.findBean(ConnectionSource.class)).isEmpty();
      assertThat(log.lines().stream().filter(line -> line.startsWith(ALONE)))
          .singleElement()
          .isEqualTo(
              setting.startsWith("redis.servers")
                  ? ALONE + ". The limiter does not use the servers under redis.servers"
                  : ALONE);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "redis.host, 127.0.0.1",
    "redis.port, 6390",
    "redis.uris[0], redis://127.0.0.1:6390",
  })
  void aStartWithAnAddressCountsInRedis(String setting, String value) {
    try (ApplicationContext context =
        ApplicationContext.run(
            Map.of("spec.name", "none", "limiter.redis.start-timeout", "0s", setting, value))) {
      assertThat(context.findBean(ConnectionSource.class)).isPresent();
      assertThat(log.lines()).doesNotContain(ALONE);
    }
  }
}
