// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.limiter.core.DecidedBy;
import io.limiter.core.Outcome;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.exception.DuplicateSubmissionException;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** A limited method of any bean, called from any code, whatever it returns. */
class PlainBeanGuardTest {

  @AutoClose private final ApplicationContext context = Starts.inMemory("PlainBeanGuardTest");
  private final Mailer mailer = context.getBean(Mailer.class);

  /** The kinds of result, and how a caller comes by it. */
  enum Kind {
    SYNCHRONOUS(mailer -> mailer::send, mailer -> mailer::submit),
    STAGE(mailer -> to -> join(mailer.sendStage(to)), mailer -> to -> join(mailer.submitStage(to))),
    MONO(
        mailer -> to -> mailer.sendMono(to).block(), mailer -> to -> mailer.submitMono(to).block()),
    FLUX(
        mailer -> to -> mailer.sendFlux(to).blockLast(),
        mailer -> to -> mailer.submitFlux(to).blockLast());

    final Function<Mailer, Function<String, String>> send;
    final Function<Mailer, Function<String, String>> submit;

    Kind(
        Function<Mailer, Function<String, String>> send,
        Function<Mailer, Function<String, String>> submit) {
      this.send = send;
      this.submit = submit;
    }

    private static String join(CompletionStage<String> stage) {
      try {
        return stage.toCompletableFuture().join();
      } catch (CompletionException e) {
        throw e.getCause() instanceof RuntimeException cause ? cause : e;
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void isEnteredUntilTheRulesDeny(Kind kind) {
    Function<String, String> send = kind.send.apply(mailer);

    assertThat(send.apply("ada")).isEqualTo("sent to ada");
    assertThat(send.apply("ada")).isEqualTo("sent to ada");
    assertThatExceptionOfType(RateLimitExceededException.class).isThrownBy(() -> send.apply("ada"));
    assertThat(send.apply("bob")).isEqualTo("sent to bob");
    assertThat(mailer.entered).hasValue(3);
  }

  @ParameterizedTest
  @EnumSource
  void aFailedSubmissionMayBeMadeAgain(Kind kind) {
    Function<String, String> submit = kind.submit.apply(mailer);
    mailer.broken = true;
    assertThatThrownBy(() -> submit.apply("ada")).hasMessageContaining("The mail server is away");
    mailer.broken = false;

    assertThat(submit.apply("ada")).isEqualTo("sent to ada");
    assertThatExceptionOfType(DuplicateSubmissionException.class)
        .isThrownBy(() -> submit.apply("ada"))
        .satisfies(
            denied -> {
              assertThat(denied.verdict().outcome()).isEqualTo(Outcome.DUPLICATE);
              assertThat(denied.verdict().duplicate().orElseThrow().violated()).isTrue();
              assertThat(denied.verdict().retryAfter().orElseThrow())
                  .isBetween(Duration.ofSeconds(3), Duration.ofSeconds(5));
            });
    assertThat(mailer.entered).hasValue(2);
  }

  @Test
  void theExceptionCarriesTheVerdict() {
    mailer.send("ada");
    mailer.send("ada");

    assertThatExceptionOfType(RateLimitExceededException.class)
        .isThrownBy(() -> mailer.send("ada"))
        .withMessage("The limit of 'send' is exceeded: [2-per-3600s]")
        .withNoCause()
        .satisfies(
            denied -> {
              Verdict verdict = denied.verdict();
              assertThat(verdict.outcome()).isEqualTo(Outcome.LIMITED);
              assertThat(verdict.decidedBy()).isEqualTo(DecidedBy.STORE);
              assertThat(verdict.rules())
                  .extracting(RuleVerdict::violated)
                  .containsExactly(true, false);
              assertThat(verdict.rules())
                  .extracting(RuleVerdict::remaining)
                  .containsExactly(0L, 98L);
              assertThat(verdict.retryAfter().orElseThrow())
                  .isBetween(Duration.ofMinutes(59), Duration.ofHours(1));
              assertThat(denied.text().message()).contains("Enough");
            });
  }

  @Test
  void aDenialIsTheResultOfAnAsynchronousMethodNotAnExceptionOfItsCall() {
    mailer.sendStage("ada");
    mailer.sendStage("ada");

    assertThat(mailer.sendStage("ada").toCompletableFuture())
        .failsWithin(Duration.ofSeconds(5))
        .withThrowableThat()
        .withCauseInstanceOf(LimitDeniedException.class);
  }

  @Singleton
  @Requires(property = "spec.name", value = "PlainBeanGuardTest")
  static class Mailer {

    final AtomicInteger entered = new AtomicInteger();
    volatile boolean broken;

    @RateLimiter(
        value = "send",
        subject = "#{to}",
        message = "Enough",
        rules = {@RateRule(count = 2, time = 3600), @RateRule(count = 100, time = 36_000)})
    String send(String to) {
      return sent(to);
    }

    @RateLimiter(subject = "#{to}", rules = @RateRule(count = 2))
    CompletionStage<String> sendStage(String to) {
      return CompletableFuture.completedFuture(sent(to));
    }

    @RateLimiter(subject = "#{to}", rules = @RateRule(count = 2))
    Mono<String> sendMono(String to) {
      return Mono.just(sent(to));
    }

    @RateLimiter(subject = "#{to}", rules = @RateRule(count = 2))
    Flux<String> sendFlux(String to) {
      return Flux.just("sending", sent(to));
    }

    @RateLimiter(subject = "#{to}", preventDuplicate = true)
    String submit(String to) {
      return sent(to);
    }

    @RateLimiter(subject = "#{to}", preventDuplicate = true)
    CompletionStage<String> submitStage(String to) {
      return CompletableFuture.supplyAsync(() -> sent(to));
    }

    @RateLimiter(subject = "#{to}", preventDuplicate = true)
    Mono<String> submitMono(String to) {
      return Mono.fromCallable(() -> sent(to));
    }

    @RateLimiter(subject = "#{to}", preventDuplicate = true)
    Flux<String> submitFlux(String to) {
      return Flux.concat(Flux.just("sending"), Mono.fromCallable(() -> sent(to)));
    }

    private String sent(String to) {
      entered.incrementAndGet();
      if (broken) {
        throw new IllegalStateException("The mail server is away");
      }
      return "sent to " + to;
    }
  }
}
