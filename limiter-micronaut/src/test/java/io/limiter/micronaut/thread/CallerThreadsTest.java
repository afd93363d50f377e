// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.thread;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How long a thread waits for a result. */
@Timeout(30)
class CallerThreadsTest {

  private final LimiterTimer timer = new LimiterTimer();

  @AfterEach
  void close() {
    timer.close();
  }

  private CallerThreads threads(Duration maxWait) {
    return new CallerThreads(List.of(), Runnable::run, timer, maxWait);
  }

  @Test
  void aWaitEndsThoughNoResultComesAndTheResultMayStillCome() {
    CompletableFuture<String> never = new CompletableFuture<>();
    CallerThreads threads = threads(Duration.ZERO);
    for (int i = 0; i < 2; i++) { // the second begins after the timer has looked
      assertThatThrownBy(() -> threads.await(never, "Api.call"))
          .isInstanceOf(IllegalStateException.class)
          .hasMessage("No decision on Api.call came in 0 s");
    }
    assertThat(never).isNotDone();
  }

  @Test
  void aWaitGoesOnForTheExpectedTimeInAddition() {
    CompletableFuture<String> late = new CompletableFuture<>();
    CompletableFuture.delayedExecutor(2_500, TimeUnit.MILLISECONDS)
        .execute(() -> late.complete("turn"));
    CallerThreads threads = threads(Duration.ZERO);
    assertThat(threads.await(late, "Api.call", Duration.ofSeconds(20))).isEqualTo("turn");
  }

  @Test
  void aFailureIsThrownAsItIs() {
    CallerThreads threads = threads(Duration.ofSeconds(65));
    IllegalArgumentException failure = new IllegalArgumentException("failed");
    assertThatThrownBy(() -> threads.await(CompletableFuture.failedFuture(failure), "Api.call"))
        .isSameAs(failure);
    assertThatThrownBy(
            () -> threads.await(CompletableFuture.failedFuture(new TimeoutException()), "Api.call"))
        .isInstanceOf(IllegalStateException.class)
        .cause()
        .isInstanceOf(TimeoutException.class);
  }

  @Test
  void anInterruptedThreadStaysInterrupted() {
    CallerThreads threads = threads(Duration.ofSeconds(65));
    Thread.currentThread().interrupt();
    assertThatThrownBy(() -> threads.await(new CompletableFuture<>(), "Api.call"))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("Interrupted while waiting for the decision on Api.call");
    assertThat(Thread.interrupted()).isTrue();
  }
}
