// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.store;

import static io.limiter.core.StoreHarness.HOUR;
import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Charge;
import io.limiter.core.Completion;
import io.limiter.core.LimitRequest;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.rule.ConcurrencyLimitRule;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.ToIntFunction;
import org.junit.jupiter.api.Test;

/** What a store is asked for, and how often. */
class AtMostOnceReservationTest {

  private static final Subject ADA = new Subject("user", "ada");
  private static final LimitRequest CALL =
      LimitRequest.of(
              Policy.of("counted", rule(5, MINUTE)).withDuplicates(rule(1, MINUTE)),
              ADA,
              Optional.of("tea"))
          .and(flight("long", HOUR))
          .and(flight("short", MINUTE))
          .and(flight("medium", Duration.ofMinutes(10)))
          .withCost(3);

  private static LimitRequest flight(String name, Duration permit) {
    return LimitRequest.of(Policy.of(name, ConcurrencyLimitRule.of(1, permit)), ADA);
  }

  private final List<String> asked = new ArrayList<>();
  private final List<CompletableFuture<Long>> renewals = new ArrayList<>();
  private int untaken = -1;
  private boolean renewalThrows;

  private final Reservation reservation = new Reservation(CALL);

  /** Records what it is asked for; a renewal ends when the test ends it. */
  private final class Reservation extends AtMostOnceReservation {

    Reservation(LimitRequest request) {
      super(request);
    }

    @Override
    protected boolean took(int charge) {
      return charge != untaken;
    }

    @Override
    protected CompletionStage<Long> giveBack(int from, int to, ToIntFunction<Charge> units) {
      List<Integer> given = new ArrayList<>();
      for (int c = from; c < to; c++) {
        given.add(units.applyAsInt(request().charge(c)));
      }
      asked.add("give back " + from + " " + given);
      return CompletableFuture.completedFuture(given.stream().mapToLong(some -> some).sum());
    }

    @Override
    protected CompletionStage<Long> renew() {
      asked.add("renew");
      if (renewalThrows) {
        throw new IllegalStateException("a defect");
      }
      renewals.add(new CompletableFuture<>());
      return renewals.get(renewals.size() - 1);
    }

    @Override
    protected CompletionStage<?> record(LimitRequest units) {
      asked.add("record " + units.charges().stream().map(Charge::cost).toList());
      return CompletableFuture.completedFuture("recorded");
    }
  }

  @Test
  void aRefundGivesBackAllOnce() {
    assertThat(reservation.refund()).isCompletedWithValue(7L);
    assertThat(reservation.refund()).isCompletedWithValue(0L);
    assertThat(reservation.release()).isCompletedWithValue(0L);
    assertThat(reservation.settle(Completion.succeeded())).isCompletedWithValue(0L);
    assertThat(asked).containsExactly("give back 0 [3, 1, 1, 1, 1]", "give back 4 []");
  }

  @Test
  void theGuardIsReleasedOnceAndNotRefundedAgain() {
    assertThat(reservation.release()).isCompletedWithValue(1L);
    assertThat(reservation.release()).isCompletedWithValue(0L);
    assertThat(reservation.refund()).isCompletedWithValue(6L);
    assertThat(asked).containsExactly("give back 4 [1]", "give back 0 [3, 1, 1, 1]");
  }

  @Test
  void aSettlementLeavesTheGuard() {
    assertThat(reservation.settle(Completion.succeeded().withCost(1))).isCompletedWithValue(5L);
    assertThat(reservation.refund()).isCompletedWithValue(1L);
    assertThat(asked).containsExactly("give back 0 [2, 1, 1, 1]", "give back 4 [1]");
  }

  @Test
  void aCostAboveTheReservedOneIsRecorded() {
    assertThat(reservation.settle(Completion.succeeded().withCost(5))).isCompletedWithValue(3L);
    assertThat(asked).containsExactly("give back 0 [0, 1, 1, 1]", "record [2]");
  }

  @Test
  void onlyChargesThatTookUnitsAreRecordedOrHoldAPermit() {
    untaken = 0;
    var unused = reservation.settle(Completion.succeeded().withCost(5));
    assertThat(asked).containsExactly("give back 0 [0, 1, 1, 1]");
    untaken = 2;
    assertThat(reservation.permitDuration()).contains(Duration.ofMinutes(10));
  }

  @Test
  void permitsAreRenewedWithinTheShortestOfTheirDurations() {
    assertThat(reservation.permitDuration()).contains(MINUTE);
    assertThat(new Reservation(LimitRequest.of(Policy.of("none", rule(1, MINUTE)), ADA)))
        .satisfies(
            none -> {
              assertThat(none.permitDuration()).isEmpty();
              assertThat(none.renewPermits()).isCompletedWithValue(0L);
            });
    assertThat(asked).isEmpty();
  }

  @Test
  void oneRenewalIsUnderWayAtATime() {
    CompletableFuture<Long> first = reservation.renewPermits().toCompletableFuture();
    CompletableFuture<Long> second = reservation.renewPermits().toCompletableFuture();
    assertThat(asked).containsExactly("renew");
    assertThat(second).isNotDone();
    assertThat(second.cancel(false)).isTrue();

    renewals.get(0).complete(3L);

    assertThat(first).isCompletedWithValue(3L);
    var unused = reservation.renewPermits();
    assertThat(asked).containsExactly("renew", "renew");
  }

  @Test
  void aRenewalThatFailsGivesItsReason() {
    CompletionStage<Long> first = reservation.renewPermits();
    renewals
        .get(0)
        .completeExceptionally(new IllegalStateException("closed", new RuntimeException("why")));
    assertThat(failure(first)).isInstanceOf(IllegalStateException.class).hasMessage("closed");

    renewalThrows = true;
    assertThat(failure(reservation.renewPermits())).hasMessage("a defect");
  }

  private static Throwable failure(CompletionStage<Long> stage) {
    return stage.handle((units, failure) -> failure.getCause()).toCompletableFuture().join();
  }

  /** A renewal that came after it would hold the permits of a call that has ended. */
  @Test
  void whatGivesPermitsBackWaitsForTheRenewalUnderWay() {
    CompletableFuture<Long> renewal = reservation.renewPermits().toCompletableFuture();
    CompletableFuture<Long> refund = reservation.refund().toCompletableFuture();
    assertThat(refund).isNotDone();
    assertThat(asked).containsExactly("renew");

    renewals.get(0).completeExceptionally(new IllegalStateException("away"));

    assertThat(renewal).isCompletedExceptionally();
    assertThat(refund).isCompletedWithValue(7L);
    assertThat(reservation.renewPermits()).as("after the end").isCompletedWithValue(0L);
    assertThat(asked).containsExactly("renew", "give back 0 [3, 1, 1, 1, 1]");
  }

  @Test
  void aSecondRefundDoesNotWait() {
    var unused = reservation.settle(Completion.succeeded());
    asked.clear();
    assertThat(reservation.refund()).isCompletedWithValue(1L);
    assertThat(asked).containsExactly("give back 4 [1]");
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
    assertThat(reservation.refund()).isCompletedWithValue(7L);
  }
}
