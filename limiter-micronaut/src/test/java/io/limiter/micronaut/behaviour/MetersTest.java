// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.FailureReason;
import io.limiter.core.Fallback;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.outage.FallbackCounts;
import io.limiter.core.outage.FallbackStore;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.annotation.ConcurrencyLimit;
import io.limiter.micronaut.annotation.LeakyBucket;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.call.AdmissionControl.VerdictListener;
import io.limiter.micronaut.call.ArrivingCall;
import io.limiter.micronaut.call.LimitedCall;
import io.limiter.micronaut.event.LimiterEvent.CallDenied;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlanRegistry;
import io.limiter.micronaut.plan.PolicyPlan;
import io.limiter.micronaut.subject.SubjectSource;
import io.limiter.micronaut.testing.HttpService;
import io.limiter.micronaut.thread.CallerThreads.CallContext;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.runtime.event.annotation.EventListener;
import jakarta.inject.Singleton;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The meters {@code limiter.*}, each after calls over HTTP. */
class MetersTest {

  private static final String SPEC = "MetersTest";
  private static final String SLOW = "MetersTest.slow";

  private static final Duration PATIENCE = Duration.ofSeconds(30);

  @Controller("/meters")
  @Requires(property = "spec.name", pattern = "MetersTest.*")
  static class Routes {

    final CompletableFuture<String> result = new CompletableFuture<>();

    @Get("/limited")
    @RateLimiter(
        value = "search",
        rules = {@RateRule(count = 1), @RateRule(count = 5, time = 10)})
    String limited() {
      return "ok";
    }

    @Get("/argument")
    @RateLimiter(value = "argument", subject = "#{who}", rules = @RateRule(count = 1))
    String argument(@QueryValue String who) {
      return "ok";
    }

    @Get("/in-flight")
    @ConcurrencyLimit(5)
    CompletionStage<String> inFlight() {
      return result;
    }

    @Get("/waiting")
    @RateRule(count = 1, time = 60, leakyBucket = @LeakyBucket(queue = 1))
    String waiting() {
      return "ok";
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SLOW)
  static class SlowEars {

    private final CountDownLatch end = new CountDownLatch(1);

    @EventListener
    void onDenied(CallDenied event) throws InterruptedException {
      end.await();
    }
  }

  private static TestServer start(Object... settings) {
    return startAs(SPEC, settings);
  }

  private static TestServer startAs(String specification, Object... settings) {
    Map<String, Object> all = HttpService.settings("micronaut.metrics.enabled", true);
    all.putAll(HttpService.settings(settings));
    return TestServer.start(specification, all);
  }

  /** The values of a meter, by the values of its tags in the order of their names. */
  private static Map<String, Long> values(TestServer server, String name) {
    return server.bean(MeterRegistry.class).find(name).meters().stream()
        .collect(Collectors.toMap(MetersTest::tags, MetersTest::value));
  }

  private static String tags(Meter meter) {
    return meter.getId().getTags().stream()
        .map(tag -> tag.getValue())
        .collect(Collectors.joining(" "));
  }

  /** The first value: of a timer, how often. */
  private static long value(Meter meter) {
    return (long) meter.measure().iterator().next().getValue();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void decisionsAreCountedByPolicyRuleOutcomeAndWhoDecided(boolean gate) {
    try (TestServer server =
        start("limiter.gate.enabled", gate, "limiter.deny-cache.enabled", true)) {
      for (int i = 0; i < 4; i++) {
        server.status("/meters/limited");
      }
      server.status("/meters/argument?who=ada");
      server.status("/meters/argument?who=ada");

      assertThat(values(server, "limiter.decisions"))
          .containsExactlyInAnyOrderEntriesOf(
              Map.of(
                  "store allowed search none", 1L,
                  "store limited search 1-per-60s", 1L,
                  "deny_cache limited search 1-per-60s", 2L,
                  "store allowed argument none", 1L,
                  "store limited argument 1-per-60s", 1L));
    }
  }

  @Test
  void noTagContainsASubject() {
    try (TestServer server = start()) {
      server.status("/meters/argument?who=ada");
      server.status("/meters/argument?who=ada");
      server.status("/meters/limited");

      List<String> tags =
          server.bean(MeterRegistry.class).getMeters().stream()
              .filter(meter -> meter.getId().getName().startsWith("limiter."))
              .flatMap(meter -> meter.getId().getTags().stream())
              .filter(tag -> !tag.getKey().equals("node"))
              .map(tag -> tag.getValue())
              .toList();
      assertThat(tags).isNotEmpty().noneMatch(tag -> tag.contains("ada") || tag.contains("127.0"));
    }
  }

  @Test
  void theTimeOfEachDecisionOfRedisIsTaken() {
    try (TestServer server = start("limiter.deny-cache.enabled", false)) {
      for (int i = 0; i < 3; i++) {
        server.status("/meters/limited");
      }

      assertThat(values(server, "limiter.store")).containsExactly(Map.entry("decided", 3L));
      assertThat(
              server
                  .bean(MeterRegistry.class)
                  .get("limiter.store")
                  .timer()
                  .totalTime(TimeUnit.NANOSECONDS))
          .isPositive();
      assertThat(
              server
                  .bean(MeterRegistry.class)
                  .get("limiter.store")
                  .timer()
                  .takeSnapshot()
                  .histogramCounts())
          .extracting(bucket -> bucket.bucket(TimeUnit.MILLISECONDS))
          .containsExactly(0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 1_000.0);
    }
  }

  @Test
  void aRedisThatIsAwayIsSeenInFallbacksTimesAndItsBreaker() {
    try (RedisProcess redis = RedisProcess.onFreePort().start();
        TestServer server =
            start(
                "redis.uri",
                redis.uri(),
                "limiter.redis.deadline",
                "200ms",
                "limiter.deny-cache.enabled",
                false)) {
      String node = "Redis at 127.0.0.1:" + redis.port();
      server.status("/meters/limited");
      assertThat(values(server, "limiter.breaker")).containsExactly(Map.entry(node, 0L));
      assertThat(values(server, "limiter.fallback").values()).containsOnly(0L);

      redis.suspend();
      await()
          .atMost(PATIENCE)
          .until(
              () -> {
                server.status("/meters/limited");
                return values(server, "limiter.breaker").get(node) == 1;
              });

      assertThat(values(server, "limiter.fallback").get("timeout")).isGreaterThanOrEqualTo(5);
      assertThat(values(server, "limiter.store").get("timeout"))
          .isEqualTo(values(server, "limiter.fallback").get("timeout"));
      assertThat(values(server, "limiter.decisions"))
          .containsKey("fallback limited search 1-per-60s");
      redis.resume();
      await()
          .atMost(PATIENCE)
          .until(
              () -> {
                server.status("/meters/limited");
                return values(server, "limiter.breaker").get(node) == 0;
              });
    }
  }

  /** A store whose process is late. */
  private static final LimitStore LATE =
      new LimitStore() {
        @Override
        public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
          return CompletableFuture.failedFuture(
              new StoreException(FailureReason.PROCESS_LATE, "late", null));
        }

        @Override
        public CompletionStage<Void> reset(Collection<StateKey> keys) {
          return CompletableFuture.completedFuture(null);
        }

        @Override
        public void close() {}
      };

  @Test
  void aLateProcessIsCounted() {
    try (TestServer server = start()) {
      LimitRequest call =
          LimitRequest.of(
              Policy.of("late", SlidingWindowLogRule.of(1, Duration.ofHours(1))),
              new Subject("user", "ada"));
      new FallbackStore(
              LATE, new MemoryStore(), policy -> Fallback.LOCAL, server.bean(FallbackCounts.class))
          .decide(call, Mode.ACQUIRE);

      assertThat(values(server, "limiter.process.late")).containsExactly(Map.entry("", 1L));
    }
  }

  @Test
  void theSizeOfTheDenyCacheIsAGauge() {
    try (TestServer server = start("limiter.deny-cache.enabled", true)) {
      assertThat(values(server, "limiter.deny.cache")).containsExactly(Map.entry("", 0L));
      server.status("/meters/limited");
      server.status("/meters/limited");

      assertThat(values(server, "limiter.deny.cache")).containsExactly(Map.entry("", 1L));
    }
  }

  @Test
  void callsThatHoldPermitsAreInFlight() {
    try (TestServer server = start()) {
      Routes routes = server.bean(Routes.class);
      List<CompletableFuture<HttpResponse<String>>> calls =
          Stream.of(1, 2).map(i -> server.getAsync("/meters/in-flight")).toList();
      await().atMost(PATIENCE).until(() -> values(server, "limiter.in.flight").get("") == 2);

      routes.result.complete("ok");

      calls.forEach(call -> assertThat(call.join().statusCode()).isEqualTo(200));
      assertThat(values(server, "limiter.in.flight")).containsExactly(Map.entry("", 0L));
    }
  }

  @Test
  void callsThatWaitForTheirTurnAreWaiting() {
    try (TestServer server = start()) {
      assertThat(server.status("/meters/waiting")).isEqualTo(200);
      assertThat(values(server, "limiter.waiting")).containsExactly(Map.entry("", 0L));

      CompletableFuture<HttpResponse<String>> later = server.getAsync("/meters/waiting");

      await().atMost(PATIENCE).until(() -> values(server, "limiter.waiting").get("") == 1);
      assertThat(later).isNotDone();
    }
  }

  @Test
  void callsThatAnObservedPolicyWouldDenyAreCounted() {
    try (TestServer server = start("limiter.policies.search.observe", true)) {
      for (int i = 0; i < 3; i++) {
        assertThat(server.status("/meters/limited")).isEqualTo(200);
      }

      assertThat(values(server, "limiter.observed"))
          .containsExactly(Map.entry("search 1-per-60s", 2L));
      assertThat(values(server, "limiter.decisions"))
          .containsExactly(Map.entry("store allowed search none", 3L));
    }
  }

  @Test
  void droppedEventsAreCounted() {
    try (TestServer server = startAs(SLOW, "limiter.events.queue-size", 1)) {
      for (int i = 0; i < 4; i++) {
        server.status("/meters/limited");
      }

      assertThat(values(server, "limiter.events.dropped")).containsExactly(Map.entry("", 2L));
      server.bean(SlowEars.class).end.countDown();
    }
  }

  @Test
  void beyondAThousandPoliciesAndAHundredRulesTagsAreOther() {
    try (TestServer server = start()) {
      LimitPlan plan =
          server.context().getBeanDefinition(Routes.class).getExecutableMethods().stream()
              .filter(method -> method.getMethodName().equals("limited"))
              .findFirst()
              .flatMap(server.bean(PlanRegistry.class)::of)
              .orElseThrow();
      for (int i = 1; i <= 1_002; i++) {
        SlidingWindowLogRule rule = SlidingWindowLogRule.of(1, Duration.ofSeconds(i));
        decide(server, plan, Verdict.of(Policy.of("policy-" + i, rule), Outcome.ALLOWED).build());
        decide(
            server,
            plan,
            Verdict.of(Policy.of("policy-1", rule), Outcome.LIMITED)
                .rules(List.of(RuleVerdict.of(rule).violatedFor(Duration.ofSeconds(1)).build()))
                .build());
      }

      Map<String, Long> values = values(server, "limiter.decisions");
      assertThat(values)
          .hasSize(1_001 + 101)
          .containsEntry("store allowed policy-1000 none", 1L)
          .containsEntry("store allowed other none", 2L)
          .containsEntry("store limited policy-1 1-per-100s", 1L)
          .containsEntry("store limited policy-1 other", 902L);
    }
  }

  private static void decide(TestServer server, LimitPlan like, Verdict verdict) {
    PolicyPlan own = like.policies().get(0);
    LimitPlan plan =
        LimitPlan.of(
            verdict.policy().name(),
            List.of(
                new PolicyPlan(
                    verdict.policy().name(),
                    own.charges(),
                    own.duplicates(),
                    own.texts(),
                    own.codeNames(),
                    own.failure(),
                    false,
                    Optional.empty(),
                    Optional.empty(),
                    Map.of(),
                    own.log())),
            true,
            false,
            false);
    server
        .context()
        .getBeansOfType(VerdictListener.class)
        .forEach(listener -> listener.decided(new Decided(plan), verdict));
  }

  /** A call of which listeners see the plan alone. */
  private static final class Decided extends ArrivingCall<Void> {

    Decided(LimitPlan plan) {
      super(plan, Optional.empty(), CallContext.NONE);
    }

    @Override
    public Subject subject(SubjectSource source) {
      throw new UnsupportedOperationException();
    }

    @Override
    protected void decided(LimitedCall decided) {
      throw new UnsupportedOperationException();
    }

    @Override
    protected Void proceed(LimitedCall admitted) {
      throw new UnsupportedOperationException();
    }

    @Override
    protected Void deny(LimitDeniedException denial) {
      throw new UnsupportedOperationException();
    }
  }

  @Test
  void theSettingSwitchesAllOfThemOff() {
    try (TestServer server = start("limiter.metrics.enabled", false)) {
      server.status("/meters/limited");

      assertThat(server.bean(MeterRegistry.class).getMeters())
          .noneMatch(meter -> meter.getId().getName().startsWith("limiter."));
    }
  }
}
