// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Charge;
import io.limiter.core.Claim;
import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStoreContract;
import io.limiter.core.Policy;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.Submission;
import io.limiter.core.Verdict;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.store.DelegatingStore;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.Mode;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Calls whose submissions are claimed with the decision, which is made like any other one. */
class SubmittedCallsTest implements LimitStoreContract, RedisHarness {

  private static final StateKey ORDERS = StateKey.of("orders", Subject.global());
  private static final StateKey ORDER = ORDERS.answers("order-1");
  private static final byte[] SAME = new byte[Submission.FINGERPRINT_BYTES];
  private static final byte[] OTHER =
      "another submission of 32 bytes !".getBytes(StandardCharsets.US_ASCII);
  private static final Policy TWICE = Policy.of("orders", SlidingWindowLogRule.of(2, MINUTE));

  private static TestRedis redis;
  private RedisStore store;

  @BeforeAll
  static void connect() {
    redis = new TestRedis();
  }

  @AfterAll
  static void disconnect() {
    redis.close();
  }

  @BeforeEach
  void open() {
    store = redis.submittingStore();
    redis.setClock(START_MICROS);
  }

  @AfterEach
  void close() {
    store.close();
    redis.forgetAll();
  }

  @Override
  public LimitStore store() {
    return new Submitting(store);
  }

  @Override
  public TestRedis redis() {
    return redis;
  }

  /** Each call has a submission of its own. */
  private static final class Submitting extends DelegatingStore {

    private static final AtomicInteger SUBMISSIONS = new AtomicInteger();

    Submitting(LimitStore store) {
      super(store);
    }

    @Override
    public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
      if (mode != Mode.ACQUIRE || !request.past().isEmpty()) {
        return store.decide(request, mode);
      }
      StateKey own = request.charge(0).key().answers("call-" + SUBMISSIONS.incrementAndGet());
      LimitRequest submitted = request.submitting(new Submission(own, SAME, MINUTE));
      assertThat(store.claims(submitted)).isTrue();
      return store
          .decide(submitted, mode)
          .thenApply(
              verdict -> {
                assertThat(verdict.claim().map(Claim::state))
                    .isEqualTo(
                        verdict.allowed() ? Optional.of(Claim.State.CLAIMED) : Optional.empty());
                return verdict;
              });
    }
  }

  private Verdict submit(byte[] fingerprint) {
    return submit(LimitRequest.of(TWICE, Subject.global()), ORDER, fingerprint);
  }

  private Verdict submit(LimitRequest call, StateKey submission, byte[] fingerprint) {
    return join(
        store.decide(
            call.submitting(new Submission(submission, fingerprint, MINUTE)), Mode.ACQUIRE));
  }

  private long left() {
    return join(store.decide(LimitRequest.of(TWICE, Subject.global()), Mode.PEEK))
        .rules()
        .get(0)
        .remaining();
  }

  private static <T> T join(CompletionStage<T> stage) {
    return stage.toCompletableFuture().join();
  }

  private void assertRepeats(Verdict verdict, Claim.State state) {
    assertThat(verdict.isRepetition()).isTrue();
    assertThat(verdict.decidedBy()).isEqualTo(DecidedBy.NONE);
    assertThat(verdict.claim().orElseThrow().state()).isEqualTo(state);
  }

  @Test
  void aRepetitionIsChargedNothing() {
    Verdict first = submit(SAME);
    assertThat(first.isRepetition()).isFalse();
    assertThat(left()).isEqualTo(1);
    assertRepeats(submit(SAME), Claim.State.RUNNING);
    assertRepeats(submit(OTHER), Claim.State.DIFFERENT);

    Claim claim = first.claim().orElseThrow();
    byte[] answer = {1, 2, 3};
    assertThat(join(store.idempotency().answer(claim, answer, MINUTE))).isTrue();
    Verdict repeated = submit(SAME);
    assertRepeats(repeated, Claim.State.ANSWERED);
    assertThat(repeated.claim().orElseThrow().answer()).isEqualTo(answer);
    assertThat(left()).isEqualTo(1);
  }

  @Test
  void anAnswerIsRepeatedWhileTheLimitIsUsedUp() {
    Claim first = submit(SAME).claim().orElseThrow();
    assertThat(join(store.idempotency().answer(first, new byte[1], MINUTE))).isTrue();
    assertThat(
            submit(LimitRequest.of(TWICE, Subject.global()), ORDERS.answers("2"), SAME).allowed())
        .isTrue();
    assertThat(left()).isZero();

    assertRepeats(submit(SAME), Claim.State.ANSWERED);
    Verdict denied = submit(LimitRequest.of(TWICE, Subject.global()), ORDERS.answers("3"), SAME);
    assertThat(denied.allowed()).isFalse();
    assertThat(denied.claim()).isEmpty();
  }

  @Test
  void aDeniedSubmissionIsNotClaimed() {
    LimitRequest costly = LimitRequest.of(TWICE, Subject.global()).withCost(3);
    assertThat(submit(costly, ORDER, SAME).allowed()).isFalse();
    assertThat(redis.commands().exists(redis.name(ORDER))).isZero();
    assertThat(submit(SAME).claim().orElseThrow().state()).isEqualTo(Claim.State.CLAIMED);
  }

  @Test
  void aClaimIsReleasedAndRenewedLikeAnyOther() {
    Claim first = submit(SAME).claim().orElseThrow();
    assertThat(join(store.idempotency().renew(first, Duration.ofHours(1)))).isTrue();
    assertThat(redis.commands().pttl(redis.name(ORDER))).isGreaterThan(MINUTE.toMillis());
    assertThat(join(store.idempotency().release(first))).isTrue();
    assertThat(submit(SAME).claim().orElseThrow().state()).isEqualTo(Claim.State.CLAIMED);
    assertThat(left()).isZero();
  }

  /** Nothing is charged before the value of the submission is known to be one. */
  @ParameterizedTest
  @ValueSource(strings = {"", "R", "strange"})
  void bytesThatAreNoClaimAreRemovedWithAnError(String content) {
    redis.commands().psetex(redis.name(ORDER), 60_000, content.getBytes(StandardCharsets.US_ASCII));
    assertThat(
            store.decide(
                LimitRequest.of(TWICE, Subject.global())
                    .submitting(new Submission(ORDER, SAME, MINUTE)),
                Mode.ACQUIRE))
        .failsWithin(Duration.ofSeconds(10));
    assertThat(left()).isEqualTo(2);
    assertThat(submit(SAME).claim().orElseThrow().state()).isEqualTo(Claim.State.CLAIMED);
  }

  /** Like any call, but for another submission with its key. */
  @Test
  void aSubmissionThatIsOnlyComparedIsDecided() {
    assertThat(compare(1, SAME).allowed()).isTrue();
    assertThat(redis.commands().pttl(redis.name(ORDER))).isBetween(1L, MINUTE.toMillis());
    assertRepeats(compare(1, OTHER), Claim.State.DIFFERENT);
    assertThat(left()).isEqualTo(1);
    Verdict again = compare(1, SAME);
    assertThat(again.allowed()).isTrue();
    assertThat(again.claim()).isEmpty();
    assertThat(left()).isZero();
    assertThat(compare(1, SAME).allowed()).isFalse();
    assertRepeats(compare(1, OTHER), Claim.State.DIFFERENT);
  }

  @Test
  void aDeniedSubmissionIsComparedWithNone() {
    assertThat(compare(3, SAME).allowed()).isFalse();
    assertThat(redis.commands().exists(redis.name(ORDER))).isZero();
    assertThat(compare(1, OTHER).allowed()).isTrue();
  }

  private Verdict compare(int cost, byte[] fingerprint) {
    return join(
        store.decide(
            LimitRequest.of(TWICE, Subject.global())
                .withCost(cost)
                .submitting(Submission.compared(ORDER, fingerprint, MINUTE)),
            Mode.ACQUIRE));
  }

  private Verdict submitCharged(StateKey submission, byte[] fingerprint) {
    return join(
        store.decide(
            LimitRequest.of(TWICE, Subject.global())
                .submitting(new Submission(submission, fingerprint, MINUTE).charged()),
            Mode.ACQUIRE));
  }

  /** Its units are taken, or it is denied; either way what is there stays. */
  @Test
  void aRepetitionIsChargedIfItIsToBe() {
    Claim first = submitCharged(ORDER, SAME).claim().orElseThrow();
    assertThat(first.state()).isEqualTo(Claim.State.CLAIMED);
    assertRepeats(submitCharged(ORDER, OTHER), Claim.State.DIFFERENT);
    assertThat(left()).isEqualTo(1);

    Verdict running = submitCharged(ORDER, SAME);
    assertThat(running.isRepetition()).isFalse();
    assertThat(running.decidedBy()).isEqualTo(DecidedBy.STORE);
    assertThat(running.allowed()).isTrue();
    assertThat(running.rules().get(0).remaining()).isZero();
    assertThat(running.claim().orElseThrow().state()).isEqualTo(Claim.State.RUNNING);
    byte[] answer = {1, 2, 3};
    assertThat(join(store.idempotency().answer(first, answer, MINUTE))).isTrue();

    Verdict denied = submitCharged(ORDER, SAME);
    assertThat(denied.allowed()).isFalse();
    assertThat(denied.claim()).isEmpty();
    assertThat(join(running.reservation().refund())).isEqualTo(1);
    Verdict answered = submitCharged(ORDER, SAME);
    assertThat(answered.allowed()).isTrue();
    assertThat(answered.claim().orElseThrow().state()).isEqualTo(Claim.State.ANSWERED);
    assertThat(answered.claim().orElseThrow().answer()).isEqualTo(answer);
    assertThat(left()).isZero();
  }

  /** As the decision on any call. */
  @Test
  void itIsOneCommand() {
    submit(SAME);
    long before = commands();
    submit(SAME);
    submit(LimitRequest.of(TWICE, Subject.global()), ORDERS.answers("2"), SAME);
    assertThat(commands() - before).isEqualTo(2);
  }

  private static long commands() {
    return redis
        .commands()
        .info("commandstats")
        .lines()
        .filter(line -> line.startsWith("cmdstat_evalsha:calls="))
        .mapToLong(line -> Long.parseLong(line.replaceAll("cmdstat_evalsha:calls=(\\d+),.*", "$1")))
        .findFirst()
        .orElse(0);
  }

  /** Until its store is used, a limit store does not claim. */
  @Test
  void aStoreWithoutAnswersIgnoresSubmissions() {
    RedisStore plain = redis.store();
    LimitRequest call =
        LimitRequest.of(Policy.of("orders", FixedWindowRule.of(2, MINUTE)), Subject.global())
            .submitting(new Submission(ORDER, SAME, MINUTE));
    assertThat(plain.claims(call)).isFalse();
    Verdict verdict = join(plain.decide(call, Mode.ACQUIRE));
    assertThat(verdict.allowed()).isTrue();
    assertThat(verdict.claim()).isEmpty();
    plain.close();
  }

  /** All charges of one call, under the key of one of them. */
  @Test
  void severalSubjectsAreChargedTogether() {
    LimitRequest both =
        LimitRequest.of(TWICE, Subject.global())
            .and(
                LimitRequest.of(
                    Policy.of("each", FixedWindowRule.of(1, MINUTE)), new Subject("user", "ann")));
    assertThat(submit(both, ORDER, SAME).allowed()).isTrue();
    assertThat(submit(both, ORDERS.answers("2"), SAME).allowed()).isFalse();
    assertRepeats(submit(both, ORDER, SAME), Claim.State.RUNNING);
    List<Charge> charges = both.charges();
    assertThat(charges).hasSize(2);
    assertThat(left()).isEqualTo(1);
  }
}
