// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.idempotency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.limiter.core.Claim;
import io.limiter.core.Claim.State;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.Submission;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What every store of claims and answers does. Every test has a new store. */
public interface IdempotencyStoreContract {

  Duration SECOND = Duration.ofSeconds(1);
  Duration MINUTE = Duration.ofMinutes(1);
  Duration HOUR = Duration.ofHours(1);

  /** A server measures the time that the test itself takes. */
  Duration SLACK = Duration.ofSeconds(20);

  StateKey SUBJECT = StateKey.of("orders", new Subject("user", "ada"));
  StateKey KEY = SUBJECT.answers("key-1");
  byte[] SAME = fingerprint('s');
  byte[] OTHER = fingerprint('o');

  IdempotencyStore store();

  /** Moves the time of all claims and answers. */
  void pass(Duration time);

  static byte[] fingerprint(char filled) {
    byte[] fingerprint = new byte[Submission.FINGERPRINT_BYTES];
    Arrays.fill(fingerprint, (byte) filled);
    return fingerprint;
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static <T> T join(CompletionStage<T> stage) {
    return stage.toCompletableFuture().orTimeout(30, TimeUnit.SECONDS).join();
  }

  default Claim claim() {
    return join(store().claim(new Submission(KEY, SAME, MINUTE)));
  }

  default Claim claimed() {
    Claim claim = claim();
    assertThat(claim.state()).isEqualTo(State.CLAIMED);
    return claim;
  }

  default boolean answer(Claim claim, String answer) {
    return join(store().answer(claim, bytes(answer), HOUR));
  }

  default boolean renew(Claim claim, Duration time) {
    return join(store().renew(claim, time));
  }

  default boolean release(Claim claim) {
    return join(store().release(claim));
  }

  default void assertRuns(Duration left) {
    Claim found = claim();
    assertThat(found.state()).isEqualTo(State.RUNNING);
    assertThat(found.left()).isBetween(left.minus(SLACK), left);
    assertThat(found.answer()).isEmpty();
  }

  default void assertAnswered(String answer, Duration left) {
    Claim found = claim();
    assertThat(found.state()).isEqualTo(State.ANSWERED);
    assertThat(found.answer()).asString(StandardCharsets.UTF_8).isEqualTo(answer);
    assertThat(found.left()).isBetween(left.minus(SLACK), left);
  }

  @Test
  default void theFirstRunsAndARepetitionGetsItsAnswer() {
    Claim first = claimed();
    assertThat(first.key()).isEqualTo(KEY);
    assertThat(first.left()).isZero();
    assertThat(first.answer()).isEmpty();
    assertRuns(MINUTE);

    assertThat(answer(first, "201 Created")).isTrue();

    assertAnswered("201 Created", HOUR);
  }

  @Test
  default void anotherFingerprintIsAnotherSubmissionWithTheSameKey() {
    Claim first = claimed();
    Claim whileItRuns = join(store().claim(new Submission(KEY, OTHER, MINUTE)));
    assertThat(whileItRuns.state()).isEqualTo(State.DIFFERENT);
    assertThat(answer(first, "secret")).isTrue();
    Claim afterwards = join(store().claim(new Submission(KEY, OTHER, MINUTE)));

    assertThat(List.of(whileItRuns, afterwards))
        .allSatisfy(
            found -> {
              assertThat(found.state()).isEqualTo(State.DIFFERENT);
              assertThat(found.answer()).isEmpty();
              assertThat(found.left()).isZero();
            });
    assertAnswered("secret", HOUR);
  }

  @Test
  default void submissionsAndSubjectsAreApart() {
    List<StateKey> keys =
        List.of(
            KEY,
            SUBJECT.answers("key-2"),
            StateKey.of("orders", new Subject("user", "bob")).answers("key-1"),
            StateKey.of("refunds", new Subject("user", "ada")).answers("key-1"));
    try {
      assertThat(keys)
          .allSatisfy(
              key ->
                  assertThat(join(store().claim(new Submission(key, SAME, MINUTE))).state())
                      .isEqualTo(State.CLAIMED));
    } finally {
      keys.forEach(key -> join(store().forget(key)));
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 1_000, 1_000_000})
  default void anAnswerIsKeptByteForByte(int length) {
    byte[] answer = new byte[length];
    for (int i = 0; i < length; i++) {
      answer[i] = (byte) i;
    }
    byte[] expected = answer.clone();
    assertThat(join(store().answer(claimed(), answer, HOUR))).isTrue();
    Arrays.fill(answer, (byte) 0);

    Claim found = claim();
    Arrays.fill(found.answer(), (byte) 0);

    assertThat(found.answer()).isEqualTo(expected);
    assertThat(claim().answer()).isEqualTo(expected);
  }

  @Test
  default void aClaimThatIsRenewedLivesOn() {
    Claim first = claimed();
    pass(SECOND.multipliedBy(30));
    assertThat(renew(first, MINUTE)).isTrue();
    assertRuns(MINUTE);
    pass(SECOND.multipliedBy(35)); // past its first minute
    assertRuns(SECOND.multipliedBy(25));
    assertThat(answer(first, "late")).isTrue();
    assertAnswered("late", HOUR);
  }

  @Test
  default void aClaimThatHasExpiredIsNeverRevived() {
    Claim first = claimed();
    pass(MINUTE);

    assertThat(renew(first, MINUTE)).isFalse();
    assertThat(answer(first, "late")).isFalse();
    assertThat(release(first)).isFalse();

    claimed();
  }

  /** A method that outlives its claim. */
  @Test
  default void aLostClaimChangesNothingOfTheNextOne() {
    Claim first = claimed();
    pass(MINUTE);
    Claim second = claimed();

    assertThat(renew(first, HOUR)).isFalse();
    assertThat(answer(first, "older")).isFalse();
    assertThat(release(first)).isFalse();
    assertRuns(MINUTE);

    assertThat(answer(second, "newer")).isTrue();
    assertThat(renew(first, HOUR.multipliedBy(9))).isFalse();
    assertThat(answer(first, "older")).isFalse();
    assertThat(release(first)).isFalse();
    assertAnswered("newer", HOUR);
  }

  @Test
  default void aReleasedSubmissionMayBeMadeAgain() {
    Claim first = claimed();
    assertThat(release(first)).isTrue();
    assertThat(release(first)).isFalse();
    assertThat(renew(first, MINUTE)).isFalse();
    assertThat(answer(first, "late")).isFalse();

    Claim second = join(store().claim(new Submission(KEY, OTHER, MINUTE)));
    assertThat(second.state()).isEqualTo(State.CLAIMED);
    assertThat(release(first)).isFalse();
    assertThat(join(store().claim(new Submission(KEY, OTHER, MINUTE))).state())
        .isEqualTo(State.RUNNING);
  }

  /** Its caller may not have received the reply to the first attempt. */
  @Test
  default void aClaimIsAnsweredOnce() {
    Claim first = claimed();
    assertThat(answer(first, "first")).isTrue();
    pass(MINUTE);

    assertThat(answer(first, "second")).isTrue();
    assertThat(renew(first, HOUR.multipliedBy(9))).isFalse();
    assertThat(release(first)).isFalse();

    assertAnswered("first", HOUR.minus(MINUTE));
  }

  @Test
  default void anAnswerIsKeptForItsTime() {
    assertThat(answer(claimed(), "kept")).isTrue();
    pass(HOUR.minus(SLACK));
    assertAnswered("kept", SLACK);
    pass(SLACK);
    claimed();
  }

  @Test
  default void aClaimOrAnAnswerIsForgotten() {
    Claim first = claimed();
    assertThat(store().forget(KEY)).succeedsWithin(MINUTE);
    assertThat(answer(first, "forgotten")).isFalse();
    assertThat(answer(claimed(), "answer")).isTrue();
    assertThat(store().forget(KEY)).succeedsWithin(MINUTE);
    assertThat(store().forget(KEY)).succeedsWithin(MINUTE);
    claimed();
  }

  @Test
  default void whatIsNoClaimCannotBeUsedAsOne() {
    Claim first = claimed();
    Claim running = claim();
    assertThat(renew(running, HOUR)).isFalse();
    assertThat(answer(running, "wrong")).isFalse();
    assertThat(release(running)).isFalse();
    assertRuns(MINUTE);
    assertThat(answer(first, "right")).isTrue();
    Claim answered = claim();
    assertThat(answer(answered, "wrong")).isFalse();
    assertThat(release(answered)).isFalse();
    assertAnswered("right", HOUR);
  }

  @Test
  default void ofManyAtOnceOneRuns() {
    List<CompletableFuture<Claim>> claims =
        IntStream.range(0, 200)
            .parallel()
            .mapToObj(i -> store().claim(new Submission(KEY, SAME, MINUTE)).toCompletableFuture())
            .toList();
    List<State> states = claims.stream().map(claim -> join(claim).state()).toList();

    assertThat(states).hasSize(200).containsOnlyOnce(State.CLAIMED);
    assertThat(states).filteredOn(State.RUNNING::equals).hasSize(199);
  }

  /** No time is invalid: those of a fraction of a millisecond are rounded up. */
  @ParameterizedTest
  @ValueSource(strings = {"PT0S", "-PT1S", "-PT2562047788015215H", "PT0.000000001S"})
  default void theShortestTimeIsAMillisecond(String time) {
    assertThat(join(store().claim(new Submission(KEY, SAME, Duration.parse(time)))).state())
        .isEqualTo(State.CLAIMED);
    pass(Duration.ofMillis(1));
    claimed();
  }

  @Test
  default void theLongestTimeIsAYear() {
    Duration endless = Duration.ofSeconds(Long.MAX_VALUE, 999_999_999);
    assertThat(join(store().claim(new Submission(KEY, SAME, endless))).state())
        .isEqualTo(State.CLAIMED);
    assertRuns(Duration.ofDays(366));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 31, 33})
  default void aFingerprintHasTheLengthOfItsHash(int length) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> store().claim(new Submission(KEY, new byte[length], MINUTE)))
        .withMessage("A fingerprint of %s bytes: use 32, a SHA-256", length);
  }
}
