// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.Reservation;
import io.limiter.core.testing.RecordedLog;
import io.limiter.micronaut.call.GuardedSubmissions.ClaimRenewal;
import io.limiter.micronaut.call.GuardedSubmissions.WrittenEnd;
import io.limiter.micronaut.thread.LimiterTimer;
import io.micronaut.context.ApplicationContext;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** When a submission that is taken for three seconds is renewed, and how its end is written. */
class RenewalTest {

  private static final Duration CLAIM = Duration.ofSeconds(3);
  private static final long PATIENCE_SECONDS = 20;

  private final ApplicationContext context = ApplicationContext.run();
  private final BlockingQueue<CompletableFuture<Boolean>> renewals = new LinkedBlockingQueue<>();
  private boolean throwsOnce;

  private final Renewal held =
      new Renewal(context.getBean(LimiterTimer.class), CLAIM, Duration.ofHours(1), () -> {}) {
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

        @Override
        void reportLost() {}
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

  /** Otherwise an outage of a third of the time could end what is held. */
  @Test
  void isRenewedSoonAfterARenewalThatFailed() throws Exception {
    held.schedule();
    for (int i = 0; i < 3; i++) {
      long fromNanos = System.nanoTime();
      renewal().completeExceptionally(new IllegalStateException("away"));
      if (i > 0) {
        assertThat(Duration.ofNanos(System.nanoTime() - fromNanos)).isLessThan(CLAIM.dividedBy(4));
      }
    }
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

  /** Its time is over, so the end frees it, whichever command the store executes first. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aClaimThatItsEndHasFreedIsNotReportedAsLost(boolean endFirst) throws Exception {
    Reservation guard =
        (Reservation)
            Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {Reservation.class},
                (proxy, hold, arguments) -> sent());
    LimiterTimer timer = context.getBean(LimiterTimer.class);
    ClaimRenewal claim = new ClaimRenewal(timer, CLAIM, Duration.ofMillis(1), guard);
    try (RecordedLog log = RecordedLog.of(GuardedSubmissions.class)) {
      claim.schedule();
      CompletableFuture<Long> renewal = write();
      timer.schedule(() -> {}, 0).get(); // its thread waits for the reply from now on
      CompletionStage<Long> end = claim.keep();
      (endFirst ? write() : renewal).complete(endFirst ? 1L : 0L);
      (endFirst ? renewal : write()).complete(endFirst ? 0L : 1L);
      assertThat(end).isCompletedWithValue(1L);
      assertThat(log.messages()).isEmpty();
    }
  }

  private final AtomicInteger pending = new AtomicInteger();
  private final AtomicInteger over = new AtomicInteger();
  private final BlockingQueue<CompletableFuture<Long>> writes = new LinkedBlockingQueue<>();

  private WrittenEnd end(Duration within) {
    return new WrittenEnd(
        context.getBean(LimiterTimer.class),
        pending,
        this::sent,
        within,
        "lost",
        over::incrementAndGet);
  }

  private CompletionStage<Long> sent() {
    CompletableFuture<Long> write = new CompletableFuture<>();
    writes.add(write);
    return write;
  }

  private CompletableFuture<Long> write() throws InterruptedException {
    CompletableFuture<Long> next = writes.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
    assertThat(next).as("a write").isNotNull();
    return next;
  }

  private static void fail(CompletableFuture<Long> write) {
    write.completeExceptionally(new IllegalStateException("away"));
  }

  @Test
  void anEndIsWrittenWithGrowingPausesUntilTheStoreHasIt() throws Exception {
    CompletionStage<Void> first = end(Duration.ofHours(1)).write();
    CompletableFuture<Long> next = write();
    for (int pause = 100; pause <= 800; pause *= 2) {
      long fromNanos = System.nanoTime();
      fail(next);
      assertThat(first).as("does not wait for the others").isCompleted();
      assertThat(pending).hasValue(1);
      next = write();
      assertThat(System.nanoTime() - fromNanos)
          .isGreaterThanOrEqualTo(Duration.ofMillis(pause).toNanos());
    }
    next.complete(1L);
    await().until(() -> over.get() == 1); // the timer's thread may have just returned the write
    assertThat(pending).hasValue(0);
    assertThat(writes.poll(500, TimeUnit.MILLISECONDS)).isNull();
  }

  @Test
  void anEndIsNotWrittenWhenItIsOfNoUseAnyMore() throws Exception {
    var unused = end(Duration.ofMillis(250)).write();
    fail(write());
    fail(write());
    assertThat(writes.poll(1, TimeUnit.SECONDS)).isNull();
    assertThat(pending).hasValue(0);
    assertThat(over).hasValue(1);
  }

  @Test
  void tooManyEndsAreWrittenOnce() throws Exception {
    pending.set(WrittenEnd.MOST);
    var unused = end(Duration.ofHours(1)).write();
    fail(write());
    assertThat(writes.poll(500, TimeUnit.MILLISECONDS)).isNull();
    assertThat(pending).hasValue(WrittenEnd.MOST);
    assertThat(over).hasValue(1);
  }
}
