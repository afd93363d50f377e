// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.micronaut.annotation.ConcurrencyLimit;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.plan.LimitPolicies;
import io.limiter.micronaut.plan.LimitedPolicy;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.env.PropertySource;
import io.micronaut.context.event.ApplicationEventPublisher;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.runtime.context.scope.refresh.RefreshEvent;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import jakarta.inject.Inject;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Settings of policies are changed while the service runs, all of them or none. */
class RefreshedLimitsTest {

  private static final String SPEC = "RefreshedLimitsTest";

  @Controller("/refreshed")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Inject ApplicationEventPublisher<RefreshEvent> events;

    final CountDownLatch leave = new CountDownLatch(1);
    final AtomicInteger inside = new AtomicInteger();

    @Get("/rule")
    @RateLimiter(value = "rule", rules = @RateRule(count = 2))
    String rule() {
      return "ok";
    }

    @Get("/argument")
    @RateLimiter(value = "argument", subject = "#{who}", rules = @RateRule(count = 2))
    String argument(@QueryValue String who) {
      return "ok";
    }

    /** Refreshes between the decision of the gate and that of the guard, on an event loop. */
    @Get("/midway")
    @RateLimiter(value = "midway", rules = @RateRule(count = 3))
    String midway() {
      events.publishEvent(new RefreshEvent());
      return "ok";
    }

    @Get("/permit")
    @RateLimiter("permit")
    @ConcurrencyLimit(1)
    @ExecuteOn(TaskExecutors.BLOCKING)
    String permit() throws InterruptedException {
      inside.incrementAndGet();
      leave.await();
      return "ok";
    }
  }

  /** A source that changes, as that of a configuration server does. */
  private final Map<String, Object> changing = new ConcurrentHashMap<>();

  @ParameterizedTest
  @ValueSource(strings = {"/refreshed/rule", "/refreshed/argument?who=a"})
  void countersGoOnWithOtherNumbers(String path) {
    String policy = path.contains("argument") ? "argument" : "rule";
    try (TestServer server = start()) {
      assertThat(server.status(path)).isEqualTo(200);
      assertThat(server.status(path)).isEqualTo(200);
      assertThat(server.status(path)).isEqualTo(429);

      set(server, "limiter.policies." + policy + ".rules.2-per-60s.count", 4);

      assertThat(field(server.get(path), "RateLimit")).startsWith("\"4-per-60s\";r=1;t=");
      assertThat(server.status(path)).isEqualTo(200);
      assertThat(server.status(path)).isEqualTo(429);

      set(server, "limiter.policies." + policy + ".rules.2-per-60s.count", 3);
      assertThat(server.status(path)).isEqualTo(429);

      set(server, "limiter.policies." + policy + ".enabled", false);
      assertThat(server.status(path)).isEqualTo(200);

      changing.clear();
      refresh(server);
      assertThat(server.status(path)).isEqualTo(429);
    }
  }

  @Test
  void aPolicyThatCodeHasFollowsTheSettings() {
    try (TestServer server = start()) {
      LimitedPolicy policy = server.bean(LimitPolicies.class).get("rule");
      assertThat(policy.limits().get(0).rules().get(0).capacity()).isEqualTo(2);

      changing.put("limiter.policies.rule.rules.2-per-60s.count", 9);
      assertThat(server.bean(LimitPolicies.class).refresh()).isTrue();

      assertThat(policy.limits().get(0).rules().get(0).capacity()).isEqualTo(9);
      assertThat(policy.configured()).hasSize(1);

      changing.put("limiter.policies.rule.rules.2-per-60s.count", 0);
      assertThat(server.bean(LimitPolicies.class).refresh()).isFalse();
      assertThat(policy.limits().get(0).rules().get(0).capacity()).isEqualTo(9);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "limiter.policies.rule.rules.2-per-60s.count = 0",
        "limiter.policies.rule.rules.2-per-61s.count = 5",
        "limiter.policies.nobodys.fallback = deny",
        "limiter.policies.rule.rules.2-per-60s.cont = 5",
        "limiter.policies.rule.rules.2-per-60s.time = ${nowhere}",
      })
  void aMistakeChangesNothing(String setting) {
    try (TestServer server = start()) {
      changing.put("limiter.policies.argument.rules.2-per-60s.count", 9);
      set(server, setting.split(" = ")[0], setting.split(" = ")[1]);

      assertThat(field(server.get("/refreshed/rule"), "RateLimit")).startsWith("\"2-per-60s\";r=1");
      assertThat(field(server.get("/refreshed/argument?who=b"), "RateLimit"))
          .startsWith("\"2-per-60s\";r=1");
    }
  }

  @Test
  void aRequestIsDecidedOnceThoughItsPlanIsReplacedMeanwhile() {
    try (TestServer server = start()) {
      changing.put("limiter.policies.midway.rules.3-per-60s.count", 2);
      assertThat(field(server.get("/refreshed/midway"), "RateLimit"))
          .startsWith("\"3-per-60s\";r=2");
      await().until(() -> server.bean(LimitPolicies.class).get("midway").configured().size() == 1);
      assertThat(field(server.get("/refreshed/midway"), "RateLimit"))
          .startsWith("\"2-per-60s\";r=0");
    }
  }

  @Test
  void aCallInFlightFreesItsPermit() throws Exception {
    try (TestServer server = start()) {
      Routes routes = server.bean(Routes.class);
      CompletableFuture<Integer> first =
          CompletableFuture.supplyAsync(() -> server.status("/refreshed/permit"));
      await().until(() -> routes.inside.get() == 1);
      assertThat(server.status("/refreshed/permit")).isEqualTo(429);

      set(server, "limiter.policies.permit.rules.1-in-flight.count", 2);
      CompletableFuture<Integer> second =
          CompletableFuture.supplyAsync(() -> server.status("/refreshed/permit"));
      await().until(() -> routes.inside.get() == 2);
      assertThat(server.status("/refreshed/permit")).isEqualTo(429);
      routes.leave.countDown();
      assertThat(first.get()).isEqualTo(200);
      assertThat(second.get()).isEqualTo(200);

      changing.clear();
      refresh(server);
      await().until(() -> server.status("/refreshed/permit") == 200);
    }
  }

  private TestServer start() {
    TestServer server = TestServer.start(SPEC);
    server
        .context()
        .getEnvironment()
        .addPropertySource(PropertySource.of("changing", changing, 1_000));
    return server;
  }

  private void set(TestServer server, String key, Object value) {
    changing.put(key, value);
    refresh(server);
  }

  private static void refresh(TestServer server) {
    server.context().getEventPublisher(RefreshEvent.class).publishEvent(new RefreshEvent());
  }
}
