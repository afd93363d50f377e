// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.ResultCost;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import reactor.core.Disposable;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** How calls end that answer no request: what they held is free, and what they count is kept. */
class EndingBeansTest {

  private static final Duration PATIENCE = Duration.ofSeconds(20);

  @AutoClose private final ApplicationContext context = Starts.inMemory(EndingBean.SPEC);
  private final EndingBean bean = context.getBean(EndingBean.class);

  @Test
  void aMethodThatReturnsFreesItsPlaceBeforeItsCallerGoesOn() {
    for (int i = 0; i < 3; i++) {
      assertThat(bean.sync(() -> "ok")).isEqualTo("ok");
      assertThatThrownBy(
              () ->
                  bean.sync(
                      () -> {
                        throw new IllegalStateException("failed");
                      }))
          .hasMessage("failed");
    }
  }

  @Test
  void aMethodThatCallsItselfNeedsAPlaceForEachCall() {
    assertThatThrownBy(() -> bean.sync(() -> bean.sync(() -> "inner")))
        .isInstanceOf(RateLimitExceededException.class);

    assertThat(bean.sync(() -> "ok")).isEqualTo("ok");
  }

  @Test
  void aStageHoldsItsPlaceUntilItIsComplete() {
    CompletableFuture<String> running = new CompletableFuture<>();
    CompletionStage<String> call = bean.stage(running);
    assertDenied(() -> bean.stage(running).toCompletableFuture().join());

    running.complete("ok");

    assertThat(call.toCompletableFuture().join()).isEqualTo("ok");
    assertThat(bean.stage(CompletableFuture.completedFuture("next")).toCompletableFuture().join())
        .isEqualTo("next");
  }

  @Test
  void aStageThatIsNoneFreesItsPlace() {
    for (int i = 0; i < 3; i++) {
      assertThatThrownBy(() -> bean.stage(null).toCompletableFuture().join())
          .hasMessageContaining("Cannot convert null");
    }
  }

  @Test
  void aMonoThatIsCancelledFreesItsPlace() {
    Disposable call = bean.mono(Mono.never()).subscribe();
    assertDenied(() -> bean.mono(Mono.just("denied")).block(PATIENCE));

    call.dispose();

    assertThat(bean.mono(Mono.just("next")).block(PATIENCE)).isEqualTo("next");
    assertThat(bean.mono(Mono.empty()).block(PATIENCE)).isNull();
    assertThat(bean.mono(Mono.just("next")).block(PATIENCE)).isEqualTo("next");
  }

  @Test
  void aStreamHoldsItsPlaceUntilItsReaderHasHadEnough() {
    assertThat(bean.flux(Flux.range(0, 1_000_000)).take(3).collectList().block(PATIENCE))
        .containsExactly(0, 1, 2);
    assertThat(bean.flux(Flux.range(0, 3)).collectList().block(PATIENCE)).hasSize(3);
    assertThatThrownBy(
            () -> bean.flux(Flux.error(new IllegalStateException("failed"))).blockLast(PATIENCE))
        .hasMessage("failed");
    assertThat(bean.flux(Flux.range(0, 3)).collectList().block(PATIENCE)).hasSize(3);
  }

  /** Its place would be held for as long as the service runs. */
  @Test
  void aCallThatTheApplicationHasForgottenIsNotRenewed() {
    var unused = bean.forgotten(new CompletableFuture<>());
    assertDenied(() -> bean.forgotten(new CompletableFuture<>()).toCompletableFuture().join());

    await()
        .atMost(PATIENCE)
        .until(
            () -> {
              System.gc();
              CompletableFuture<String> next =
                  bean.forgotten(CompletableFuture.completedFuture("next")).toCompletableFuture();
              return !next.isCompletedExceptionally();
            });
  }

  @Test
  void aCallThatIsNotForgottenIsRenewed() {
    CompletableFuture<String> running = new CompletableFuture<>();
    CompletionStage<String> call = bean.forgotten(running);

    await()
        .during(Duration.ofMillis(2_500)) // two and a half times as long
        .atMost(PATIENCE)
        .until(
            () -> {
              System.gc();
              return bean.forgotten(new CompletableFuture<>())
                  .toCompletableFuture()
                  .isCompletedExceptionally();
            });
    running.complete("ok");
    assertThat(call.toCompletableFuture().join()).isEqualTo("ok");
  }

  @Test
  void oneThreadRenewsForAllAndEndsWithTheContext() {
    Set<Thread> others = renewing();
    var unused = bean.stage(new CompletableFuture<>());
    bean.mono(Mono.never()).subscribe();
    Set<Thread> ours = renewing();
    ours.removeAll(others);
    assertThat(ours).hasSize(1);

    context.close();

    await().atMost(PATIENCE).until(() -> ours.stream().noneMatch(Thread::isAlive));
  }

  private static Set<Thread> renewing() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().equals("limiter-timer"))
        .collect(Collectors.toSet());
  }

  @Test
  void anExceptionIsAFailureAndAResultIsNone() {
    assertThat(bean.failures(Mono.just("ok")).block(PATIENCE)).isEqualTo("ok");
    assertThat(bean.failures(Mono.just("ok")).block(PATIENCE)).isEqualTo("ok");
    assertThatThrownBy(
            () -> bean.failures(Mono.error(new IllegalStateException("failed"))).block(PATIENCE))
        .hasMessage("failed");
    assertDenied(() -> bean.failures(Mono.just("ok")).block(PATIENCE));
  }

  /** Otherwise a client that disconnects in time could try without limit. */
  @Test
  void aCallThatIsCancelledWhileItRunsHasCounted() {
    bean.failures(Mono.never()).subscribe().dispose();

    assertDenied(() -> bean.failures(Mono.just("ok")).block(PATIENCE));
  }

  @Test
  void anExceptionIsNoFailureWhereItsStatusIsNotListed() {
    for (int i = 0; i < 3; i++) {
      assertThatThrownBy(bean::denials).hasMessage("failed");
    }
  }

  @Test
  void aResultDeterminesItsCost() {
    assertThat(bean.rows(8)).isEqualTo(8);
    assertDenied(() -> bean.rows(0)); // two are left, and four are estimated
  }

  @Test
  void aMethodThatFailsHasCostWhatWasEstimated() {
    for (int i = 0; i < 2; i++) {
      assertThatThrownBy(() -> bean.rows(-1)).hasMessage("failed");
    }
    assertDenied(() -> bean.rows(0));
    assertThat(bean.entered).hasValue(2);
  }

  private static void assertDenied(Runnable call) {
    assertThatThrownBy(call::run)
        .satisfies(
            thrown ->
                assertThat(thrown instanceof CompletionException ? thrown.getCause() : thrown)
                    .isInstanceOf(RateLimitExceededException.class));
  }

  /** Everybody together has one call of each method running. */
  @Singleton
  @Requires(property = "spec.name", value = EndingBean.SPEC)
  static class EndingBean {

    static final String SPEC = "EndingBean";

    final AtomicInteger entered = new AtomicInteger();

    @RateRule(count = 1, limitType = LimitType.GLOBAL, algorithm = Algorithm.CONCURRENCY_LIMIT)
    String sync(Supplier<String> code) {
      return code.get();
    }

    @RateRule(count = 1, limitType = LimitType.GLOBAL, algorithm = Algorithm.CONCURRENCY_LIMIT)
    CompletionStage<String> stage(CompletionStage<String> result) {
      return result;
    }

    @RateRule(count = 1, limitType = LimitType.GLOBAL, algorithm = Algorithm.CONCURRENCY_LIMIT)
    Mono<String> mono(Mono<String> result) {
      return result;
    }

    @RateRule(count = 1, limitType = LimitType.GLOBAL, algorithm = Algorithm.CONCURRENCY_LIMIT)
    Flux<Integer> flux(Flux<Integer> result) {
      return result;
    }

    @RateRule(
        count = 1,
        time = 1,
        limitType = LimitType.GLOBAL,
        algorithm = Algorithm.CONCURRENCY_LIMIT)
    CompletionStage<String> forgotten(CompletionStage<String> result) {
      return result;
    }

    @RateRule(count = 1, limitType = LimitType.GLOBAL, counts = Counts.FAILURES)
    Mono<String> failures(Mono<String> result) {
      return result;
    }

    @RateLimiter(
        limitType = LimitType.GLOBAL,
        failedOn = 401,
        rules = @RateRule(count = 1, counts = Counts.FAILURES))
    String denials() {
      throw new IllegalStateException("failed");
    }

    @RateLimiter(
        limitType = LimitType.GLOBAL,
        cost = "4",
        resultCost = Rows.class,
        rules = @RateRule(count = 10))
    int rows(int n) {
      entered.incrementAndGet();
      if (n < 0) {
        throw new IllegalStateException("failed");
      }
      return n;
    }

    @Singleton
    @Requires(property = "spec.name", value = EndingBean.SPEC)
    static class Rows implements ResultCost {
      @Override
      public long of(Object result) {
        return (Integer) result;
      }
    }
  }
}
