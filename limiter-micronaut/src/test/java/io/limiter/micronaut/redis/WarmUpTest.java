// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.DecidedBy;
import io.limiter.core.Fallback;
import io.limiter.core.LimitRequest;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.outage.FallbackCounts;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.Mode;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.config.DenialConfiguration;
import io.limiter.micronaut.config.LimiterConfiguration.HeadersConfiguration;
import io.limiter.micronaut.denial.Denial;
import io.limiter.micronaut.denial.DenialBody;
import io.limiter.micronaut.denial.DenialMessages;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.http.LimitDeniedHandler;
import io.limiter.micronaut.http.RateLimitFields;
import io.limiter.micronaut.subject.ClientAddress;
import io.limiter.micronaut.testing.HttpService;
import io.limiter.micronaut.thread.WarmUpStep;
import io.micronaut.context.AbstractMessageSource;
import io.micronaut.context.annotation.Replaces;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.ResponseFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.hateoas.JsonError;
import io.micronaut.http.server.exceptions.response.ErrorContext;
import io.micronaut.http.server.exceptions.response.ErrorResponseProcessor;
import io.micronaut.http.server.util.locale.HttpLocaleResolver;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What is run before the server listens, what just after it, and what is left alone. */
class WarmUpTest {

  private static final int LOOPS = 3;

  private static final Duration WARM_UP = Duration.ofSeconds(30);

  @BeforeEach
  void forget() {
    RUNS.clear();
    ASKED.clear();
  }

  /** Who decided, and the thread that asked. */
  private record Run(DecidedBy source, String thread) {}

  private static final ConcurrentLinkedQueue<Run> RUNS = new ConcurrentLinkedQueue<>();

  /** Beans of the application that were called. */
  private static final ConcurrentLinkedQueue<String> ASKED = new ConcurrentLinkedQueue<>();

  private static HttpService start(String specification, Object... settings) {
    Map<String, Object> all =
        HttpService.settings(
            "micronaut.netty.event-loops.default.num-threads",
            LOOPS,
            "limiter.redis.warm-up",
            WARM_UP.toSeconds() + "s");
    all.putAll(HttpService.settings(settings));
    return HttpService.start(specification, all);
  }

  private static Set<String> threads(DecidedBy source) {
    return RUNS.stream()
        .filter(run -> run.source() == source && run.thread().contains("oop"))
        .map(Run::thread)
        .collect(Collectors.toSet());
  }

  private static long counted(HttpService server) {
    FallbackCounts counts = server.bean(FallbackCounts.class);
    return Stream.of(Fallback.values()).mapToLong(counts::of).sum();
  }

  @Test
  void redisDecidesOnEachEventLoop() {
    try (RedisProcess redis = RedisProcess.onFreePort().start();
        HttpService server = start("WarmUpTest", "redis.uri", redis.uri())) {
      assertThat(threads(DecidedBy.STORE)).hasSize(LOOPS);
      assertThat(threads(DecidedBy.FALLBACK)).isEmpty();
      assertThat(counted(server)).isZero();
    }
  }

  /** A start that waited for Redis would take longer than one without it by the whole warm-up. */
  @Test
  void theFallbackDecidesOnEachEventLoopWhereRedisIsDown() {
    Duration without = took(() -> start("WarmUpTest").close());
    try (RedisProcess redis = RedisProcess.onFreePort()) {
      Duration took =
          took(
              () -> {
                try (HttpService server = start("WarmUpTest", "redis.uri", redis.uri())) {
                  assertThat(threads(DecidedBy.FALLBACK)).hasSize(LOOPS);
                  assertThat(counted(server)).isZero();
                }
              });
      assertThat(took).isLessThan(without.plus(WARM_UP));
    }
  }

  private static Duration took(Runnable action) {
    long begin = System.nanoTime();
    action.run();
    return Duration.ofNanos(System.nanoTime() - begin);
  }

  @Test
  void memoryDecidesOnEachEventLoopWhereThereIsNoRedis() {
    try (HttpService server = start("WarmUpTest")) {
      assertThat(server.context().isRunning()).isTrue();
      assertThat(threads(DecidedBy.STORE)).hasSize(LOOPS);
    }
  }

  @Test
  void responsesAreMadeOnceTheServerListens() {
    try (HttpService server = start("WarmUpTest")) {
      assertThat(server.context().isRunning()).isTrue();
      await()
          .atMost(Duration.ofSeconds(20))
          .untilAsserted(() -> assertThat(ASKED).containsExactly("responded"));
    }
  }

  @Test
  void aZeroSwitchesItOff() {
    try (HttpService server = start("WarmUpTest", "limiter.redis.warm-up", "0s")) {
      assertThat(server.context().isRunning()).isTrue();
      assertThat(RUNS).isEmpty();
    }
  }

  @Test
  void aFailingWarmUpStepDoesNotStopTheStart() {
    try (HttpService server = start("WarmUpTest.broken")) {
      assertThat(server.context().isRunning()).isTrue();
      assertThat(ASKED).contains("thrown", "failed");
    }
  }

  @Test
  void beansOfTheApplicationAreNotAsked() {
    try (RedisProcess redis = RedisProcess.onFreePort().start();
        HttpService server = start("WarmUpTest.replaced", "redis.uri", redis.uri())) {
      for (WarmUpStep step : server.context().getBeansOfType(WarmUpStep.class)) {
        assertThat(step.respond(new MemoryStore())).succeedsWithin(Duration.ofSeconds(10));
      }
      assertThat(ASKED).isEmpty();
    }
  }

  /** Requests of a service that shuts down may be denied once its context has no beans. */
  @Test
  void denialsHaveABodyAfterTheContextIsClosed() {
    LimitDeniedHandler handler;
    try (HttpService server = start("WarmUpTest")) {
      for (WarmUpStep step : server.context().getBeansOfType(WarmUpStep.class)) {
        assertThat(step.respond(new MemoryStore())).succeedsWithin(WARM_UP);
      }
      handler = server.bean(LimitDeniedHandler.class);
    }
    Rule rule = SlidingWindowLogRule.of(1, Duration.ofSeconds(1));
    Verdict denial =
        Verdict.of(Policy.of("warm-up-test", rule), Outcome.LIMITED)
            .rules(List.of(RuleVerdict.of(rule).violatedFor(Duration.ofSeconds(1)).build()))
            .build();

    MutableHttpResponse<?> response =
        handler.handle(HttpRequest.GET("/late"), LimitDeniedException.of(denial, DenialText.NONE));

    assertThat(response.code()).isEqualTo(429);
    assertThat(response.body()).isInstanceOf(JsonError.class);
  }

  @Singleton
  @Requires(property = "spec.name", value = "WarmUpTest")
  static class Recorded implements WarmUpStep {

    @Override
    public CompletionStage<?> run(LimitStore store) {
      LimitRequest call =
          LimitRequest.of(
              Policy.of("warm-up-test", SlidingWindowLogRule.of(100, Duration.ofSeconds(1))),
              Subject.global());
      String thread = Thread.currentThread().getName();
      return store
          .decide(call, Mode.ACQUIRE)
          .thenAccept(verdict -> RUNS.add(new Run(verdict.decidedBy(), thread)));
    }

    @Override
    public CompletionStage<?> respond(LimitStore store) {
      ASKED.add("responded");
      return CompletableFuture.completedFuture(null);
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = "WarmUpTest.broken")
  static class Throws implements WarmUpStep {
    @Override
    public CompletionStage<?> run(LimitStore store) {
      ASKED.add("thrown");
      throw new IllegalStateException("thrown");
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = "WarmUpTest.broken")
  static class Fails implements WarmUpStep {
    @Override
    public CompletionStage<?> run(LimitStore store) {
      ASKED.add("failed");
      return CompletableFuture.failedFuture(new NoClassDefFoundError("gone"));
    }
  }

  private static IllegalStateException asked(Object bean) {
    ASKED.add(bean.getClass().getName());
    return new IllegalStateException("There is no such request");
  }

  @Singleton
  @Requires(property = "spec.name", value = "WarmUpTest.replaced")
  static class OwnBody implements DenialBody {
    @Override
    public MutableHttpResponse<?> write(Denial denial, MutableHttpResponse<?> response) {
      throw asked(this);
    }
  }

  @Singleton
  @Replaces(ErrorResponseProcessor.class)
  @Requires(property = "spec.name", value = "WarmUpTest.replaced")
  static class OwnErrors implements ErrorResponseProcessor<Object> {
    @Override
    public MutableHttpResponse<Object> processResponse(
        ErrorContext context, MutableHttpResponse<?> response) {
      throw asked(this);
    }
  }

  /** Is asked for raw texts at the start, where configured messages are checked. */
  @Singleton
  @Requires(property = "spec.name", value = "WarmUpTest.replaced")
  static class OwnMessages extends AbstractMessageSource {
    @Override
    public Optional<String> getRawMessage(String code, MessageContext context) {
      return Optional.empty();
    }

    @Override
    public Optional<String> getMessage(String code, MessageContext context) {
      throw asked(this);
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = "WarmUpTest.replaced")
  static class OwnLocales implements HttpLocaleResolver {
    @Override
    public Optional<Locale> resolve(HttpRequest<?> request) {
      throw asked(this);
    }

    @Override
    public Locale resolveOrDefault(HttpRequest<?> request) {
      throw asked(this);
    }
  }

  @Singleton
  @Replaces(RateLimitFields.class)
  @Requires(property = "spec.name", value = "WarmUpTest.replaced")
  static class OwnFields extends RateLimitFields {
    OwnFields(HeadersConfiguration configuration) {
      super(configuration, List.of());
    }

    @Override
    public void write(Verdict verdict, MutableHttpResponse<?> response) {
      throw asked(this);
    }

    @Override
    public void writeDenial(Verdict verdict, MutableHttpResponse<?> response) {
      throw asked(this);
    }
  }

  @Singleton
  @Replaces(LimitDeniedHandler.class)
  @Requires(property = "spec.name", value = "WarmUpTest.replaced")
  static class OwnResponses extends LimitDeniedHandler {
    OwnResponses(DenialConfiguration configuration, DenialMessages messages, DenialBody body) {
      super(configuration, messages, body);
    }

    @Override
    public MutableHttpResponse<?> handle(HttpRequest request, LimitDeniedException denied) {
      throw asked(this);
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = "WarmUpTest.replaced")
  static class OwnAddress implements ClientAddress {
    @Override
    public String of(HttpRequest<?> request) {
      throw asked(this);
    }
  }

  @ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
  @Requires(property = "spec.name", value = "WarmUpTest.replaced")
  static class OwnFilter {
    @ResponseFilter
    void see(HttpRequest<?> request) {
      throw asked(this);
    }
  }
}
