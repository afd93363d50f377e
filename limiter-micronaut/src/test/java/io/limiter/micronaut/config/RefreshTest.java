// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.limiter.core.testing.RecordedLog;
import io.limiter.core.testing.RedisFixture;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.config.SettingsRefresh.SettingsShare;
import io.limiter.micronaut.testing.FileService;
import io.limiter.micronaut.testing.FileService.PausedLoader;
import io.limiter.micronaut.testing.MicronautVersion;
import io.micronaut.context.annotation.Replaces;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.env.Environment;
import io.micronaut.context.event.ApplicationEventPublisher;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.management.endpoint.annotation.Endpoint;
import io.micronaut.management.endpoint.annotation.Write;
import io.micronaut.management.endpoint.refresh.RefreshEndpoint;
import io.micronaut.runtime.context.scope.refresh.RefreshEvent;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The endpoint {@code refresh} reads real files. While it does, the environment has no settings of
 * them for a moment; limits never end by that.
 */
class RefreshTest {

  private static final String SPEC = "RefreshTest";
  private static final int ROUNDS = 60;

  private static final String LIMITS =
      """
      limiter:
        address: {trusted-proxies: [127.0.0.1, "::1"]}
        block: {addresses: [198.18.0.66]}
        policies:
          annotated: {rules: {5-per-60s: {count: %s}}}
          routed: {rules: [{count: %1$s, time: 60s}]}
        routes: [{path: /open, policy: routed}]
      """;

  @TempDir Path directory;

  @AutoClose
  private final RecordedLog refreshed =
      RecordedLog.ofInfo("io.limiter.micronaut.metadata.ConfiguredPolicies$PoliciesRefresh");

  @AutoClose private final RecordedLog fixed = RecordedLog.of(FixedSettings.class);

  @Controller
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get("/annotated")
    @RateLimiter(value = "annotated", rules = @RateRule(count = 5))
    String annotated() {
      return "ok";
    }

    @Get("/open")
    String open() {
      return "ok";
    }
  }

  @BeforeEach
  void writePausedFile() throws IOException {
    Files.writeString(directory.resolve("application.paused"), "");
    FileService.write(directory, LIMITS.formatted(3));
  }

  private FileService start(Object... more) {
    return new FileService(SPEC, directory, more);
  }

  /** What a caller sees of the limits: three responses, and the counts of both policies. */
  private static String seen(FileService service) {
    String caller = "198.18.%s.1".formatted(UUID.randomUUID().hashCode() & 255);
    return List.of("/annotated", "/open").stream()
            .map(path -> service.get(path, "X-Forwarded-For", caller))
            .map(answer -> answer.headers().firstValue("RateLimit-Policy").orElse("none"))
            .toList()
        + " "
        + service.status("/open", "X-Forwarded-For", "198.18.0.66");
  }

  private static String limits(int count) {
    return "[\"%s-per-60s\";q=%1$s;w=60, \"%1$s-per-60s\";q=%1$s;w=60] 403".formatted(count);
  }

  @Test
  void aRefreshThatOverlapsAnotherEndsNoLimit() throws Exception {
    try (FileService service = start()) {
      assertThat(seen(service)).isEqualTo(limits(3));
      service.write(LIMITS.formatted(4));
      CompletableFuture<HttpResponse<String>> first;
      CompletableFuture<HttpResponse<String>> second;
      try (var pause = PausedLoader.pause()) {
        first = service.refreshAsync();
        pause.begun().await();
        second = service.refreshAsync();
        await()
            .during(Duration.ofMillis(500))
            .until(() -> List.of(limits(3), limits(4)).contains(seen(service)));
      }
      assertThat(first.get().statusCode()).isEqualTo(200);
      assertThat(second.get().statusCode()).isEqualTo(200);
      assertThat(seen(service)).isEqualTo(limits(4));
      assertThat(fixed.messages()).isEmpty();
    }
  }

  @Test
  void aChangeOfOneSettingDuringARefreshEndsNoLimit() throws Exception {
    try (FileService service = start()) {
      CompletableFuture<HttpResponse<String>> first;
      try (var pause = PausedLoader.pause()) {
        first = service.refreshAsync();
        pause.begun().await();
        assertThat(service.bean(SettingsRefresh.class).set("annotated.observe", "true")).isEmpty();
        assertThat(seen(service)).isEqualTo(limits(3));
      }
      assertThat(first.get().statusCode()).isEqualTo(200);
      assertThat(seen(service)).isEqualTo(limits(3));
      assertThat(service.bean(PoliciesConfiguration.class).observed()).containsExactly("annotated");
    }
  }

  /** As a client of a configuration server publishes it, on its own thread. */
  @Test
  void anEventDuringARefreshWaitsForItsEnd() throws Exception {
    try (FileService service = start()) {
      CompletableFuture<HttpResponse<String>> first;
      CompletableFuture<Void> event;
      try (var pause = PausedLoader.pause()) {
        first = service.refreshAsync();
        pause.begun().await();
        event = CompletableFuture.runAsync(() -> publish(service));
        await().during(Duration.ofMillis(700)).until(() -> seen(service).equals(limits(3)));
        service.write(LIMITS.formatted(4));
      }
      first.get();
      event.get();
      assertThat(fixed.messages()).isEmpty();
      service.refresh();
      assertThat(seen(service)).isEqualTo(limits(4));
    }
  }

  private static void publish(FileService service) {
    service.context().getEventPublisher(RefreshEvent.class).publishEvent(new RefreshEvent());
  }

  @Test
  void roundsOfTwoRefreshesWhileSharedSettingsChange() throws Exception {
    String prefix = "test:" + UUID.randomUUID().toString().substring(0, 8) + ':';
    RedisClient client = RedisClient.create(RedisFixture.uri());
    try (client;
        StatefulRedisConnection<String, String> connection = client.connect();
        FileService service =
            start(
                "redis.uri",
                RedisFixture.uri(),
                "limiter.redis.key-prefix",
                prefix,
                "limiter.redis.deadline",
                "10s", // a busy machine takes longer than the default
                "limiter.redis.shared-settings.enabled",
                true,
                "limiter.redis.shared-settings.interval",
                "100ms")) {
      RedisCommands<String, String> redis = connection.sync();
      for (int round = 1; round <= ROUNDS; round++) {
        service.write(LIMITS.formatted(round));
        CompletableFuture<HttpResponse<String>> first = service.refreshAsync();
        CompletableFuture<?> shared =
            service
                .bean(SettingsShare.class)
                .set("annotated.observe", Boolean.toString(round % 2 == 0))
                .toCompletableFuture();
        CompletableFuture<HttpResponse<String>> second = service.refreshAsync();
        assertThat(first.get().statusCode()).isEqualTo(200);
        assertThat(second.get().statusCode()).isEqualTo(200);
        shared.get();

        assertThat(seen(service)).as("round %s", round).isEqualTo(limits(round));
        assertThat(service.bean(PoliciesConfiguration.class).observed())
            .isEqualTo(round % 2 == 0 ? Set.of("annotated") : Set.of());
      }
      assertThat(redis.hget(prefix + "settings", "version")).isEqualTo(String.valueOf(ROUNDS));
      redis.del(prefix + "settings");
    }
    assertThat(fixed.messages()).isEmpty();
    assertThat(refreshed.lines()).allMatch(line -> line.startsWith("INFO"));
  }

  @Test
  void aRefreshIsAnsweredWhenItHolds() {
    try (FileService service = start()) {
      for (int round = 1; round <= ROUNDS; round++) {
        service.write(LIMITS.formatted(round));
        assertThat(service.refresh().body()).contains("limiter.policies.routed.rules[0].count");
        assertThat(seen(service)).as("round %s", round).isEqualTo(limits(round));
      }
      assertThat(fixed.messages()).isEmpty();
    }
  }

  @Test
  void limitsEndWhereTheirFilesDo() throws IOException {
    try (FileService service = start()) {
      service.write("");
      service.refresh();
      assertThat(seen(service)).isEqualTo("[\"5-per-60s\";q=5;w=60, none] 200");

      service.write(LIMITS.formatted(4));
      service.refresh();
      assertThat(seen(service)).isEqualTo(limits(4));

      Files.delete(directory.resolve("application.yml"));
      service.refresh();
      assertThat(seen(service)).isEqualTo("[\"5-per-60s\";q=5;w=60, none] 200");
    }
  }

  /** Another reader has taken the changes from the endpoint, and has published none of them. */
  @Test
  void anUnchangedRefreshRepairs() {
    try (FileService service = start()) {
      service.write(LIMITS.formatted(4));
      service.bean(Environment.class).refresh();

      assertThat(service.refresh().body()).isEqualTo("[]");

      assertThat(seen(service)).isEqualTo(limits(4));
    }
  }

  @Test
  void aFileThatCannotBeReadEndsNoLimit() {
    try (FileService service = start()) {
      service.write("limiter: [");
      assertThat(service.refresh().statusCode()).isEqualTo(500);
      assertThat(seen(service)).isEqualTo(limits(3));

      var unused = service.bean(SettingsRefresh.class).set("annotated.observe", "true");
      assertThat(seen(service)).isEqualTo(limits(3));

      publish(service);
      assertThat(seen(service)).isEqualTo(limits(3));
      assertThat(refreshed.lines().get(refreshed.lines().size() - 1))
          .startsWith(MicronautVersion.either("ERROR", "INFO")) // 5 keeps the sources that it had
          .contains(MicronautVersion.either("remain unchanged", "are in effect"));

      service.write(LIMITS.formatted(3));
      assertThat(service.refresh().statusCode()).isEqualTo(200);
      service.write(LIMITS.formatted(4));
      assertThat(service.refresh().statusCode()).isEqualTo(200);
      assertThat(seen(service)).isEqualTo(limits(4));
      assertThat(fixed.messages()).isEmpty();
    }
  }

  @Endpoint("refresh")
  @Replaces(RefreshEndpoint.class)
  @Requires(property = "refresh.of-application")
  static class OfApplication extends RefreshEndpoint {

    OfApplication(Environment environment, ApplicationEventPublisher<RefreshEvent> events) {
      super(environment, events);
    }

    @Override
    @Write
    public String[] refresh(@Nullable Boolean force) {
      return new String[] {"of the application"};
    }
  }

  @Test
  void anEndpointOfTheApplicationTakesThePlaceOfOurs() {
    try (FileService service = start("refresh.of-application", true)) {
      assertThat(service.refresh().body()).isEqualTo("[\"of the application\"]");
    }
    try (FileService service = start("limiter.enabled", false)) {
      assertThat(service.refresh().body()).isEqualTo("[]");
      assertThat(service.bean(RefreshEndpoint.class)).isExactlyInstanceOf(RefreshEndpoint.class);
    }
  }

  /** The start refuses it, too. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "tiers: {pro: {free: unlimited}}",
        "policies: {free: {observe: true}}",
        "policies: {free: {code: a-code}}",
      })
  void aPolicyThatLosesItsRulesIsRefusedWhereASettingNamesIt(String rest) {
    FileService.write(directory, "limiter: {policies: {free: {rules: [{count: 2, time: 60s}]}}}");
    try (FileService service = start()) {
      service.write("limiter: {" + rest + "}");
      service.refresh();
      assertThat(refreshed.lines())
          .singleElement()
          .asString()
          .startsWith("ERROR ")
          .contains(": no policy is named 'free': ");
    }
  }
}
