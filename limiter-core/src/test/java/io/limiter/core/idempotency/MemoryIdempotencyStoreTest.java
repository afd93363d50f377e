// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.idempotency;

import static io.limiter.core.idempotency.IdempotencyStoreContract.join;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.limiter.core.Claim;
import io.limiter.core.Claim.State;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.Submission;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MemoryIdempotencyStoreTest implements IdempotencyStoreContract {

  /** The clock overflows in every test. */
  private final AtomicLong nanos = new AtomicLong(Long.MAX_VALUE - 1_000);

  private final MemoryIdempotencyStore store =
      new MemoryIdempotencyStore(1_000, 10_000_000, nanos::get);

  @Override
  public IdempotencyStore store() {
    return store;
  }

  @Override
  public void pass(Duration time) {
    nanos.addAndGet(time.toNanos());
  }

  private MemoryIdempotencyStore bounded(int entries, long bytes) {
    return new MemoryIdempotencyStore(entries, bytes, nanos::get);
  }

  private static Claim claim(IdempotencyStore store, String submission) {
    return join(store.claim(new Submission(SUBJECT.answers(submission), SAME, MINUTE)));
  }

  private static void answer(IdempotencyStore store, String submission, int length) {
    assertThat(join(store.answer(claim(store, submission), new byte[length], HOUR))).isTrue();
  }

  private static void assertOverloaded(CompletionStage<?> stage, String message) {
    assertThat(stage)
        .failsWithin(Duration.ZERO)
        .withThrowableThat()
        .havingRootCause()
        .isInstanceOfSatisfying(
            StoreException.class,
            failure -> assertThat(failure.reason()).isEqualTo(FailureReason.OVERLOADED))
        .withMessage(message);
  }

  @Test
  void theOldestAnswersMakeRoomForClaims() {
    MemoryIdempotencyStore small = bounded(3, 1_000);
    Claim running = claim(small, "runs");
    answer(small, "older", 1);
    answer(small, "newer", 1);

    assertThat(claim(small, "next").state()).isEqualTo(State.CLAIMED);

    assertThat(small.size()).isEqualTo(3);
    assertThat(claim(small, "newer").state()).isEqualTo(State.ANSWERED);
    assertThat(claim(small, "older").state()).as("in the place of newer").isEqualTo(State.CLAIMED);
    assertThat(join(small.renew(running, MINUTE))).isTrue();
  }

  @Test
  void aClaimIsNeverRemovedBeforeItsTime() {
    MemoryIdempotencyStore small = bounded(2, 1_000);
    Claim first = claim(small, "first");
    Claim second = claim(small, "second");

    assertOverloaded(
        small.claim(new Submission(KEY, SAME, MINUTE)),
        "The memory store is full of 2 submissions that run: increase its size");
    assertThat(claim(small, "first").state()).isEqualTo(State.RUNNING);
    assertThat(join(small.answer(first, new byte[0], HOUR))).isTrue();
    assertThat(join(small.release(second))).isTrue();
    assertThat(join(small.claim(new Submission(KEY, SAME, MINUTE))).state())
        .isEqualTo(State.CLAIMED);
  }

  /** They need no access to be removed, and go before answers that are still kept. */
  @Test
  void whatHasExpiredTakesNoRoom() {
    MemoryIdempotencyStore small = bounded(2, 10);
    answer(small, "kept", 5);
    assertThat(join(small.answer(claim(small, "short"), new byte[5], SECOND))) // newer, but shorter
        .isTrue();
    pass(SECOND);
    assertThat(small.size()).isOne();
    answer(small, "next", 5);
    assertThat(claim(small, "kept").state()).isEqualTo(State.ANSWERED);
  }

  /** A call does not take longer the more submissions have expired. */
  @Test
  void aCallRemovesFewOfThoseThatHaveExpired() {
    MemoryIdempotencyStore small = bounded(1_000, 1_000);
    for (int i = 0; i < 1_000; i++) {
      answer(small, "key-" + i, 1);
    }
    pass(HOUR);

    assertThat(claim(small, "key-900").state()).as("has expired").isEqualTo(State.CLAIMED);
    assertThat(small.kept()).isBetween(980, 1_000);
    answer(small, "large", 900);

    assertThat(claim(small, "key-900").state()).isEqualTo(State.RUNNING);
    assertThat(small.size()).isEqualTo(2);
  }

  @Test
  void theOldestAnswersMakeRoomForTheBytesOfOthers() {
    MemoryIdempotencyStore small = bounded(100, 10);
    answer(small, "first", 4);
    answer(small, "second", 4);
    answer(small, "third", 2);
    assertThat(small.size()).isEqualTo(3);

    answer(small, "fourth", 5);

    assertThat(small.size()).isEqualTo(2);
    assertThat(small.answerBytes()).isEqualTo(7);
    assertThat(claim(small, "third").state()).isEqualTo(State.ANSWERED);
    assertThat(claim(small, "fourth").state()).isEqualTo(State.ANSWERED);
  }

  @Test
  void anAnswerThatCannotFitLeavesEverythingAsItWas() {
    MemoryIdempotencyStore small = bounded(100, 10);
    answer(small, "kept", 10);
    Claim claim = claim(small, "large");

    assertOverloaded(
        small.answer(claim, new byte[11], HOUR),
        "An answer of 11 bytes does not fit into the 10 bytes of the memory store: increase them, or answer with less");

    assertThat(claim(small, "kept").state()).isEqualTo(State.ANSWERED);
    assertThat(join(small.release(claim))).isTrue();
  }

  /** Whatever is claimed, answered, released, forgotten or left to expire. */
  @Test
  void theBoundsHoldAndAllRoomIsFreedInTheEnd() {
    MemoryIdempotencyStore small = bounded(20, 100);
    Random random = new Random(7);
    int[] answered = new int[1];
    for (int i = 0; i < 20_000; i++) {
      String submission = "key-" + random.nextInt(40);
      small
          .claim(
              new Submission(
                  SUBJECT.answers(submission), SAME, SECOND.multipliedBy(1 + random.nextInt(20))))
          .thenAccept(
              claim -> {
                switch (random.nextInt(5)) {
                  case 0 -> join(small.release(claim));
                  case 1 -> join(small.forget(claim.key()));
                  case 2 -> join(small.renew(claim, MINUTE));
                  case 3 -> {}
                  default -> {
                    byte[] answer = new byte[random.nextInt(60)];
                    if (join(small.answer(claim, answer, SECOND.multipliedBy(10)))) {
                      answered[0]++;
                    }
                  }
                }
              });
      assertThat(small.size()).isLessThanOrEqualTo(20);
      assertThat(small.answerBytes()).isBetween(0L, 100L);
      pass(Duration.ofMillis(random.nextInt(1_000)));
    }
    assertThat(answered[0]).isGreaterThan(500);
    pass(HOUR);
    assertThat(small.size()).isZero();
    assertThat(small.answerBytes()).isZero();
  }

  @Test
  void theLeastRoomIsForOneAnswerWithoutABody() {
    MemoryIdempotencyStore least = bounded(1, 0);
    answer(least, "first", 0);
    assertThat(claim(least, "first").state()).isEqualTo(State.ANSWERED);
    assertThat(claim(least, "second").state()).isEqualTo(State.CLAIMED);
  }

  @ParameterizedTest
  @CsvSource({"0, 1", "-1, 1", "1, -1"})
  void aStoreWithoutRoomIsRejected(int entries, long bytes) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> bounded(entries, bytes))
        .withMessage(
            "A memory store for %s submissions and %s bytes of answers: use 1 or more, and 0 or more",
            entries, bytes);
  }
}
