// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

import org.jspecify.annotations.Nullable;

/**
 * A custom algorithm: how the calls of one subject are counted under one rule. It is implemented
 * twice, in Java for the memory store and in Lua for Redis. Both must return exactly the same
 * numbers. Both compute in doubles, which are exact for whole numbers below 2<sup>53</sup>.
 *
 * <p>The state of a subject is a handful of numbers. The algorithm receives them and returns what
 * the rule finds, and the numbers to store if the call is admitted; all rules of the call together
 * decide whether it is. Times are in microseconds and never run backwards for a subject.
 *
 * <p>In Redis the Lua implementation decides. If the Java implementation, given the same numbers,
 * disagrees with that decision, the call fails with {@code FailureReason.ERROR} and a message that
 * names the algorithm and the rule. Units that the call took by the Lua decision, under any of its
 * rules, are not given back: they expire with their windows.
 *
 * <p>Implementations are stateless, return the same for the same arguments, and are called by many
 * threads at once: a store may ask one several times for a call.
 */
public interface CustomAlgorithm {

  /** The largest number of state values. */
  int MAX_STATE = 8;

  /** The name in the script and in messages: 1 to 32 lower-case letters, digits and hyphens. */
  String name();

  /** The number of state values for each subject, 1 to {@value #MAX_STATE}. */
  int stateSize();

  /**
   * Evaluates a rule for a call.
   *
   * @param nowMicros the time, in microseconds
   * @param cost units that the call takes; 0 to evaluate the rule without a call
   * @param rule the rule, with its count, window and parameters
   * @param state the stored values; null for a new subject, and for one without calls for {@link
   *     CustomRule#memory}. Must not be modified
   */
  Evaluation read(double nowMicros, double cost, CustomRule rule, double @Nullable [] state);

  /**
   * The implementation for Redis, in Lua 5.1: the body of a function with the arguments {@code
   * now}, {@code cost}, {@code count}, {@code window}, {@code p} (the rule's parameters, an array)
   * and {@code state} (an array, or nil). It returns the units that are left and the values to
   * store, as an array: {@link Evaluation#remainingBefore} and {@link Evaluation#next}. The times
   * are computed by {@link #read}, from the values that Redis had. The script may use local
   * variables and {@code math} only: no keys, no Redis commands, no global names.
   */
  String script();

  /**
   * The result for one rule.
   *
   * @param remainingBefore units that are left before this call, at most the rule's count; if they
   *     are below the call's cost, the rule is violated
   * @param retryAfterMicros if the rule is violated, the microseconds after which the same call
   *     would pass if there are no calls in between, or {@code DecisionReadout.NEVER}; otherwise
   *     the microseconds until more units are left than right after this call
   * @param resetAfterMicros the microseconds until the rule is fully replenished, counted from
   *     right after this call
   * @param next the values to store if the call is admitted
   */
  @SuppressWarnings("ArrayRecordComponent") // passed on, never compared
  record Evaluation(
      double remainingBefore, double retryAfterMicros, double resetAfterMicros, double[] next) {}
}
