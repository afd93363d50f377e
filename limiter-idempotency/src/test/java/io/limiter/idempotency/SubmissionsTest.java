// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.FailureReason;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.idempotency.Entry.Kept;
import io.limiter.idempotency.Holding.Times;
import io.limiter.idempotency.Submissions.Attempt;
import io.limiter.idempotency.Submissions.Held;
import io.limiter.idempotency.Submissions.Outcome;
import io.limiter.idempotency.Submissions.Request;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A claim and its commands, over a store whose replies the test gives. */
class SubmissionsTest {

  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final Duration CLAIM = Duration.ofSeconds(30);
  private static final Duration RETAIN = Duration.ofHours(24);
  private static final Duration LONGEST_RUN = Duration.ofHours(1);
  private static final int MAX_PENDING = 100;
  private static final StateKey KEY = new StateKey("tag", "a.key");
  private static final byte[] HEAD = {1};

  private final ManualTiming timing = new ManualTiming();
  private final FakeStore store = new FakeStore();
  private final List<Outcome> outcomes = new ArrayList<>();
  private final Submissions submissions =
      new Submissions(
          store,
          timing,
          new RandomBytes(Claim.TOKEN_BYTES, Runnable::run),
          MAX_PENDING,
          (route, outcome) -> outcomes.add(outcome));

  /** Commands whose replies the test gives, with the time of each. */
  private final class FakeStore implements SubmissionStore {

    private record Sent(
        String what, Claim claim, End end, long millis, CompletableFuture<Object> reply) {}

    private final List<Sent> sent = new ArrayList<>();

    @SuppressWarnings("unchecked")
    private <T> CompletionStage<T> send(String what, Claim claim, End end) {
      CompletableFuture<Object> reply = new CompletableFuture<>();
      long millis = Duration.ofNanos(timing.nanos()).toMillis();
      sent.add(new Sent(what, claim, end, millis, reply));
      return (CompletionStage<T>) reply;
    }

    @Override
    public CompletionStage<Found> claim(Claim claim, Duration time) {
      assertThat(time).isEqualTo(CLAIM);
      return send("claim", claim, End.RELEASE);
    }

    @Override
    public CompletionStage<Found> look(Claim claim) {
      return send("look", claim, End.RELEASE);
    }

    @Override
    public CompletionStage<Boolean> renew(Claim claim, Duration time) {
      assertThat(time).isEqualTo(CLAIM);
      return send("renew", claim, End.RELEASE);
    }

    @Override
    public CompletionStage<Kept> end(Claim claim, End end, Duration time) {
      assertThat(time).isEqualTo(RETAIN);
      return send("end", claim, end);
    }

    @Override
    public CompletionStage<Void> forget(StateKey key) {
      return CompletableFuture.completedFuture(null);
    }

    Sent last() {
      return sent.get(sent.size() - 1);
    }

    void answer(Object reply) {
      last().reply().complete(reply);
    }

    void fail(FailureReason reason) {
      last().reply().completeExceptionally(new StoreException(reason, "no reply", null));
    }

    /** The times of all commands of a kind. */
    List<Long> times(String what) {
      return sent.stream().filter(some -> some.what().equals(what)).map(Sent::millis).toList();
    }
  }

  private CompletionStage<Attempt> claim() {
    return submissions.claim(
        new Request(KEY, HEAD, Entry.NONE, Times.of(CLAIM, RETAIN, LONGEST_RUN), "route"));
  }

  private Held held() {
    CompletionStage<Attempt> claim = claim();
    store.answer(Found.of(Found.Kind.CLAIMED));
    Attempt attempt = SubmissionStoreContract.join(claim);
    assertThat(attempt.held()).isNotNull();
    return attempt.held();
  }

  private Held entered() {
    Held held = held();
    assertThat(held.enter()).isTrue();
    return held;
  }

  private static End answer(int bytes) {
    return SubmissionStoreContract.answer("x".repeat(bytes));
  }

  private void assertNothingIsLeft() {
    assertThat(timing.pending()).as("timers").isZero();
    assertThat(submissions.pendingBytes()).isZero();
  }

  @Test
  void theUsualWayHasTwoCommands() {
    Held held = entered();
    held.bodyRead(new byte[] {7});
    held.end(answer(10));
    assertThat(store.sent).extracting("what").containsExactly("claim", "end");
    assertThat(store.last().claim().body()).containsExactly(7);
    assertThat(store.last().claim().token()).isEqualTo(store.sent.get(0).claim().token());
    assertThat(submissions.pendingBytes()).isEqualTo(10);
    store.answer(Kept.KEPT);
    assertThat(outcomes).containsExactly(Outcome.KEPT);
    assertNothingIsLeft();
  }

  @ParameterizedTest
  @EnumSource(
      value = Found.Kind.class,
      names = {"RUNNING", "DIFFERENT", "ANSWERED", "DONE"})
  void aKeyThatIsTakenIsLeftAlone(Found.Kind kind) {
    CompletionStage<Attempt> claim = claim();
    store.answer(Found.of(kind));
    assertThat(SubmissionStoreContract.join(claim).held()).isNull();
    assertThat(store.sent).hasSize(1);
    assertThat(outcomes).isEmpty();
    assertNothingIsLeft();
  }

  @Test
  void aDeniedCallReleasesTheKeyAtOnce() {
    held().abandon();
    assertThat(store.last().end()).isEqualTo(End.RELEASE);
    store.answer(Kept.KEPT);
    assertThat(outcomes).containsExactly(Outcome.RELEASED);
    assertNothingIsLeft();
  }

  /** The end of a response, whichever filter has made it, does not end the method. */
  @Test
  void onlyTheEndOfTheMethodEndsItsClaim() {
    Held held = entered();
    held.abandon();
    held.abandon();
    assertThat(store.sent).hasSize(1);
    held.end(End.DONE);
    held.end(End.RELEASE);
    held.abandon();
    assertThat(store.sent).hasSize(2);
    assertThat(store.last().end()).isEqualTo(End.DONE);
  }

  @Test
  void aClaimIsRenewedWhileTheMethodRuns() {
    Held held = entered();
    for (int i = 0; i < 6; i++) {
      timing.pass(CLAIM.dividedBy(3));
      assertThat(store.last().what()).isEqualTo("renew");
      store.answer(true);
    }
    assertThat(store.times("renew"))
        .containsExactly(10L * 1000, 20000L, 30000L, 40000L, 50000L, 60000L);
    held.end(End.RELEASE);
    store.answer(Kept.KEPT);
    assertNothingIsLeft();
  }

  /** Else an outage of a third of a claim would end it, though the store is back long before. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aFailedRenewalIsSentAgainSoon(boolean isEnding) {
    Held held = entered();
    if (isEnding) {
      held.end(answer(10));
      store.fail(FailureReason.TIMEOUT);
    }
    int[] sent = {0};
    for (int second = 0; second < 21; second++) { // away from 9.9 s to 20.1 s
      timing.pass(SECOND);
      failAll(sent);
    }
    long before = sent[0];
    timing.pass(SECOND.multipliedBy(2));
    assertThat(store.sent.subList((int) before, store.sent.size()))
        .as("at 22 s of the 30 s")
        .anyMatch(some -> some.what().equals("renew"));
    assertThat(store.times("renew")).startsWith(10_000L, 11_000L, 12_000L);
  }

  private void failAll(int[] from) {
    for (; from[0] < store.sent.size(); from[0]++) {
      store
          .sent
          .get(from[0])
          .reply()
          .completeExceptionally(new StoreException(FailureReason.BREAKER_OPEN, "away", null));
    }
  }

  @Test
  void aLostClaimIsReportedOnce() {
    Held held = entered();
    timing.pass(CLAIM);
    store.answer(false);
    assertThat(outcomes).containsExactly(Outcome.LOST);
    assertNothingIsLeft();
    held.end(answer(10));
    assertThat(outcomes).hasSize(1);
    assertNothingIsLeft();
  }

  /** Row 1 of the issue: Redis is away just as the method ends. */
  @ParameterizedTest
  @EnumSource(FailureReason.class)
  void anEndIsWrittenAgainUntilItIsKept(FailureReason reason) {
    Held held = entered();
    held.end(answer(10));
    for (int i = 0; i < 12; i++) {
      assertThat(store.last().what()).isEqualTo("end");
      store.fail(reason);
      while (!store.last().what().equals("end") || store.last().reply().isDone()) {
        timing.pass(Duration.ofMillis(100));
        if (store.last().what().equals("renew")) {
          store.answer(true);
        }
      }
    }
    store.answer(Kept.KEPT);
    List<Long> times = store.times("end");
    assertThat(times.subList(0, 8))
        .as("pauses double")
        .containsExactly(0L, 100L, 300L, 700L, 1_500L, 3_100L, 6_300L, 12_700L);
    assertThat(times.get(12) - times.get(11)).as("up to 30 s").isEqualTo(30_000);
    assertThat(store.times("renew")).as("each third of the claim").hasSizeGreaterThan(12);
    assertThat(outcomes).containsExactly(Outcome.KEPT);
    assertNothingIsLeft();
  }

  /** An end that has run without a reply has replaced the claim that a renewal looks for. */
  @Test
  void aRenewalAfterAnEndWithoutAReplyAsksTheEnd() {
    Held held = entered();
    held.end(answer(10));
    for (int i = 0; i < 8; i++) {
      store.fail(FailureReason.TIMEOUT);
      timing.pass(Duration.ofMillis(100L << i));
    }
    assertThat(store.sent.stream().filter(sent -> sent.what().equals("renew")))
        .allSatisfy(sent -> sent.reply().complete(false));
    assertThat(outcomes).isEmpty();
    assertThat(store.last().what()).isEqualTo("end");
    store.answer(Kept.KEPT);
    assertThat(outcomes).containsExactly(Outcome.KEPT);
    assertNothingIsLeft();
  }

  @Test
  void anEndIsGivenUpWhenItIsOfNoUseAnyMore() {
    Held held = entered();
    held.end(answer(10));
    store.fail(FailureReason.ERROR);
    Duration passed = Duration.ZERO;
    while (outcomes.isEmpty()) {
      List.copyOf(store.sent).stream()
          .filter(sent -> !sent.reply().isDone())
          .forEach(
              sent ->
                  sent.reply()
                      .completeExceptionally(
                          new StoreException(FailureReason.DISCONNECTED, "away", null)));
      timing.pass(CLAIM);
      passed = passed.plus(CLAIM);
    }
    assertThat(passed).isEqualTo(RETAIN);
    assertThat(outcomes).containsExactly(Outcome.GIVEN_UP);
    assertNothingIsLeft();
  }

  @Test
  void anAnswerBeyondThePendingBytesIsDone() {
    entered().end(answer(MAX_PENDING - 10));
    entered().end(answer(11));
    assertThat(store.last().end()).isEqualTo(End.DONE);
    entered().end(answer(10));
    assertThat(store.last().end().answer()).hasSize(10);
    assertThat(submissions.pendingBytes()).isEqualTo(MAX_PENDING);
    List.copyOf(store.sent).stream()
        .filter(sent -> sent.what().equals("end"))
        .forEach(sent -> sent.reply().complete(Kept.KEPT));
    assertNothingIsLeft();
  }

  @ParameterizedTest
  @EnumSource(FailureReason.class)
  void aClaimThatMayHaveBeenMadeIsReleased(FailureReason reason) {
    CompletionStage<Attempt> claim = claim();
    store.fail(reason);
    assertThat(claim)
        .failsWithin(Duration.ZERO)
        .withThrowableThat()
        .havingCause()
        .isInstanceOf(StoreException.class);
    boolean wasSent = reason != FailureReason.OVERLOADED && reason != FailureReason.BREAKER_OPEN;
    assertThat(store.times("end")).hasSize(wasSent ? 1 : 0);
    if (wasSent) {
      assertThat(store.last().end()).isEqualTo(End.RELEASE);
      store.fail(FailureReason.TIMEOUT);
      timing.pass(CLAIM);
      List.copyOf(store.sent).forEach(sent -> sent.reply().cancel(false));
      timing.pass(CLAIM);
      assertThat(store.times("renew")).isEmpty();
      assertThat(outcomes).as("it has ended by itself").containsExactly(Outcome.RELEASED);
    }
    assertNothingIsLeft();
  }

  @Test
  void aMethodDoesNotBeginOnAnOldClaim() {
    Held held = held();
    timing.pass(CLAIM.dividedBy(3));
    store.fail(FailureReason.TIMEOUT);
    timing.pass(CLAIM.dividedBy(3));
    assertThat(store.last().what()).isEqualTo("renew");
    timing.pass(CLAIM.dividedBy(3));
    assertThat(held.enter()).isFalse();
    assertThat(held.enter()).isFalse();
    assertThat(store.times("end")).as("nothing is left to release").isEmpty();
  }

  @Test
  void aRenewedClaimMayBeOld() {
    Held held = held();
    for (int i = 0; i < 9; i++) {
      timing.pass(CLAIM.dividedBy(3));
      store.answer(true);
    }
    assertThat(held.enter()).isTrue();
  }

  /** What then happens is a promise: nothing else runs for as long as an answer would be kept. */
  @Test
  void afterTheLongestRunTheSubmissionIsDoneAndALateAnswerIsStillKept() {
    Held held = entered();
    runFor(LONGEST_RUN);
    assertThat(store.last().what()).isEqualTo("end");
    assertThat(store.last().end()).isEqualTo(End.DONE);
    store.answer(Kept.KEPT);
    assertNothingIsLeft();

    held.end(answer(10));
    assertThat(store.last().what()).isEqualTo("end");
    assertThat(store.last().end().answer()).hasSize(10);
    store.answer(Kept.KEPT);
    assertThat(outcomes).containsExactly(Outcome.KEPT, Outcome.KEPT);
    assertNothingIsLeft();
  }

  @Test
  void aMethodThatEndsWhileItIsMadeDoneHasTheLastWord() {
    Held held = entered();
    runFor(LONGEST_RUN);
    held.end(answer(10));
    assertThat(store.last().end()).as("on its way").isEqualTo(End.DONE);
    store.answer(Kept.KEPT);
    assertThat(outcomes).isEmpty();
    assertThat(store.last().end().answer()).hasSize(10);
    store.answer(Kept.KEPT);
    assertThat(outcomes).containsExactly(Outcome.KEPT);
    assertNothingIsLeft();
  }

  @Test
  void aCallThatNeverReachesItsMethodIsReleasedAfterTheLongestRun() {
    Held held = held();
    runFor(LONGEST_RUN);
    assertThat(store.last().end()).isEqualTo(End.RELEASE);
    store.answer(Kept.KEPT);
    assertThat(held.enter()).isFalse();
    assertNothingIsLeft();
  }

  private void runFor(Duration time) {
    long end = timing.nanos() + time.toNanos();
    while (timing.nanos() < end) {
      timing.pass(SECOND);
      if (store.last().what().equals("renew")) {
        store.answer(true);
      }
    }
  }

  /** For a store that decides while the shared one is away. */
  @Test
  void aKeyIsHeldUntilTheStoreHasItsEnd() {
    CompletionStage<Attempt> claim = claim();
    assertThat(submissions.holds(KEY)).isFalse();
    store.answer(Found.of(Found.Kind.CLAIMED));
    Held held = SubmissionStoreContract.join(claim).held();
    assertThat(submissions.holds(KEY)).isTrue();
    assertThat(held.enter()).isTrue();
    timing.pass(CLAIM);
    assertThat(submissions.holds(KEY)).as("the store is away").isTrue();
    store.answer(false);
    assertThat(submissions.holds(KEY)).as("lost").isFalse();

    held = entered();
    held.end(answer(10));
    store.fail(FailureReason.ERROR);
    assertThat(submissions.holds(KEY)).as("the store does not know the end").isTrue();
    timing.pass(Duration.ofMillis(100));
    store.answer(Kept.KEPT);
    assertThat(submissions.holds(KEY)).isFalse();

    held().abandon();
    store.answer(Kept.KEPT);
    assertThat(submissions.holds(KEY)).isFalse();
  }

  /** Many threads and a real timer. */
  @Test
  void manyThreadsRunASubmissionOneAtATime() throws InterruptedException {
    ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
    Timing real =
        new Timing() {
          private final long begin = System.nanoTime();

          @Override
          public long nanos() {
            return System.nanoTime() - begin;
          }

          @Override
          public Future<?> schedule(Runnable task, long nanos) {
            return timer.schedule(task, nanos, TimeUnit.NANOSECONDS);
          }
        };
    MemorySubmissions memory = new MemorySubmissions(10, 1_000, 1_000, System::nanoTime);
    List<Outcome> ends = new CopyOnWriteArrayList<>();
    Submissions shared =
        new Submissions(
            memory,
            real,
            new RandomBytes(Claim.TOKEN_BYTES, timer),
            MAX_PENDING,
            (route, end) -> ends.add(end));
    AtomicInteger running = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    AtomicInteger runs = new AtomicInteger();
    Times times = Times.of(CLAIM, RETAIN, LONGEST_RUN);
    Thread[] threads = new Thread[8];
    for (int i = 0; i < threads.length; i++) {
      threads[i] =
          new Thread(
              () -> {
                for (int j = 0; j < 500; j++) {
                  Attempt attempt =
                      SubmissionStoreContract.join(
                          shared.claim(new Request(KEY, HEAD, Entry.NONE, times, "route")));
                  if (attempt.held() == null) {
                    continue;
                  }
                  Thread rival = new Thread(attempt.held()::abandon);
                  rival.start();
                  if (attempt.held().enter()) {
                    most.accumulateAndGet(running.incrementAndGet(), Math::max);
                    runs.incrementAndGet();
                    Thread.yield();
                    running.decrementAndGet();
                    attempt.held().end(End.RELEASE);
                  }
                }
              });
      threads[i].start();
    }
    for (Thread thread : threads) {
      thread.join(60_000);
    }
    assertThat(most).as("at a time").hasValue(1);
    assertThat(runs.get()).isPositive();
    await().atMost(Duration.ofSeconds(10)).until(() -> memory.usage()[0] == 0);
    assertThat(shared.holds(KEY)).isFalse();
    assertThat(ends).containsOnly(Outcome.RELEASED);
    timer.shutdownNow();
  }

  @Test
  void everyClaimHasItsOwnToken() {
    for (int i = 0; i < 1_000; i++) {
      var unused = claim();
    }
    assertThat(store.sent.stream().map(sent -> Arrays.toString(sent.claim().token())).distinct())
        .hasSize(1_000);
  }
}
