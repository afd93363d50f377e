// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import io.limiter.core.rule.Counting;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.function.ToIntFunction;
import java.util.function.UnaryOperator;

/**
 * How an admitted call ended, and its actual cost; the argument of {@link Reservation#settle}.
 * Immutable.
 *
 * <pre>{@code
 * reservation.settle(Completion.failed());
 * reservation.settle(Completion.succeeded().withCost(rows.size()));
 * }</pre>
 */
public final class Completion {

  private static final ToIntFunction<Charge> RESERVED = Charge::cost;
  private static final Completion SUCCEEDED = new Completion(Kind.SUCCEEDED, RESERVED);
  private static final Completion FAILED = new Completion(Kind.FAILED, RESERVED);
  private static final Completion UNKNOWN = new Completion(Kind.UNKNOWN, RESERVED);

  private enum Kind {
    SUCCEEDED,
    FAILED,
    UNKNOWN
  }

  private final Kind kind;
  private final ToIntFunction<Charge> actualCost;

  private Completion(Kind kind, ToIntFunction<Charge> actual) {
    this.kind = kind;
    this.actualCost = actual;
  }

  /** The call succeeded. */
  public static Completion succeeded() {
    return SUCCEEDED;
  }

  /** The call failed. */
  public static Completion failed() {
    return FAILED;
  }

  /**
   * The outcome of the call is unknown, for example because the caller disconnected while it ran.
   * It counts both as a failure and as a success; otherwise a caller could evade the limit by
   * making its calls end this way.
   */
  public static Completion unknown() {
    return UNKNOWN;
  }

  /**
   * Returns this completion with an actual cost that replaces the reserved one.
   *
   * @param units 0 to {@value Charge#MAX_COST}; 0 gives everything back
   * @throws IllegalArgumentException if {@code units} is out of range
   */
  public Completion withCost(int units) {
    requireCost(units);
    return new Completion(kind, charge -> units);
  }

  /**
   * Returns this completion with an actual cost for each charge, for calls whose charges differ in
   * cost.
   *
   * @param units the actual cost of a charge; {@link Charge#cost()} to keep the reserved cost.
   *     Values below 0 count as 0, values above {@value Charge#MAX_COST} as {@value
   *     Charge#MAX_COST}
   */
  public Completion withCosts(ToIntFunction<Charge> units) {
    Objects.requireNonNull(units, "units");
    return new Completion(
        kind, charge -> Math.max(0, Math.min(Charge.MAX_COST, units.applyAsInt(charge))));
  }

  private static void requireCost(int units) {
    if (units < 0 || units > Charge.MAX_COST) {
      throw new IllegalArgumentException(
          "A call has cost %s units: use 0 to %s".formatted(units, Charge.MAX_COST));
    }
  }

  /** Returns whether a stack with this counting counts the call. */
  public boolean counts(Counting counting) {
    return switch (counting) {
      case ALL -> true;
      case FAILURES -> kind != Kind.SUCCEEDED;
      case SUCCESSES -> kind != Kind.FAILED;
    };
  }

  /**
   * Returns this completion with all costs computed, so that no application code runs under a lock
   * or between two commands; for authors of stores.
   *
   * @throws RuntimeException any exception of the cost function
   */
  public Completion withKnownCosts(List<Charge> charges) {
    if (actualCost == RESERVED) {
      return this;
    }
    Map<Charge, Integer> known = new HashMap<>();
    charges.forEach(charge -> known.put(charge, actualCost.applyAsInt(charge)));
    return new Completion(kind, charge -> known.getOrDefault(charge, charge.cost()));
  }

  /**
   * Returns this completion for other charges, each of which replaces one of the original charges.
   */
  Completion standingFor(UnaryOperator<Charge> original) {
    return actualCost == RESERVED
        ? this
        : new Completion(kind, charge -> actualCost.applyAsInt(original.apply(charge)));
  }

  /** Returns the units of a charge that are given back; for authors of stores. */
  public int returned(Charge charge) {
    if (charge.stack().permitDuration().isPresent() || !counts(charge.stack().counting())) {
      return charge.cost();
    }
    return Math.max(0, charge.cost() - actualCost.applyAsInt(charge));
  }

  /**
   * Returns a request that records the cost above the reserved one; for authors of stores.
   *
   * @param taken selects the charges that took their units
   * @return empty if the call cost no more than was reserved
   */
  public Optional<LimitRequest> rest(LimitRequest request, Predicate<Charge> taken) {
    List<Charge> more = new ArrayList<>();
    for (Charge charge : request.charges()) {
      if (returned(charge) == 0 && taken.test(charge)) {
        int units = actualCost.applyAsInt(charge) - charge.cost();
        if (units > 0) {
          more.add(charge.withCost(units));
        }
      }
    }
    return more.isEmpty()
        ? Optional.empty()
        : Optional.of(new LimitRequest(request.policy(), more, Optional.empty()));
  }

  @Override
  public String toString() {
    return kind.toString();
  }
}
