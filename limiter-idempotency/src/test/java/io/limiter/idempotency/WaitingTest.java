// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.FailureReason;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.idempotency.Entry.Kept;
import io.limiter.idempotency.Holding.Times;
import io.limiter.idempotency.Submissions.Attempt;
import io.limiter.idempotency.Submissions.Held;
import io.limiter.idempotency.Submissions.Request;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Repetitions of a submission that runs in another process. */
class WaitingTest {

  private static final int MAX = 6;
  private static final int MAX_OF_SUBJECT = 4;
  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final Times TIMES =
      Times.of(Duration.ofSeconds(30), Duration.ofHours(1), Duration.ofHours(1));

  private final ManualTiming timing = new ManualTiming();
  private final CountingStore store = new CountingStore();
  private final Submissions here = submissions();
  private final Submissions elsewhere = submissions();
  private final Waiting waiting =
      new Waiting((request, mayBeLocal) -> here.claim(request), timing, MAX, MAX_OF_SUBJECT);
  private boolean isAway;
  private CompletableFuture<Void> replies = CompletableFuture.completedFuture(null);

  /** A store in memory that counts claims, and may be away. */
  private final class CountingStore implements SubmissionStore {

    private final SubmissionStore memory = new MemorySubmissions(100, 1_000, 1_000, timing::nanos);
    private final List<Long> claims = new ArrayList<>();

    @Override
    public CompletionStage<Found> claim(Claim claim, Duration time) {
      claims.add(Duration.ofNanos(timing.nanos()).toMillis());
      return isAway
          ? CompletableFuture.failedFuture(
              new StoreException(FailureReason.BREAKER_OPEN, "away", null))
          : memory.claim(claim, time).thenCombine(replies, (found, reply) -> found);
    }

    @Override
    public CompletionStage<Found> look(Claim claim) {
      return memory.look(claim);
    }

    @Override
    public CompletionStage<Boolean> renew(Claim claim, Duration time) {
      return memory.renew(claim, time);
    }

    @Override
    public CompletionStage<Kept> end(Claim claim, End end, Duration time) {
      return memory.end(claim, end, time);
    }

    @Override
    public CompletionStage<Void> forget(StateKey key) {
      return memory.forget(key);
    }
  }

  private Submissions submissions() {
    return new Submissions(
        store,
        timing,
        new RandomBytes(Claim.TOKEN_BYTES, Runnable::run),
        1_000,
        (route, outcome) -> {});
  }

  private static Request request(String subject, String key) {
    return new Request(new StateKey(subject, "a." + key), new byte[16], Entry.NONE, TIMES, "route");
  }

  private Held running(Request request) {
    Held held = SubmissionStoreContract.join(elsewhere.claim(request)).held();
    assertThat(held.enter()).isTrue();
    store.claims.clear();
    return held;
  }

  private CompletableFuture<Attempt> repeated(Request request, Duration atMost) {
    Attempt found = SubmissionStoreContract.join(here.claim(request));
    assertThat(found.found().kind()).isEqualTo(Found.Kind.RUNNING);
    return waiting.await(request, found, atMost.toNanos(), false).toCompletableFuture();
  }

  private void assertNobodyWaits() {
    assertThat(waiting.size()).isZero();
    timing.pass(Duration.ofDays(1));
    assertThat(timing.pending()).isZero();
  }

  @Test
  void allGetTheAnswerThatOneQuestionFinds() {
    Request request = request("ada", "1");
    Held first = running(request);
    List<CompletableFuture<Attempt>> repeated =
        IntStream.range(0, 3).mapToObj(i -> repeated(request, SECOND)).toList();
    store.claims.clear();
    timing.pass(Duration.ofMillis(49));
    first.end(SubmissionStoreContract.answer("first"));
    timing.pass(Duration.ofMillis(1));
    assertThat(store.claims).containsExactly(50L);
    assertThat(repeated)
        .allSatisfy(
            waiter ->
                assertThat(waiter.join().found().answer())
                    .asString(StandardCharsets.UTF_8)
                    .isEqualTo("first"));
    assertNobodyWaits();
  }

  /** One that has found it running, and comes to wait while the others get the answer. */
  @Test
  void whoComesAsTheOthersGetTheAnswerGetsIt() {
    Request request = request("ada", "1");
    Held first = running(request);
    Attempt found = SubmissionStoreContract.join(here.claim(request));
    List<CompletableFuture<Attempt>> late = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      waiting
          .await(request, found, SECOND.toNanos(), false)
          .thenRun(
              () ->
                  late.add(
                      waiting
                          .await(request, found, SECOND.toNanos(), false)
                          .toCompletableFuture()));
    }
    first.end(SubmissionStoreContract.answer("first"));
    timing.pass(Duration.ofMillis(50));
    assertThat(late).hasSize(2);
    timing.pass(Duration.ofMillis(900));
    assertThat(late)
        .allSatisfy(
            waiter ->
                assertThat(waiter)
                    .isCompletedWithValueMatching(
                        attempt -> attempt.found().kind() == Found.Kind.ANSWERED));
    assertNobodyWaits();
  }

  @Test
  void theStoreIsAskedWithGrowingPausesUntilTheTimeIsOver() {
    Request request = request("ada", "1");
    Held first = running(request);
    CompletableFuture<Attempt> repeated = repeated(request, Duration.ofSeconds(4));
    store.claims.clear();
    timing.pass(Duration.ofSeconds(4));
    assertThat(store.claims).containsExactly(50L, 150L, 350L, 750L, 1_550L, 2_550L, 3_550L);
    assertThat(repeated.join().found().kind()).isEqualTo(Found.Kind.RUNNING);
    first.end(End.RELEASE);
    assertNobodyWaits();
    assertThat(store.claims).as("no claim is sent any more").hasSize(7);
  }

  /** One runs, and the next waits for it. */
  @Test
  void aFreeKeyIsHandedToOneOfThem() {
    Request request = request("ada", "1");
    Held first = running(request);
    CompletableFuture<Attempt> second = repeated(request, SECOND);
    CompletableFuture<Attempt> third = repeated(request, SECOND);
    first.end(End.RELEASE);
    timing.pass(Duration.ofMillis(50));
    Held held = second.join().held();
    assertThat(held.enter()).isTrue();
    assertThat(third).isNotDone();
    held.end(SubmissionStoreContract.answer("second"));
    timing.pass(Duration.ofMillis(50));
    assertThat(third.join().found().kind()).isEqualTo(Found.Kind.ANSWERED);
    assertNobodyWaits();
  }

  @Test
  void aKeyThatNobodyWantsAnyMoreIsReleased() {
    Request request = request("ada", "1");
    Held first = running(request);
    CompletableFuture<Attempt> repeated = repeated(request, Duration.ofMillis(60));
    first.end(End.RELEASE);
    replies = new CompletableFuture<>();
    timing.pass(Duration.ofMillis(60));
    assertThat(repeated.join().found().kind()).isEqualTo(Found.Kind.RUNNING);
    assertThat(store.claims).hasSize(2);
    replies.complete(null);
    assertThat(SubmissionStoreContract.join(elsewhere.claim(request)).held()).isNotNull();
  }

  @Test
  void aStoreThatIsAwayEndsTheWait() {
    Request request = request("ada", "1");
    Held first = running(request);
    CompletableFuture<Attempt> repeated = repeated(request, SECOND);
    isAway = true;
    timing.pass(Duration.ofMillis(50));
    assertThat(repeated).isCompletedExceptionally();
    first.end(End.RELEASE);
    assertNobodyWaits();
  }

  @Test
  void thoseWhoWaitAreBounded() {
    Request request = request("ada", "1");
    Held first = running(request);
    Request other = request("ada", "2");
    Held second = running(other);
    Request foreign = request("bob", "1");
    Held third = running(foreign);
    for (int i = 0; i < MAX_OF_SUBJECT; i++) {
      assertThat(repeated(i % 2 == 0 ? request : other, SECOND)).isNotDone();
    }
    assertThat(repeated(request, SECOND)).as("of one subject").isDone();
    assertThat(repeated(other, SECOND)).isDone();
    assertThat(repeated(foreign, SECOND)).isNotDone();
    assertThat(repeated(foreign, SECOND)).isNotDone();
    assertThat(waiting.size()).isEqualTo(MAX);
    assertThat(repeated(foreign, SECOND)).as("of all").isDone();
    assertThat(repeated(request, Duration.ZERO)).as("no time").isDone();
    timing.pass(SECOND);
    assertThat(waiting.size()).isZero();
    assertThat(repeated(request, SECOND)).isNotDone();
    for (Held held : List.of(first, second, third)) {
      held.end(End.DONE);
    }
    timing.pass(SECOND);
    assertNobodyWaits();
  }
}
