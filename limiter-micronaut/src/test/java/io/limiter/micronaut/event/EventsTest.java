// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.event;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.Outcome;
import io.limiter.core.Verdict;
import io.limiter.core.rule.Rule;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.annotation.Ban;
import io.limiter.micronaut.annotation.PreventDuplicate;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.event.LimiterEvent.CallDenied;
import io.limiter.micronaut.event.LimiterEvent.CallerBanned;
import io.limiter.micronaut.event.LimiterEvent.DuplicateDenied;
import io.limiter.micronaut.event.LimiterEvent.PolicyChanged;
import io.limiter.micronaut.event.LimiterEvent.StoreBack;
import io.limiter.micronaut.event.LimiterEvent.StoreLost;
import io.limiter.micronaut.plan.LimitPolicies;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.env.PropertySource;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.runtime.event.annotation.EventListener;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** What happens in the limiter is an application event, and a denial is a line in the log. */
class EventsTest {

  private static final String HEARD = "EventsTest.heard";
  private static final String SLOW = "EventsTest.slow";

  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private static final Logger DENIALS = (Logger) LoggerFactory.getLogger(EventPublisher.DENIALS);

  private final RedisProcess redis = RedisProcess.onFreePort().start();
  private final ListAppender<ILoggingEvent> lines = new ListAppender<>();

  @AfterEach
  void close() {
    DENIALS.setLevel(null);
    DENIALS.detachAppender(lines);
    redis.close();
  }

  private void readLog() {
    lines.start();
    DENIALS.setLevel(Level.DEBUG);
    DENIALS.addAppender(lines);
  }

  private HttpService start(String specification, Object... settings) {
    Map<String, Object> all =
        HttpService.settings(
            "redis.uri",
            redis.uri(),
            "limiter.redis.deadline", // a busy machine is no lost Redis
            "10s");
    all.putAll(HttpService.settings(settings));
    return HttpService.start(specification, all);
  }

  @Controller("/events")
  @Requires(property = "spec.name", pattern = "EventsTest.*")
  static class Routes {

    @Get("/limited")
    @RateLimiter(
        value = "search",
        rules = {@RateRule(count = 1), @RateRule(count = 5, time = 10)})
    String limited() {
      return "ok";
    }

    @Get("/banning")
    @RateLimiter(
        value = "banning",
        rules = @RateRule(count = 1),
        ban = @Ban(violations = 2, time = 3_600))
    String banning() {
      return "ok";
    }

    @Get("/by-verdict")
    @RateRule(count = 1)
    String byVerdict(Verdict verdict) {
      return verdict.outcome().toString();
    }

    @Post("/submitted")
    @PreventDuplicate
    String submitted(@Body Map<String, Object> order) {
      return "ok";
    }
  }

  /** Hears of everything; of denials also by a method. */
  @Singleton
  @Requires(property = "spec.name", value = HEARD)
  static class Ears implements ApplicationEventListener<LimiterEvent> {

    private final Queue<LimiterEvent> all = new ConcurrentLinkedQueue<>();
    private final Queue<CallDenied> denied = new ConcurrentLinkedQueue<>();
    private final Set<String> threads = ConcurrentHashMap.newKeySet();

    @Override
    public void onApplicationEvent(LimiterEvent event) {
      threads.add(Thread.currentThread().getName());
      all.add(event);
    }

    @EventListener
    void onDenied(CallDenied event) {
      denied.add(event);
    }

    <E extends LimiterEvent> List<E> heard(Class<E> type) {
      return all.stream().filter(type::isInstance).map(type::cast).toList();
    }
  }

  /** Holds the publishing thread up. */
  @Singleton
  @Requires(property = "spec.name", value = SLOW)
  static class SlowEars {

    private final CountDownLatch end = new CountDownLatch(1);
    private final Queue<CallDenied> denied = new ConcurrentLinkedQueue<>();

    @EventListener
    void onDenied(CallDenied event) throws InterruptedException {
      denied.add(event);
      end.await();
      throw new IllegalStateException("as listeners may");
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aDenialIsAnEventAndALine(boolean gate) {
    readLog();
    try (HttpService server = start(HEARD, "limiter.gate.enabled", gate)) {
      Ears ears = server.bean(Ears.class);
      assertThat(server.status("/events/limited")).isEqualTo(200);
      assertThat(server.status("/events/limited")).isEqualTo(429);

      await().atMost(PATIENCE).until(() -> !ears.all.isEmpty() && !ears.denied.isEmpty());

      assertThat(ears.all).hasSize(1);
      CallDenied denied = ears.heard(CallDenied.class).get(0);
      assertThat(ears.denied).containsExactly(denied);
      assertThat(denied.policy()).isEqualTo("search");
      assertThat(denied.method()).contains("Routes.limited()");
      assertThat(denied.outcome()).isEqualTo(Outcome.LIMITED);
      assertThat(denied.rule()).isEqualTo("1-per-60s");
      assertThat(denied.decidedBy()).isEqualTo(DecidedBy.STORE);
      assertThat(denied.retryAfter().orElseThrow())
          .isBetween(Duration.ofSeconds(1), Duration.ofSeconds(60));
      assertThat(denied.subject()).matches("[A-Za-z0-9_-]{22}");
      assertThat(ears.threads).containsExactly("limiter-events");
      assertThat(lines.list)
          .singleElement()
          .satisfies(
              line ->
                  assertThat(line.getFormattedMessage())
                      .isEqualTo(
                          "policy=search rule=1-per-60s outcome=LIMITED retry-after=%s decided-by=STORE subject=%s"
                              .formatted(denied.retryAfter().get(), denied.subject())));
    }
  }

  @Test
  void aDuplicateIsAnEventOfItsOwn() {
    try (HttpService server = start(HEARD)) {
      Ears ears = server.bean(Ears.class);
      assertThat(server.post("/events/submitted", "{\"item\":\"tea\"}").statusCode())
          .isEqualTo(200);
      assertThat(server.post("/events/submitted", "{\"item\":\"tea\"}").statusCode())
          .isEqualTo(409);

      await().atMost(PATIENCE).until(() -> !ears.all.isEmpty());

      assertThat(ears.all).hasSize(1);
      DuplicateDenied denied = ears.heard(DuplicateDenied.class).get(0);
      assertThat(denied.method()).contains("Routes.submitted");
      assertThat(denied.subject()).matches("[A-Za-z0-9_-]{22}");
      assertThat(denied.retryAfter()).isPresent();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aBanBeginsOnce(boolean denyCache) {
    try (HttpService server = start(HEARD, "limiter.deny-cache.enabled", denyCache)) {
      Ears ears = server.bean(Ears.class);
      for (int i = 0; i < 5; i++) {
        server.status("/events/banning");
      }

      await().atMost(PATIENCE).until(() -> ears.denied.size() == 4);

      List<CallDenied> denied = ears.heard(CallDenied.class);
      assertThat(denied)
          .extracting(CallDenied::outcome)
          .containsExactly(Outcome.LIMITED, Outcome.BANNED, Outcome.BANNED, Outcome.BANNED);
      CallerBanned banned =
          new CallerBanned(
              "banning", denied.get(0).method(), Duration.ofHours(1), denied.get(0).subject());
      assertThat(ears.heard(CallerBanned.class)).containsExactly(banned);
    }
  }

  /** Redis decides many of them by one command, so at one time. */
  @Test
  void aBanThatBeginsAmongParallelCallsBeginsOnce() {
    try (HttpService server = start(HEARD, "limiter.deny-cache.enabled", false)) {
      Ears ears = server.bean(Ears.class);
      List<CompletableFuture<?>> calls = new ArrayList<>();
      for (int i = 0; i < 60; i++) {
        calls.add(server.getAsync("/events/banning"));
      }
      calls.forEach(CompletableFuture::join);

      await().atMost(PATIENCE).until(() -> ears.denied.size() == 59);

      assertThat(ears.heard(CallerBanned.class)).hasSize(1);
    }
  }

  @Test
  void aCallThatEntersItsMethodIsNoEvent() {
    readLog();
    try (HttpService server = start(HEARD, "limiter.policies.search.observe", true)) {
      Ears ears = server.bean(Ears.class);
      for (int i = 0; i < 2; i++) {
        assertThat(server.status("/events/limited")).isEqualTo(200);
        assertThat(server.status("/events/by-verdict")).isEqualTo(200);
      }
      assertThat(server.get("/events/by-verdict").body()).isEqualTo("LIMITED");
      server.status("/events/banning");
      server.status("/events/banning");

      await().atMost(PATIENCE).until(() -> !ears.denied.isEmpty());

      assertThat(ears.denied).extracting(CallDenied::policy).containsExactly("banning");
      assertThat(lines.list).hasSize(1);
    }
  }

  @Test
  void aRedisThatIsLostAndComesBackIsTwoEvents() {
    try (HttpService server = start(HEARD, "limiter.deny-cache.enabled", false)) {
      Ears ears = server.bean(Ears.class);
      assertThat(server.status("/events/limited")).isEqualTo(200);
      assertThat(ears.all).isEmpty();

      redis.kill();
      await()
          .atMost(PATIENCE)
          .until(
              () -> {
                server.status("/events/limited");
                return !ears.heard(StoreLost.class).isEmpty();
              });
      assertThat(ears.heard(StoreBack.class)).isEmpty();
      StoreLost lost = ears.heard(StoreLost.class).get(0);
      assertThat(lost.node()).isEqualTo("Redis at 127.0.0.1:" + redis.port());
      assertThat(lost.reason()).isEqualTo(FailureReason.DISCONNECTED);
      assertThat(lost.message()).contains(lost.node());
      CallDenied meanwhile = ears.heard(CallDenied.class).get(0);
      assertThat(meanwhile.decidedBy()).isEqualTo(DecidedBy.FALLBACK);

      redis.start();
      await()
          .atMost(PATIENCE)
          .until(
              () -> {
                server.status("/events/limited");
                return !ears.heard(StoreBack.class).isEmpty();
              });
      assertThat(ears.heard(StoreBack.class)).containsExactly(new StoreBack(lost.node()));
      assertThat(ears.heard(StoreLost.class)).containsExactly(lost);
    }
  }

  @Test
  void aChangedPolicyIsAnEvent() {
    try (HttpService server = start(HEARD)) {
      Ears ears = server.bean(Ears.class);
      Map<String, Object> changed = Map.of("limiter.policies.search.rules.1-per-60s.count", 3);
      server
          .context()
          .getEnvironment()
          .addPropertySource(PropertySource.of("changed", changed, 1_000));
      assertThat(server.bean(LimitPolicies.class).refresh()).isTrue();
      await().atMost(PATIENCE).until(() -> !ears.heard(PolicyChanged.class).isEmpty());
      PolicyChanged event = ears.heard(PolicyChanged.class).get(0);
      assertThat(event.policy()).isEqualTo("search");
      assertThat(event.before()).extracting(Rule::name).contains("1-per-60s");
      assertThat(event.after()).extracting(Rule::name).contains("3-per-60s");
    }
  }

  @Test
  void withTheSecretTheDigestIsThatOfTheKey() {
    try (HttpService server =
            start(HEARD, "limiter.redis.key-secret", "not-a-secret-but-long-enough");
        RedisClient client = RedisClient.create(redis.uri());
        StatefulRedisConnection<String, String> keys = client.connect()) {
      Ears ears = server.bean(Ears.class);
      server.status("/events/limited");
      server.status("/events/limited");
      await().atMost(PATIENCE).until(() -> !ears.all.isEmpty());

      String subject = ears.heard(CallDenied.class).get(0).subject();

      assertThat(keys.sync().keys("*{" + subject + "}*")).hasSize(1);
    }
  }

  @Test
  void withoutASecretEachProcessHasItsOwnDigests() {
    Set<String> subjects =
        List.of(1, 2).stream().map(run -> subjectOfThree()).collect(Collectors.toSet());

    assertThat(subjects).hasSize(2);
  }

  private String subjectOfThree() {
    try (HttpService server = start(HEARD)) {
      Ears ears = server.bean(Ears.class);
      for (int i = 0; i < 4; i++) {
        server.status("/events/limited");
      }
      await().atMost(PATIENCE).until(() -> ears.denied.size() >= 3);
      Set<String> subjects =
          ears.denied.stream().map(CallDenied::subject).collect(Collectors.toSet());
      assertThat(subjects).hasSize(1);
      return subjects.iterator().next();
    }
  }

  @Test
  void aSlowListenerDelaysNoCallAndLosesEventsBeyondTheQueue() {
    try (HttpService server = start(SLOW, "limiter.events.queue-size", 3)) {
      EventPublisher publisher = server.bean(EventPublisher.class);
      SlowEars ears = server.bean(SlowEars.class);
      assertThat(server.status("/events/limited")).isEqualTo(200);
      for (int i = 0; i < 8; i++) { // the listener ends after all of them
        assertThat(server.status("/events/limited")).isEqualTo(429);
      }
      assertThat(publisher.dropped()).isEqualTo(5);

      ears.end.countDown();

      await().atMost(PATIENCE).until(() -> ears.denied.size() == 3); // each has thrown
      server.status("/events/limited");
      await().atMost(PATIENCE).until(() -> ears.denied.size() == 4);
      assertThat(publisher.dropped()).isEqualTo(5);
    }
  }
}
