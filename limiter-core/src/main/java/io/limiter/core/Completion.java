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
 * How a call ended, and what it cost in the end; for {@link Reservation#settle}. Immutable.
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
  private final ToIntFunction<Charge> actual;

  private Completion(Kind kind, ToIntFunction<Charge> actual) {
    this.kind = kind;
    this.actual = actual;
  }

  /** The call did what it was asked. */
  public static Completion succeeded() {
    return SUCCEEDED;
  }

  /** It did not. */
  public static Completion failed() {
    return FAILED;
  }

  /**
   * Nobody knows, as where the caller went away after the call had begun. It counts as a failure
   * and as a success: whoever could make his calls end unknown would else not be limited.
   */
  public static Completion unknown() {
    return UNKNOWN;
  }

  /**
   * The same ending of a call that has cost so much, instead of what was reserved for it.
   *
   * @param units 0 to {@value Charge#MAX_COST}; 0 gives everything back
   * @throws IllegalArgumentException if it is none of that
   */
  public Completion withCost(int units) {
    requireCost(units);
    return new Completion(kind, charge -> units);
  }

  /**
   * The same, for calls whose charges differ in cost.
   *
   * @param units for each charge what it has cost, {@link Charge#cost()} where that was no
   *     estimate. Less than 0 counts as 0, more than {@value Charge#MAX_COST} as that
   */
  public Completion withCosts(ToIntFunction<Charge> units) {
    Objects.requireNonNull(units, "units");
    return new Completion(
        kind, charge -> Math.max(0, Math.min(Charge.MAX_COST, units.applyAsInt(charge))));
  }

  private static void requireCost(int units) {
    if (units < 0 || units > Charge.MAX_COST) {
      throw new IllegalArgumentException(
          "A call has cost %d units: give it 0 to %d".formatted(units, Charge.MAX_COST));
    }
  }

  /** Whether a stack that counts such calls counts this one. */
  public boolean counts(Counting counting) {
    return switch (counting) {
      case ALL -> true;
      case FAILURES -> kind != Kind.SUCCEEDED;
      case SUCCESSES -> kind != Kind.FAILED;
    };
  }

  /**
   * The same with all costs known, so that nobody else's code is asked under a lock, or half-way;
   * for authors of stores.
   *
   * @throws RuntimeException whatever the function throws that tells the costs
   */
  public Completion told(List<Charge> charges) {
    if (actual == RESERVED) {
      return this;
    }
    Map<Charge, Integer> known = new HashMap<>();
    charges.forEach(charge -> known.put(charge, actual.applyAsInt(charge)));
    return new Completion(kind, charge -> known.getOrDefault(charge, charge.cost()));
  }

  /** The same for other charges, each of which stands for one that this is about. */
  public Completion standingFor(UnaryOperator<Charge> original) {
    return actual == RESERVED
        ? this
        : new Completion(kind, charge -> actual.applyAsInt(original.apply(charge)));
  }

  /** Units of a charge that are given back; for authors of stores. */
  public int returned(Charge charge) {
    if (charge.stack().lease().isPresent() || !counts(charge.stack().counting())) {
      return charge.cost();
    }
    return Math.max(0, charge.cost() - actual.applyAsInt(charge));
  }

  /**
   * What the call has cost beyond what was reserved for it, to be recorded; for authors of stores.
   *
   * @param taken the charges that took their units
   * @return empty if there is no more
   */
  public Optional<LimitRequest> rest(LimitRequest request, Predicate<Charge> taken) {
    List<Charge> more = new ArrayList<>();
    for (Charge charge : request.charges()) {
      if (returned(charge) == 0 && taken.test(charge)) {
        int units = actual.applyAsInt(charge) - charge.cost();
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
