// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Completion;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitRequest.PastCharge;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.Reservation;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.Counting;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;

/** Units that the fallback admitted and that are not reported, since their call gave them back. */
class UnreportedReservationTest {

  private static final Subject ADA = new Subject("user", "ada");
  private static final LimitRequest CALL =
      LimitRequest.of(
              Policy.of("counted", rule(20, MINUTE)).withDuplicates(rule(1, MINUTE)),
              ADA,
              Optional.of("tea"))
          .and(
              LimitRequest.of(
                  Policy.of("failures", rule(20, MINUTE)).withCounting(Counting.FAILURES), ADA))
          .withCost(5);

  private final KnownSubjectTable table = new KnownSubjectTable(10, () -> 0);
  private final List<String> local = new ArrayList<>();
  private final Reservation taken =
      new Reservation() {
        @Override
        public CompletionStage<Long> refund() {
          local.add("refund");
          return CompletableFuture.completedFuture(11L);
        }

        @Override
        public CompletionStage<Long> release() {
          local.add("release");
          return CompletableFuture.completedFuture(1L);
        }

        @Override
        public CompletionStage<Long> settle(Completion completion) {
          local.add("settle " + completion);
          return CompletableFuture.completedFuture(2L);
        }

        @Override
        public CompletionStage<Long> renewPermits() {
          return CompletableFuture.completedFuture(3L);
        }

        @Override
        public Optional<Duration> permitDuration() {
          return Optional.of(MINUTE);
        }
      };

  private final KnownCall.UnreportedReservation reservation =
      admitted(
          Verdict.of(CALL.policy(), Outcome.ALLOWED)
              .rules(List.of(verdict(20, 10), verdict(20, 10)))
              .duplicate(verdict(1, 0))
              .reservation(taken)
              .build());

  private KnownCall.UnreportedReservation admitted(Verdict verdict) {
    KnownCall call = table.call(CALL);
    call.unanswered();
    return call.admitted(verdict);
  }

  private static RuleVerdict verdict(long count, long remaining) {
    return RuleVerdict.of(rule(count, MINUTE)).remaining(remaining).build();
  }

  /** Of the rules that count all calls, those that count failures, and the duplicate guard. */
  private List<Integer> reported() {
    List<PastCharge> past = table.call(CALL).asked().past();
    return CALL.allCharges().stream()
        .map(
            charge ->
                past.stream()
                    .filter(one -> one.charge().key().equals(charge.key()))
                    .mapToInt(one -> one.charge().cost())
                    .sum())
        .toList();
  }

  @Test
  void unitsThatAreKeptAreReported() {
    assertThat(reported()).containsExactly(5, 5, 1);
  }

  @Test
  void aRefundedCallIsNotReported() {
    assertThat(reservation.refund()).isCompletedWithValue(11L);
    assertThat(reported()).containsExactly(0, 0, 0);
    assertThat(local).containsExactly("refund");
  }

  @Test
  void aReleasedGuardIsNotReported() {
    assertThat(reservation.release()).isCompletedWithValue(1L);
    assertThat(reported()).containsExactly(5, 5, 0);
    assertThat(local).containsExactly("release");
  }

  @Test
  void whatASettlementGivesBackIsNotReported() {
    assertThat(reservation.settle(Completion.succeeded().withCost(2))).isCompletedWithValue(2L);
    assertThat(reported()).containsExactly(2, 0, 1);
    assertThat(local).hasSize(1).first().asString().startsWith("settle ");
  }

  @Test
  void onlyTheFirstEndCounts() {
    var settled = reservation.settle(Completion.failed().withCost(4));
    var again = reservation.settle(Completion.succeeded().withCost(1));
    var refunded = reservation.refund();
    assertThat(reported()).as("a refund releases the guard").containsExactly(4, 4, 0);
  }

  @Test
  void aCostThatFailsEndsNothing() {
    Completion broken =
        Completion.succeeded()
            .withCosts(
                charge -> {
                  throw new IllegalStateException("a defect");
                });
    assertThat(reservation.settle(broken)).isCompletedExceptionally();
    assertThat(local).isEmpty();
    assertThat(reported()).containsExactly(5, 5, 1);
  }

  @Test
  void whatTheStoreHasTakenIsNotReported() {
    reservation.takenByTheStore();
    assertThat(reported()).containsExactly(0, 0, 0);
    assertThat(local).as("its units stay here").isEmpty();
  }

  /** What was given back before is not left, and not given back a second time. */
  @Test
  void theStoreHasTakenWhatIsLeft() {
    var another =
        admitted(
            Verdict.of(CALL.policy(), Outcome.ALLOWED)
                .rules(List.of(verdict(20, 10), verdict(20, 10)))
                .duplicate(verdict(1, 0))
                .build());
    var settled = reservation.settle(Completion.failed().withCost(3));
    reservation.takenByTheStore();
    assertThat(reported()).as("those of the other call").startsWith(5, 5);
  }

  @Test
  void permitsAreThoseOfTheLocalStore() {
    assertThat(reservation.renewPermits()).isCompletedWithValue(3L);
    assertThat(reservation.permitDuration()).contains(MINUTE);
  }
}
