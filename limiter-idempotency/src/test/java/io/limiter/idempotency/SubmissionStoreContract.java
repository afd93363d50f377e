// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.idempotency.Entry.Kept;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What every store of submissions does. Every test has a new store. */
interface SubmissionStoreContract {

  Duration MINUTE = Duration.ofMinutes(1);
  Duration HOUR = Duration.ofHours(1);

  /** A server measures the time that the test itself takes. */
  Duration SLACK = Duration.ofSeconds(20);

  /** Of answers of one subject. */
  int BYTES_OF_SUBJECT = 1_000;

  StateKey SUBJECT = StateKey.of("submissions", new Subject("user", "ada"));
  StateKey OTHER_SUBJECT = StateKey.of("submissions", new Subject("user", "bob"));
  StateKey KEY = SUBJECT.answers("key-1");
  byte[] HEAD = filled('h');
  byte[] BODY = filled('b');
  byte[] OTHER = filled('o');

  SubmissionStore store();

  /** Moves the time of all that is stored. */
  void pass(Duration time);

  static byte[] filled(char with) {
    byte[] filled = new byte[Fingerprints.BYTES];
    Arrays.fill(filled, (byte) with);
    return filled;
  }

  static End answer(String text) {
    return End.answer(text.getBytes(StandardCharsets.UTF_8));
  }

  static <T> T join(CompletionStage<T> stage) {
    return stage.toCompletableFuture().orTimeout(30, TimeUnit.SECONDS).join();
  }

  /** The claim of a key with a token that is filled with one character. */
  static Claim by(StateKey key, char token) {
    return new Claim(key, filled(token), HEAD, Entry.NONE);
  }

  static Claim by(char token) {
    return by(KEY, token);
  }

  default Found claim(Claim claim) {
    return join(store().claim(claim, MINUTE));
  }

  default Kept end(Claim claim, End end) {
    return join(store().end(claim, end, HOUR));
  }

  default void assertAnswer(String text) {
    Found found = claim(by('z'));
    assertThat(found.kind()).isEqualTo(Found.Kind.ANSWERED);
    assertThat(found.answer()).asString(StandardCharsets.UTF_8).isEqualTo(text);
    assertThat(found.left()).isBetween(HOUR.minus(SLACK), HOUR);
  }

  default void assertFinds(Found.Kind kind) {
    assertThat(claim(by('z')).kind()).isEqualTo(kind);
  }

  @Test
  default void aSubmissionIsClaimedOnceAndThenAnswered() {
    assertThat(claim(by('1')).kind()).isEqualTo(Found.Kind.CLAIMED);
    Found repeated = claim(by('2'));
    assertThat(repeated.kind()).isEqualTo(Found.Kind.RUNNING);
    assertThat(repeated.left()).isBetween(MINUTE.minus(SLACK), MINUTE);
    assertThat(end(by('1'), answer("first"))).isEqualTo(Kept.KEPT);
    assertAnswer("first");
  }

  @Test
  default void aLookFindsWhatAClaimWouldFindAndChangesNothing() {
    assertThat(look(by('2')).kind()).isEqualTo(Found.Kind.ABSENT);
    assertThat(claim(by('1').withBody(BODY)).kind()).as("free still").isEqualTo(Found.Kind.CLAIMED);

    Found running = look(by('2'));
    assertThat(running.kind()).isEqualTo(Found.Kind.RUNNING);
    assertThat(running.left()).isBetween(MINUTE.minus(SLACK), MINUTE);
    assertThat(running.differsFrom(OTHER)).isTrue();
    assertThat(look(by('2').withBody(OTHER)).kind()).isEqualTo(Found.Kind.DIFFERENT);
    assertThat(look(new Claim(KEY, filled('2'), OTHER, Entry.NONE)).kind())
        .isEqualTo(Found.Kind.DIFFERENT);

    end(by('1'), answer("first"));
    Found answered = look(by('2'));
    assertThat(answered.kind()).isEqualTo(Found.Kind.ANSWERED);
    assertThat(answered.answer()).asString(StandardCharsets.UTF_8).isEqualTo("first");
    assertAnswer("first");

    pass(HOUR);
    assertThat(look(by('2')).kind()).isEqualTo(Found.Kind.ABSENT);
    claim(by('3'));
    end(by('3'), End.DONE);
    assertThat(look(by('2')).kind()).isEqualTo(Found.Kind.DONE);
  }

  private Found look(Claim claim) {
    return join(store().look(claim));
  }

  @Test
  default void anotherHeadIsAnotherSubmission() {
    claim(by('1'));
    Claim other = new Claim(KEY, filled('2'), OTHER, Entry.NONE);
    assertThat(claim(other).kind()).isEqualTo(Found.Kind.DIFFERENT);
    end(by('1'), answer("first"));
    Found found = claim(other);
    assertThat(found.kind()).isEqualTo(Found.Kind.DIFFERENT);
    assertThat(found.answer()).isEmpty();
  }

  @Test
  default void anotherBodyIsAnotherSubmissionOnceBothAreKnown() {
    claim(by('1').withBody(BODY));
    assertThat(claim(by('2')).kind()).isEqualTo(Found.Kind.RUNNING);
    assertThat(claim(by('2')).differsFrom(OTHER)).isTrue();
    assertThat(claim(by('2')).differsFrom(BODY)).isFalse();
    assertThat(claim(by('2').withBody(BODY)).kind()).isEqualTo(Found.Kind.RUNNING);
    assertThat(claim(by('2').withBody(OTHER)).kind()).isEqualTo(Found.Kind.DIFFERENT);
  }

  @Test
  default void aBodyThatIsReadAfterTheClaimGoesWithARenewal() {
    claim(by('1'));
    assertThat(claim(by('2')).differsFrom(OTHER)).as("not known").isFalse();
    assertThat(join(store().renew(by('1').withBody(BODY), HOUR))).isTrue();
    Found found = claim(by('2'));
    assertThat(found.differsFrom(OTHER)).isTrue();
    assertThat(found.left()).isBetween(HOUR.minus(SLACK), HOUR);
  }

  @Test
  default void aBodyThatIsReadAfterTheClaimGoesWithTheEnd() {
    claim(by('1'));
    assertThat(end(by('1').withBody(BODY), answer("first"))).isEqualTo(Kept.KEPT);
    assertThat(claim(by('2')).differsFrom(OTHER)).isTrue();
    assertThat(end(by('1').withBody(OTHER), answer("again"))).isEqualTo(Kept.KEPT);
    assertThat(claim(by('2')).differsFrom(BODY)).as("the first stays").isFalse();
    assertAnswer("first");
  }

  @ParameterizedTest
  @EnumSource(End.Kind.class)
  default void theEndOfAnotherClaimChangesNothing(End.Kind kind) {
    End end = new End(kind, answer("late").answer());
    assertThat(end(by('1'), end)).as("no claim").isEqualTo(Kept.LOST);
    assertThat(claim(by('2')).kind()).isEqualTo(Found.Kind.CLAIMED);
    assertThat(end(by('1'), end)).isEqualTo(Kept.LOST);
    assertFinds(Found.Kind.RUNNING);
    end(by('2'), answer("second"));
    assertThat(end(by('1'), end)).isEqualTo(Kept.LOST);
    assertAnswer("second");
  }

  @Test
  default void anAnswerIsFinal() {
    claim(by('1'));
    assertThat(end(by('1'), answer("first"))).isEqualTo(Kept.KEPT);
    assertThat(end(by('1'), answer("again"))).isEqualTo(Kept.KEPT);
    assertThat(end(by('1'), End.DONE)).as("a late command").isEqualTo(Kept.KEPT);
    assertThat(end(by('1'), End.RELEASE)).isEqualTo(Kept.LOST);
    assertThat(join(store().renew(by('1'), MINUTE))).isFalse();
    assertAnswer("first");
  }

  @Test
  default void whatIsDoneMayStillGetItsAnswerOrBeReleased() {
    claim(by('1'));
    assertThat(end(by('1').withBody(BODY), End.DONE)).isEqualTo(Kept.KEPT);
    Found found = claim(by('2'));
    assertThat(found.kind()).isEqualTo(Found.Kind.DONE);
    assertThat(found.left()).isBetween(HOUR.minus(SLACK), HOUR);
    assertThat(found.differsFrom(OTHER)).isTrue();
    assertThat(join(store().renew(by('1'), MINUTE))).isFalse();
    assertThat(end(by('2'), answer("other"))).isEqualTo(Kept.LOST);
    assertThat(end(by('1'), answer("late"))).isEqualTo(Kept.KEPT);
    assertAnswer("late");

    StateKey next = SUBJECT.answers("key-2");
    claim(by(next, '1'));
    end(by(next, '1'), End.DONE);
    assertThat(end(by(next, '1'), End.RELEASE)).isEqualTo(Kept.KEPT);
    assertThat(claim(by(next, '2')).kind()).isEqualTo(Found.Kind.CLAIMED);
  }

  @Test
  default void whatIsDoneAgainIsKeptFromThenOn() {
    claim(by('1'));
    end(by('1'), End.DONE);
    pass(MINUTE);
    assertThat(claim(by('2')).left()).isLessThanOrEqualTo(HOUR.minus(MINUTE));
    assertThat(end(by('1'), End.DONE)).isEqualTo(Kept.KEPT);
    assertThat(claim(by('2')).left()).isGreaterThan(HOUR.minus(SLACK));
    end(by('1'), answer("first"));
    pass(MINUTE);
    end(by('1'), answer("again"));
    assertThat(claim(by('2')).left()).as("a late one").isLessThanOrEqualTo(HOUR.minus(MINUTE));
  }

  @Test
  default void aReleasedKeyIsClaimedAgain() {
    claim(by('1'));
    assertThat(end(by('1'), End.RELEASE)).isEqualTo(Kept.KEPT);
    assertThat(end(by('1'), End.RELEASE)).isEqualTo(Kept.LOST);
    assertThat(claim(by('2')).kind()).isEqualTo(Found.Kind.CLAIMED);
    assertThat(end(by('1'), End.RELEASE)).isEqualTo(Kept.LOST);
    assertFinds(Found.Kind.RUNNING);
  }

  @Test
  default void aClaimEndsByItself() {
    claim(by('1'));
    pass(MINUTE);
    assertThat(join(store().renew(by('1'), MINUTE))).as("never revived").isFalse();
    assertThat(claim(by('2')).kind()).isEqualTo(Found.Kind.CLAIMED);
    assertThat(join(store().renew(by('1'), MINUTE))).isFalse();
    assertThat(join(store().renew(by('2'), HOUR))).isTrue();
    pass(MINUTE);
    assertFinds(Found.Kind.RUNNING);
  }

  @Test
  default void anAnswerEndsByItself() {
    claim(by('1'));
    end(by('1'), answer("first"));
    pass(HOUR);
    assertFinds(Found.Kind.CLAIMED);
  }

  @Test
  default void keysOfOneSubjectAndOfTwoSubjectsAreApart() {
    claim(by('1'));
    assertThat(claim(by(SUBJECT.answers("key-2"), '2')).kind()).isEqualTo(Found.Kind.CLAIMED);
    assertThat(claim(by(OTHER_SUBJECT.answers("key-1"), '3')).kind()).isEqualTo(Found.Kind.CLAIMED);
  }

  @Test
  default void aForgottenSubmissionIsFree() {
    claim(by('1'));
    join(store().forget(KEY));
    join(store().forget(KEY));
    assertThat(end(by('1'), answer("late"))).isEqualTo(Kept.LOST);
    assertFinds(Found.Kind.CLAIMED);
  }

  /** A caller cannot fill the store with answers. */
  @Test
  default void anAnswerWithoutRoomIsDone() {
    String large = "x".repeat(BYTES_OF_SUBJECT / 2);
    Claim first = by('1');
    claim(first);
    assertThat(end(first, answer(large))).isEqualTo(Kept.KEPT);
    Claim second = by(SUBJECT.answers("key-2"), '2');
    claim(second);
    assertThat(end(second.withBody(BODY), answer(large + "x"))).isEqualTo(Kept.AS_DONE);
    Found found = claim(by(second.key(), '3'));
    assertThat(found.kind()).isEqualTo(Found.Kind.DONE);
    assertThat(found.differsFrom(OTHER)).isTrue();
    assertThat(found.left()).isBetween(HOUR.minus(SLACK), HOUR);

    Claim other = by(OTHER_SUBJECT.answers("key-1"), '4');
    claim(other);
    assertThat(end(other, answer(large))).as("of another subject").isEqualTo(Kept.KEPT);
    Claim short_ = by(SUBJECT.answers("key-3"), '5');
    claim(short_);
    assertThat(end(short_, answer("short"))).as("there is still some room").isEqualTo(Kept.KEPT);

    pass(HOUR);
    claim(by('6'));
    assertThat(end(by('6'), answer(large))).isEqualTo(Kept.KEPT);
  }

  /** One of a day would fill what a caller may keep for a minute. */
  @Test
  default void anAnswerOfADayLeavesRoomForOneOfAMinute() {
    claim(by('1'));
    assertThat(
            join(
                store()
                    .end(by('1'), answer("x".repeat(BYTES_OF_SUBJECT / 4)), HOUR.multipliedBy(24))))
        .isEqualTo(Kept.KEPT);
    Claim second = by(SUBJECT.answers("key-2"), '2');
    claim(second);
    assertThat(join(store().end(second, answer("short"), MINUTE))).isEqualTo(Kept.KEPT);
  }

  @Test
  default void anAnswerLargerThanAllRoomIsDone() {
    claim(by('1'));
    assertThat(end(by('1'), answer("x".repeat(BYTES_OF_SUBJECT + 1)))).isEqualTo(Kept.AS_DONE);
    assertFinds(Found.Kind.DONE);
  }

  @Test
  default void anyBytesAreAnAnswer() {
    byte[] all = new byte[256];
    for (int i = 0; i < all.length; i++) {
      all[i] = (byte) i;
    }
    claim(by('1'));
    assertThat(end(by('1'), End.answer(all))).isEqualTo(Kept.KEPT);
    assertThat(claim(by('2')).answer()).isEqualTo(all);
    StateKey next = SUBJECT.answers("key-2");
    claim(by(next, '1'));
    assertThat(end(by(next, '1'), answer(""))).isEqualTo(Kept.KEPT);
    Found none = claim(by(next, '2'));
    assertThat(none.kind()).isEqualTo(Found.Kind.ANSWERED);
    assertThat(none.answer()).isEmpty();
  }

  @Test
  default void timesAreLimited() {
    join(store().claim(by('1'), Duration.ofSeconds(Long.MAX_VALUE)));
    assertThat(claim(by('2')).left()).isBetween(Duration.ofDays(365), Duration.ofDays(366));
    assertThat(join(store().renew(by('1'), Duration.ofNanos(1)))).isTrue();
  }
}
