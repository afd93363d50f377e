// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.thread.LimiterTimer;
import io.micronaut.context.ApplicationContext;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** When a submission that is taken for three seconds is renewed. */
class HeldSubmissionTest {

  private static final Duration CLAIM = Duration.ofSeconds(3);
  private static final long PATIENCE_SECONDS = 20;

  private final ApplicationContext context = ApplicationContext.run();
  private final BlockingQueue<CompletableFuture<Boolean>> renewals = new LinkedBlockingQueue<>();
  private boolean throwsOnce;

  private final HeldSubmission held =
      new HeldSubmission(
          context.getBean(LimiterTimer.class), new LogThrottle(), CLAIM, Duration.ofHours(1)) {
        @Override
        CompletionStage<Boolean> extend(Duration time) {
          CompletableFuture<Boolean> renewal = new CompletableFuture<>();
          renewals.add(renewal);
          if (throwsOnce) {
            throwsOnce = false;
            throw new IllegalStateException("broken");
          }
          return renewal;
        }
      };

  @AfterEach
  void close() {
    held.end();
    context.close();
  }

  private CompletableFuture<Boolean> renewal() throws InterruptedException {
    CompletableFuture<Boolean> next = renewals.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
    assertThat(next).as("a renewal").isNotNull();
    return next;
  }

  /** Otherwise a renewal that fails late leaves no time for another one. */
  @Test
  void aLateAnswerDoesNotDelayTheNextRenewal() throws Exception {
    held.schedule();
    CompletableFuture<Boolean> first = renewal();
    Thread.sleep(CLAIM.toMillis() / 3);
    first.completeExceptionally(new IllegalStateException("late"));

    assertThat(renewals.poll(CLAIM.toMillis() / 6, TimeUnit.MILLISECONDS)).isNotNull();
  }

  /** As a reservation of the application may. */
  @Test
  void isRenewedAfterARenewalThatThrew() throws Exception {
    throwsOnce = true;
    held.schedule();
    renewal();

    assertThat(renewal()).isNotDone();
  }

  @Test
  void isNotRenewedOnceItHasEnded() throws Exception {
    held.schedule();
    CompletableFuture<Boolean> first = renewal();
    assertThat(held.end()).isTrue();
    first.complete(true);

    assertThat(renewals.poll(CLAIM.toMillis() / 2, TimeUnit.MILLISECONDS)).isNull();
    assertThat(held.end()).isFalse();
  }
}
