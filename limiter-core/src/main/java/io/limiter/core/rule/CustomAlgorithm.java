// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

import org.jspecify.annotations.Nullable;

/**
 * An algorithm of your own: how the calls of one subject are counted under one rule, once in Java
 * for the memory store, and once in Lua for Redis. Both must answer alike, number by number; both
 * calculate in doubles, which are exact for whole numbers below 2<sup>53</sup>.
 *
 * <p>What it remembers of a subject is a handful of numbers. It is shown them, and says what the
 * rule finds, and what the numbers become should the call be admitted; whether they do is decided
 * with all other rules of the call. Time is in microseconds and never runs backwards for a subject.
 *
 * <p>In Redis the Lua decides. Where the Java then finds, with the numbers that Redis had, that the
 * call should have been decided otherwise, the call fails with {@code FailureReason.ERROR} and a
 * message that names the algorithm and the rule. Units that the Lua has let the call take, of any
 * of its rules, are not given back: they leave with their windows.
 *
 * <p>Implementations have no state of their own and are called by many threads at once.
 */
public interface CustomAlgorithm {

  /** The most numbers that can be remembered. */
  int MAX_STATE = 8;

  /** Names it in the script and in messages: 1 to 32 lower-case letters, digits and hyphens. */
  String name();

  /** How many numbers it remembers of a subject, 1 to {@value #MAX_STATE}. */
  int stateSize();

  /**
   * What a rule finds for a call.
   *
   * @param now the time
   * @param cost units that the call takes; 0 to look only
   * @param rule the rule, with its count, window and parameters
   * @param state what is remembered; null for a subject that is new, or that nobody has asked for
   *     since {@link CustomRule#memory}. Not to be changed
   */
  Evaluation read(double now, double cost, CustomRule rule, double @Nullable [] state);

  /**
   * What Redis needs of it, in Lua 5.1: the body of a function whose arguments are {@code now},
   * {@code cost}, {@code count}, {@code window}, {@code p} (the rule's parameters, an array) and
   * {@code state} (an array, or nil). It returns the units that are left, and what is to be
   * remembered, as an array: {@link Evaluation#left} and {@link Evaluation#next}. The times are
   * asked of {@link #read}, with the numbers that Redis had. It may use local variables and {@code
   * math}, and nothing else: no keys, no calls of Redis, no global names.
   */
  String script();

  /**
   * What a rule finds.
   *
   * @param left units that are left before this call, the rule's count at most; below the call's
   *     cost, the rule is violated
   * @param waitFor if it is violated, the time after which the same call would pass if nobody calls
   *     in between, or {@code DecisionReadout.NEVER}; else the time until more units are left than
   *     right after this call
   * @param reset the time after which the rule is as if never used, counted from right after this
   *     call
   * @param next what is to be remembered if the call is admitted
   */
  @SuppressWarnings("ArrayRecordComponent") // handed over, not compared
  record Evaluation(double left, double waitFor, double reset, double[] next) {}
}
