// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class RandomBytesTest {

  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
  private final AtomicInteger drawn = new AtomicInteger();
  private long nowMillis = 1_000_000;
  private final RandomBytes random =
      new RandomBytes(
          4,
          bytes -> Arrays.fill(bytes, (byte) drawn.incrementAndGet()),
          tasks::add,
          () -> nowMillis);

  @Test
  void bytesAreDrawnElsewhereForManyCalls() {
    CompletionStage<byte[]> first = random.next();
    CompletionStage<byte[]> second = random.next();
    assertThat(first.toCompletableFuture()).isNotDone();
    assertThat(tasks).as("one for both").hasSize(1);
    tasks.remove().run();
    assertThat(SubmissionStoreContract.join(first)).isEqualTo(new byte[] {1, 1, 1, 1});
    assertThat(SubmissionStoreContract.join(second)).isEqualTo(new byte[] {1, 1, 1, 1});
    for (int i = 0; i < 100; i++) {
      assertThat(random.next().toCompletableFuture()).isDone();
    }
    assertThat(drawn).hasValue(1);
    for (int i = 0; i < 100; i++) {
      assertThat(random.next().toCompletableFuture()).isDone();
    }
    assertThat(tasks).as("more are drawn before there are none").hasSize(1);
  }

  /** A snapshot of the process, started twice, would have the same pool in both. */
  @Test
  void oldBytesAreNotUsed() {
    var unused = random.next();
    tasks.remove().run();
    nowMillis += 1_001;
    CompletionStage<byte[]> next = random.next();
    assertThat(next.toCompletableFuture()).isNotDone();
    tasks.remove().run();
    assertThat(SubmissionStoreContract.join(next)).isEqualTo(new byte[] {2, 2, 2, 2});
    nowMillis -= 5_000;
    assertThat(random.next().toCompletableFuture()).as("the clock was set back").isNotDone();
  }

  @Test
  void thoseWhoWaitAreBounded() {
    for (int i = 0; i < 10_000; i++) {
      assertThat(random.next().toCompletableFuture()).isNotDone();
    }
    assertThat(random.next())
        .failsWithin(Duration.ZERO)
        .withThrowableThat()
        .havingCause()
        .isInstanceOfSatisfying(
            StoreException.class,
            full -> assertThat(full.reason()).isEqualTo(FailureReason.OVERLOADED));
    tasks.remove().run();
    assertThat(drawn).as("in as many draws as it takes").hasValue(40);
    assertThat(random.next().toCompletableFuture()).isDone();
  }

  @Test
  void aSourceThatFailsFailsThoseWhoWait() {
    RandomBytes broken =
        new RandomBytes(
            4,
            bytes -> {
              throw new IllegalStateException("no source");
            },
            Runnable::run,
            () -> 0);
    for (int i = 0; i < 2; i++) {
      assertThat(broken.next())
          .failsWithin(Duration.ZERO)
          .withThrowableThat()
          .withMessageContaining("no source");
    }
    RandomBytes ended =
        new RandomBytes(
            4,
            bytes -> {},
            task -> {
              throw new RejectedExecutionException("shut down");
            },
            () -> 0);
    assertThat(ended.next())
        .failsWithin(Duration.ZERO)
        .withThrowableThat()
        .withMessageContaining("shut down");
  }
}
