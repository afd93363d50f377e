// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.store;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.rule.ConcurrencyLimitRule;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.ToIntFunction;
import org.junit.jupiter.api.Test;

/** Renewals that overlap, and the end of a call during one. */
class AtMostOnceReservationTest {

  private static final Subject ADA = new Subject("user", "ada");
  private static final LimitRequest CALL =
      LimitRequest.of(
              Policy.of("counted", rule(5, MINUTE)).withDuplicates(rule(1, MINUTE)),
              ADA,
              Optional.of("tea"))
          .and(LimitRequest.of(Policy.of("flight", ConcurrencyLimitRule.of(1)), ADA))
          .withCost(3);

  private final List<String> asked = new ArrayList<>();
  private final List<CompletableFuture<Long>> renewals = new ArrayList<>();
  private boolean renewalThrows;
  private boolean away;
  private boolean giveBackThrows;

  private final Reservation reservation = new Reservation();

  /** Records what it is asked for; a renewal ends when the test ends it. */
  private final class Reservation extends AtMostOnceReservation {

    Reservation() {
      super(CALL);
    }

    @Override
    protected boolean took(int charge) {
      return true;
    }

    @Override
    protected CompletionStage<Long> giveBack(int from, int to, ToIntFunction<Charge> units) {
      List<Integer> given = new ArrayList<>();
      for (int c = from; c < to; c++) {
        given.add(units.applyAsInt(request().charge(c)));
      }
      asked.add("give back " + from + " " + given);
      if (giveBackThrows) {
        throw new IllegalStateException("a defect");
      }
      if (away) {
        return CompletableFuture.failedFuture(new IllegalStateException("away"));
      }
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
    assertThat(refund).isCompletedWithValue(5L);
    assertThat(reservation.renewPermits()).as("after the end").isCompletedWithValue(0L);
    assertThat(asked).containsExactly("renew", "give back 0 [3, 1, 1]");
  }

  /** The guard of a call whose release was lost is not taken for its whole time. */
  @Test
  void aReleaseIsRepeatedUntilItSucceeds() {
    giveBackThrows = true;
    assertThat(failure(reservation.release())).hasMessage("a defect");
    giveBackThrows = false;
    away = true;
    assertThat(failure(reservation.release())).hasMessage("away");
    away = false;
    assertThat(reservation.release()).isCompletedWithValue(1L);
    assertThat(reservation.release()).isCompletedWithValue(0L);
    assertThat(asked).containsExactly("give back 2 [1]", "give back 2 [1]", "give back 2 [1]");
  }
}
