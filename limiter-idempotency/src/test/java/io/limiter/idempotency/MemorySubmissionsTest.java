// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.FailureReason;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.idempotency.Entry.Kept;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class MemorySubmissionsTest implements SubmissionStoreContract {

  private static final int ENTRIES = 5;
  private static final int BYTES = 2 * BYTES_OF_SUBJECT;

  /** Near the overflow of the clock. */
  private long nowNanos = Long.MAX_VALUE - Duration.ofMinutes(30).toNanos();

  private final MemorySubmissions store =
      new MemorySubmissions(ENTRIES, BYTES, BYTES_OF_SUBJECT, () -> nowNanos);

  @Override
  public SubmissionStore store() {
    return store;
  }

  @Override
  public void pass(Duration time) {
    nowNanos += time.toNanos();
  }

  private static Claim of(String subject, int number) {
    return SubmissionStoreContract.by(
        StateKey.of("submissions", new Subject("user", subject)).answers("key-" + number),
        (char) ('0' + number));
  }

  @Test
  void aFullStoreClaimsNothingAndForgetsNothing() {
    for (int i = 0; i < ENTRIES; i++) {
      assertThat(claim(of("ada", i)).kind()).isEqualTo(Found.Kind.CLAIMED);
    }
    assertThat(end(of("ada", 0), SubmissionStoreContract.answer("kept"))).isEqualTo(Kept.KEPT);
    assertThat(store.claim(of("ada", ENTRIES), MINUTE))
        .failsWithin(Duration.ZERO)
        .withThrowableThat()
        .havingRootCause()
        .isInstanceOfSatisfying(
            StoreException.class,
            full -> assertThat(full.reason()).isEqualTo(FailureReason.OVERLOADED))
        .withMessage(
            "The memory store is full of 5 submissions: increase its size, or keep them for a shorter time");
    assertThat(claim(of("ada", 0)).kind()).isEqualTo(Found.Kind.ANSWERED);

    pass(MINUTE);
    assertThat(claim(of("ada", ENTRIES)).kind()).isEqualTo(Found.Kind.CLAIMED);
    assertThat(store.usage()).containsExactly(2, 4, 1);
  }

  @Test
  void theAnswersOfAllSubjectsAreBoundedTogether() {
    String large = "x".repeat(BYTES_OF_SUBJECT - 1);
    for (String subject : new String[] {"ada", "bob"}) {
      claim(of(subject, 1));
      assertThat(end(of(subject, 1), SubmissionStoreContract.answer(large))).isEqualTo(Kept.KEPT);
    }
    claim(of("eve", 1));
    assertThat(end(of("eve", 1), SubmissionStoreContract.answer("xxx"))).isEqualTo(Kept.AS_DONE);
    claim(of("eve", 2));
    assertThat(end(of("eve", 2), SubmissionStoreContract.answer("xx"))).isEqualTo(Kept.KEPT);

    pass(HOUR);
    assertThat(store.usage()).containsExactly(0, 0, 0);
  }
}
