// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.CustomAlgorithm;
import io.limiter.core.LoggedRule;
import io.limiter.core.Rule;
import io.limiter.core.RuleStack;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.LongSupplier;

/**
 * A stack of rules as the scripts read it; made once for each stack. It has a key for its log, one
 * for the cells of the rules that keep numbers, or both; they share the hash tag.
 */
final class EncodedStack {

  private final StackPart[] parts;
  private final int[] partOf;
  private final int[] indexInPart;

  /**
   * @param algorithms those that the scripts know, beside their own
   * @param wallMicros the wall clock, for the changes of the clocks of time zones
   */
  EncodedStack(RuleStack stack, List<CustomAlgorithm> algorithms, LongSupplier wallMicros) {
    List<LoggedRule> logged = new ArrayList<>();
    List<Rule> counted = new ArrayList<>();
    int size = stack.rules().size();
    partOf = new int[size];
    indexInPart = new int[size];
    for (int r = 0; r < size; r++) {
      if (stack.rules().get(r) instanceof LoggedRule log) {
        indexInPart[r] = logged.size();
        logged.add(log);
      } else {
        partOf[r] = 1;
        indexInPart[r] = counted.size();
        counted.add(stack.rules().get(r));
      }
    }
    List<StackPart> made = new ArrayList<>(2);
    if (!logged.isEmpty()) {
      made.add(new EncodedLog(logged));
    } else {
      Arrays.fill(partOf, 0);
    }
    if (!counted.isEmpty() || stack.ban().isPresent()) {
      CellPlan plan = new CellPlan(counted, stack.ban(), algorithms, !logged.isEmpty());
      made.add(new EncodedCells(plan, wallMicros));
    }
    parts = made.toArray(StackPart[]::new);
  }

  /** How many keys the stack has. */
  int size() {
    return parts.length;
  }

  StackPart part(int index) {
    return parts[index];
  }

  /** Which part a rule belongs to. */
  int partOf(int rule) {
    return partOf[rule];
  }

  /** The index of a rule within its part. */
  int indexInPart(int rule) {
    return indexInPart[rule];
  }

  /** Length of the reply, all parts together. */
  int replyLength() {
    int length = 0;
    for (StackPart part : parts) {
      length += part.replyLength();
    }
    return length;
  }
}
