// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.limiter.micronaut.behaviour.LoggedWarnings;
import io.limiter.micronaut.exception.DuplicateSubmissionException;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.limiter.micronaut.testing.MicronautVersion;
import io.limiter.micronaut.testing.RecordedDecisions;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.client.annotation.Client;
import io.micronaut.scheduling.annotation.Scheduled;
import jakarta.inject.Singleton;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** Subjects and submissions of calls that no request has led to: a job, a consumer of messages. */
class OutsideOfRequestTest {

  @AutoClose private final ApplicationContext context = Starts.recorded("OutsideOfRequestTest");
  private final Jobs jobs = context.getBean(Jobs.class);
  private final Shift shift = context.getBean(Shift.class);
  private final RecordedDecisions decisions = context.getBean(RecordedDecisions.class);

  @Test
  void aResolverMayKnowWhoCalls() {
    shift.worker = Optional.of("night");
    jobs.run();
    assertThatExceptionOfType(RateLimitExceededException.class).isThrownBy(jobs::run);

    shift.worker = Optional.of("day");
    jobs.run();
    assertThatExceptionOfType(RateLimitExceededException.class).isThrownBy(jobs::run);
  }

  @Test
  void aResolverWithoutASubjectFailsTheCallWithTheRemedy() {
    for (Optional<String> noSubject : List.of(Optional.<String>empty(), Optional.of(" "))) {
      shift.worker = noSubject;
      assertThatExceptionOfType(IllegalStateException.class)
          .isThrownBy(jobs::run)
          .withMessageStartingWith(
              Jobs.class.getName() + ".run(): its calls are counted by resolver = ")
          .withMessageContaining("outside of an HTTP request")
          .withMessageContaining("a resolver that returns one from its resolveOutsideOfRequest()");
    }
    assertThat(decisions.requests()).isEmpty();
  }

  @Test
  void aResolverThatFailsFailsTheCall() {
    shift.worker = null;

    assertThatExceptionOfType(NullPointerException.class).isThrownBy(jobs::run);
    assertThat(decisions.requests()).isEmpty();
  }

  @Test
  void aHeaderIsKnownToRequestsOnly() {
    assertThatExceptionOfType(IllegalStateException.class)
        .isThrownBy(jobs::byHeader)
        .withMessageContaining(
            "its calls are counted by header = x-key, and it was called outside");
    assertThat(decisions.requests()).isEmpty();
  }

  private static final String BY_DEFAULT =
      ": its calls are counted by limitType = IP, which is the default, and it was called outside of an HTTP request";

  @Test
  void aClientCalledOutsideOfARequestHasNoAddressToCount() {
    assertThatExceptionOfType(IllegalStateException.class)
        .isThrownBy(context.getBean(Quotes.class)::quote)
        .withMessageContaining(Quotes.class.getName() + ".quote()" + BY_DEFAULT)
        .withMessageContaining("limitType = GLOBAL");
    assertThat(decisions.requests()).isEmpty();
  }

  /** Micronaut 4 plans it at the start on a thread of its own, and ends the context. */
  @Test
  void aScheduledMethodHasNoAddressToCount() {
    String mistake =
        Nightly.class.getName()
            + ".clean(): @Scheduled = limitType = IP, which is the default: it is called outside of any request";
    if (MicronautVersion.IS_5) {
      assertThat(Starts.mistake(Map.of("spec.name", "OutsideOfRequestTest.scheduled")))
          .hasMessageContaining(mistake);
      return;
    }
    try (LoggedWarnings warnings = LoggedWarnings.begin();
        ApplicationContext scheduled = Starts.inMemory("OutsideOfRequestTest.scheduled")) {
      await()
          .untilAsserted(
              () -> assertThat(warnings.excess()).anyMatch(line -> line.contains(mistake)));
      await().until(() -> !scheduled.isRunning());
    }
  }

  @Test
  void anExpressionDistinguishesSubmissions() {
    jobs.book("7", "a");
    jobs.book("8", "a");

    assertThatExceptionOfType(DuplicateSubmissionException.class)
        .isThrownBy(() -> jobs.book("7", "b"));
  }

  /** The kinds of result, and how a call of each ends. */
  enum Kind {
    SYNCHRONOUS(Jobs::on500, Jobs::on503),
    STAGE(jobs -> join(jobs.on500Stage()), jobs -> join(jobs.on503Stage())),
    MONO(jobs -> jobs.on500Mono().block(), jobs -> jobs.on503Mono().block()),
    FLUX(jobs -> jobs.on500Flux().blockLast(), jobs -> jobs.on503Flux().blockLast());

    final Consumer<Jobs> on500;
    final Consumer<Jobs> on503;

    Kind(Consumer<Jobs> on500, Consumer<Jobs> on503) {
      this.on500 = on500;
      this.on503 = on503;
    }

    private static void join(CompletionStage<String> stage) {
      try {
        stage.toCompletableFuture().join();
      } catch (CompletionException e) {
        throw e.getCause() instanceof RuntimeException cause ? cause : e;
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void anExceptionCountsAs500(Kind kind) {
    for (int call = 0; call < 3; call++) {
      assertThatThrownBy(() -> kind.on500.accept(jobs)).hasMessage("broken");
    }

    assertThatThrownBy(() -> kind.on503.accept(jobs)).hasMessage("broken");
    assertThatExceptionOfType(DuplicateSubmissionException.class)
        .isThrownBy(() -> kind.on503.accept(jobs));
  }

  @Client("http://127.0.0.1:1")
  @Requires(property = "spec.name", value = "OutsideOfRequestTest")
  interface Quotes {

    @Get("/quotes")
    @RateRule(count = 1)
    String quote();
  }

  @Singleton
  @Requires(property = "spec.name", value = "OutsideOfRequestTest.scheduled")
  static class Nightly {

    @Scheduled(initialDelay = "1ms", fixedDelay = "1d")
    @RateRule(count = 1)
    void clean() {}
  }

  @Singleton
  @Requires(property = "spec.name", value = "OutsideOfRequestTest")
  static class Shift implements SubjectResolver {

    volatile Optional<String> worker = Optional.empty();

    @Override
    public Optional<String> resolve(HttpRequest<?> request) {
      throw new IllegalStateException("There is no request");
    }

    @Override
    public Optional<String> resolveOutsideOfRequest() {
      return worker.map(name -> name);
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = "OutsideOfRequestTest")
  static class Jobs {

    /** By these statuses only. */
    @Retention(RetentionPolicy.RUNTIME)
    @RateLimiter(
        limitType = LimitType.GLOBAL,
        preventDuplicate = true,
        duplicate = @Duplicate(releaseOn = {422, 503}))
    @interface ReleasedOn422And503 {}

    /** By this status only. */
    @Retention(RetentionPolicy.RUNTIME)
    @RateLimiter(
        limitType = LimitType.GLOBAL,
        preventDuplicate = true,
        duplicate = @Duplicate(releaseOn = 500))
    @interface ReleasedOn500 {}

    private static IllegalStateException broken() {
      return new IllegalStateException("broken");
    }

    @RateLimiter(resolver = Shift.class, rules = @RateRule(count = 1))
    void run() {}

    @RateLimiter(header = "X-Key", rules = @RateRule(count = 1))
    void byHeader() {}

    @RateLimiter(
        limitType = LimitType.GLOBAL,
        preventDuplicate = true,
        duplicate = @Duplicate(key = "#{number}"))
    void book(String number, String note) {}

    @ReleasedOn500
    void on500() {
      throw broken();
    }

    @ReleasedOn422And503
    void on503() {
      throw broken();
    }

    @ReleasedOn500
    CompletionStage<String> on500Stage() {
      return CompletableFuture.failedFuture(broken());
    }

    @ReleasedOn422And503
    CompletionStage<String> on503Stage() {
      return CompletableFuture.failedFuture(broken());
    }

    @ReleasedOn500
    Mono<String> on500Mono() {
      return Mono.error(broken());
    }

    @ReleasedOn422And503
    Mono<String> on503Mono() {
      return Mono.error(broken());
    }

    @ReleasedOn500
    Flux<Integer> on500Flux() {
      return Flux.error(broken());
    }

    @ReleasedOn422And503
    Flux<Integer> on503Flux() {
      return Flux.concat(Flux.just(1), Flux.error(broken()));
    }
  }
}
