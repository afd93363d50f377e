// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.Tiers;
import io.limiter.micronaut.plan.LimitPolicies;
import io.limiter.micronaut.testing.Sources;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.env.PropertySource;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import jakarta.inject.Singleton;
import java.net.http.HttpResponse;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Policies with a lease, on two instances over Redis, under many calls of one subject. */
class LeaseTest {

  private static final String SPEC = "LeaseTest";

  /** What Redis admits of one subject in a minute: less than the test sends. */
  private static final int COUNT = 1_000;

  private static final int CALLS = 2_000;

  /** Calls that wait for their answers at once: enough for a lease on a slow machine. */
  private static final int AT_ONCE = 32;

  private static final String SETTINGS =
      """
      limiter:
        policies:
          routed: {lease: 1s, rules: [{count: 1000, time: 60s}]}
        routes:
          - {path: "/leased/routed", policy: routed}
          - {path: "/leased/both", policy: routed}
        tier-lookup: {headers: [X-Tier]}
        tiers:
          gold:
            log: {rules: {1000-per-60s: {count: 5000}}}
      """;

  @Controller("/leased")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get("/log")
    @RateLimiter(value = "log", lease = "1s", rules = @RateRule(count = COUNT))
    String log() {
      return "log";
    }

    @Get("/fixed")
    @RateLimiter(
        value = "fixed",
        lease = "${leased.fixed:1s}",
        rules = @RateRule(count = COUNT, algorithm = Algorithm.FIXED_WINDOW))
    String fixed() {
      return "fixed";
    }

    /** A rule of the address, decided before the body, and one of the item. */
    @Post("/items")
    @RateLimiter(value = "items", lease = "1s", early = true)
    @RateRule(count = COUNT)
    @RateRule(count = COUNT, subject = "#{order.get('item')}")
    String items(@Body Map<String, String> order) {
      return "items";
    }

    /** Its rule has the name of that of the path, so one of them is renamed. */
    @Get("/both")
    @RateLimiter(value = "both", lease = "500ms", rules = @RateRule(count = COUNT))
    String both() {
      return "both";
    }

    @Get("/observed")
    @RateLimiter(value = "observed", lease = "1s", rules = @RateRule(count = COUNT))
    String observed() {
      return "observed";
    }

    @Get("/plain")
    @RateLimiter(value = "plain", rules = @RateRule(count = 10_000))
    String plain() {
      return "plain";
    }

    @Get("/routed")
    String routed() {
      return "routed";
    }
  }

  /** The tier that a caller states. */
  @Singleton
  @Requires(property = "limiter.tier-lookup.headers")
  @Requires(property = "spec.name", value = SPEC)
  static class StatedTiers implements Tiers {

    @Override
    public CompletionStage<String> of(HttpRequest<?> request) {
      return CompletableFuture.completedFuture(request.getHeaders().get("X-Tier"));
    }
  }

  private final String prefix = "leases:" + UUID.randomUUID().toString().substring(0, 8) + ':';

  /** An instance; all of them count together. */
  private TestServer start(Map<String, Object> more) {
    Map<String, Object> settings = new HashMap<>(more);
    settings.put("limiter.redis.key-prefix", prefix);
    settings.put("limiter.headers.debug", true);
    settings.put("micronaut.metrics.enabled", true);
    return TestServer.start(SPEC, settings);
  }

  /** Sends calls, some at once. Returns the answers. */
  private static List<HttpResponse<String>> send(
      int calls, IntFunction<CompletableFuture<HttpResponse<String>>> call) {
    Semaphore free = new Semaphore(AT_ONCE);
    ConcurrentLinkedQueue<HttpResponse<String>> answers = new ConcurrentLinkedQueue<>();
    for (int i = 0; i < calls; i++) {
      free.acquireUninterruptibly();
      call.apply(i)
          .whenComplete(
              (answer, failure) -> {
                if (answer != null) {
                  answers.add(answer);
                }
                free.release();
              });
    }
    free.acquireUninterruptibly(AT_ONCE);
    assertThat(answers).hasSize(calls);
    return List.copyOf(answers);
  }

  private static List<HttpResponse<String>> send(int calls, TestServer server, String path) {
    return send(calls, i -> server.getAsync(path));
  }

  private static long admitted(List<HttpResponse<String>> answers) {
    return answers.stream().filter(answer -> answer.statusCode() == 200).count();
  }

  /** How many calls each decider has decided. */
  private static Map<String, Long> deciders(List<HttpResponse<String>> answers) {
    return answers.stream()
        .map(answer -> field(answer, "X-Decided-By"))
        .collect(Collectors.groupingBy(Function.identity(), Collectors.counting()));
  }

  @ParameterizedTest
  @ValueSource(strings = {"log", "fixed", "routed"})
  void instancesTogetherAdmitNoMoreThanTheCount(String policy) {
    try (TestServer one = start(Sources.yaml(SETTINGS));
        TestServer other = start(Sources.yaml(SETTINGS))) {
      List<HttpResponse<String>> answers =
          send(CALLS, i -> (i % 2 == 0 ? one : other).getAsync("/leased/" + policy));

      assertThat(admitted(answers)).isBetween(COUNT / 2L, (long) COUNT);
      Map<String, Long> deciders = deciders(answers);
      assertThat(deciders).containsKeys("LEASE", "STORE").doesNotContainKey("FALLBACK");
      assertThat(counted(one, policy) + counted(other, policy))
          .isEqualTo(deciders.get("LEASE").doubleValue());
      double spent = deciders.get("LEASE").doubleValue();
      assertThat(units(one, "granted") + units(other, "granted")).isGreaterThanOrEqualTo(spent);
      assertThat(units(one, "spent") + units(other, "spent")).isLessThanOrEqualTo(spent);
      assertThat(units(one, "spent") + units(one, "returned") + units(one, "expired"))
          .isLessThanOrEqualTo(units(one, "granted"));

      HttpResponse<String> denied = one.get("/leased/" + policy);
      assertThat(denied.statusCode()).isEqualTo(429);
      assertThat(field(denied, "Retry-After")).matches("[1-6]?\\d");
      assertThat(denied.body()).contains("Too many requests, try again later");
      assertThat(field(denied, "X-Decided-By")).isIn("STORE", "DENY_CACHE");
    }
  }

  /** What the meter has counted as admitted by leases. */
  private static double counted(TestServer server, String policy) {
    return server
        .bean(MeterRegistry.class)
        .find("limiter.decisions")
        .tags("policy", policy, "outcome", "allowed", "decided.by", "lease")
        .counters()
        .stream()
        .mapToDouble(Counter::count)
        .sum();
  }

  /** A deployment costs no units. */
  @Test
  void anInstanceThatStopsGivesItsUnitsBack() {
    try (TestServer other = start(Map.of())) {
      long admitted;
      try (TestServer one = start(Map.of())) {
        List<HttpResponse<String>> answers = send(COUNT / 4, one, "/leased/fixed");
        assertThat(deciders(answers)).containsKey("LEASE");
        admitted = admitted(answers);
      }

      assertThat(field(other.get("/leased/fixed"), "RateLimit"))
          .contains("r=" + (COUNT - admitted - 1) + ";");
    }
  }

  private static double units(TestServer server, String state) {
    return server
        .bean(MeterRegistry.class)
        .get("limiter.lease.units")
        .tag("state", state)
        .functionCounter()
        .count();
  }

  @Test
  void aCallUnderTwoPoliciesSpendsTheLeasesOfBoth() {
    try (TestServer server = start(Sources.yaml(SETTINGS))) {
      List<HttpResponse<String>> answers = send(CALLS, server, "/leased/both");

      assertThat(admitted(answers)).isBetween(COUNT / 2L, (long) COUNT);
      assertThat(deciders(answers)).containsKeys("LEASE", "STORE");
    }
  }

  @Test
  void bothDecisionsOfACallSpendLeases() {
    try (TestServer server = start(Map.of())) {
      List<HttpResponse<String>> answers =
          send(CALLS, i -> server.postAsync("/leased/items", "{\"item\":\"a\"}"));

      assertThat(admitted(answers)).isBetween(COUNT / 2L, (long) COUNT);
      assertThat(deciders(answers)).containsKeys("LEASE", "STORE");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"plain", "observed"})
  void withoutALeaseAndWhereItIsObservedRedisDecides(String path) {
    try (TestServer server = start(Map.of("limiter.policies.observed.observe", true))) {
      assertThat(deciders(send(COUNT / 2, server, "/leased/" + path))).containsOnlyKeys("STORE");
    }
  }

  @Test
  void theRulesOfATierHaveTheLeaseOfTheirPolicy() {
    try (TestServer server = start(Sources.yaml(SETTINGS))) {
      List<HttpResponse<String>> answers =
          send(CALLS, i -> server.getAsync("/leased/log", "X-Tier", "gold"));

      assertThat(admitted(answers)).isEqualTo(CALLS);
      assertThat(deciders(answers)).containsKey("LEASE");
    }
  }

  @Test
  void settingsSwitchALeaseOnAndOffWhileTheServiceRuns() {
    Map<String, Object> changing = new ConcurrentHashMap<>();
    try (TestServer server = start(Map.of())) {
      server
          .context()
          .getEnvironment()
          .addPropertySource(PropertySource.of("changing", changing, 1_000));
      LimitPolicies policies = server.bean(LimitPolicies.class);

      changing.put("limiter.policies.plain.lease", "1s");
      changing.put("limiter.policies.log.lease", "0s");
      assertThat(policies.refresh()).isTrue();
      assertThat(deciders(send(COUNT / 2, server, "/leased/plain"))).containsKey("LEASE");
      assertThat(deciders(send(COUNT / 2, server, "/leased/log"))).containsOnlyKeys("STORE");

      changing.put("limiter.policies.plain.lease", "5ms");
      assertThat(policies.refresh()).isFalse();
      assertThat(deciders(send(COUNT / 2, server, "/leased/plain"))).containsKey("LEASE");

      changing.clear();
      assertThat(policies.refresh()).isTrue();
      assertThat(deciders(send(COUNT / 2, server, "/leased/plain"))).containsOnlyKeys("STORE");
    }
  }
}
