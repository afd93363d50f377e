// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import io.limiter.core.rule.Rule;
import java.util.List;
import java.util.Optional;

/**
 * One step of a {@link Scenario}.
 *
 * @param id by which later steps refer to it
 * @param clock the store's clock, in microseconds
 */
public record Step(int id, long clock, Action action) {

  public sealed interface Action {}

  public record Decide(LimitRequest request, Mode mode) implements Action {}

  /** Gives back what another step took, or the duplicate guard only. */
  public record GiveBack(int of, boolean guardOnly) implements Action {}

  /**
   * Settles the call of another step.
   *
   * @param cost the actual cost; empty if that is what was reserved
   */
  public record Settle(int of, How how, Optional<Integer> cost) implements Action {

    /** How a call ends; the outcome of a cancelled one is unknown. */
    public enum How {
      SUCCEEDED,
      FAILED,
      CANCELLED
    }

    Completion completion() {
      Completion completion =
          switch (how) {
            case SUCCEEDED -> Completion.succeeded();
            case FAILED -> Completion.failed();
            case CANCELLED -> Completion.unknown();
          };
      return cost.map(completion::withCost).orElse(completion);
    }
  }

  /** Takes the units of the only charge in advance. */
  public record Lease(LimitRequest request, long micros) implements Action {}

  /** Gives back units of another step's lease, or as many as are left of them. */
  public record GiveBackLeased(int of, int units) implements Action {}

  /** Renews the permits of another step's call. */
  public record Renew(int of) implements Action {}

  /**
   * Resets these keys.
   *
   * @param lost whether the keys disappear without a reset, as by FLUSHALL or an eviction
   */
  public record Reset(List<StateKey> keys, boolean lost) implements Action {}

  /** Short enough for a failure message, with everything that is needed to write a test of it. */
  @Override
  public String toString() {
    String what =
        action instanceof Decide decide
            ? "%s %s"
                .formatted(
                    decide.mode(),
                    decide.request().allCharges().stream()
                        .map(
                            c ->
                                c.key().tag().substring(0, 4)
                                    + c.key().name()
                                    + (c.observed() ? " observed" : "")
                                    + " "
                                    + c.cost()
                                    + " of "
                                    + names(c))
                        .toList())
            : action.toString();
    return "#%d at %d: %s".formatted(id, clock, what);
  }

  private static String names(Charge charge) {
    return charge.stack().rules().stream().map(Rule::name).toList()
        + charge.stack().ban().map(ban -> " " + ban).orElse("");
  }
}
