// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.LoggedRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.state.Cell;
import io.limiter.core.state.CellReadout;
import io.limiter.core.store.Mode;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.stream.Stream;

/**
 * A stack of rules in the encoding of the scripts; created once for each stack. It has one part for
 * the rules with a log, and one for those that keep numbers. Each part has its own reply; both
 * share one key.
 */
public final class EncodedStack {

  /** The status of the charge, before the replies of the parts. */
  static final int STATUS = 1;

  /** A log of no more units is short: it is read and written as a whole. */
  private static final int EXACT_SIZE_UNITS = 118;

  private final StackPlan plan;
  private final StackPart[] parts;
  private final boolean logOnly;
  private final int micros;
  private final int[] partOf;
  private final int[] indexInPart;

  /**
   * @param algorithms the custom algorithms in the scripts
   * @param wallMicros the wall clock, for the changes of the clocks of time zones
   */
  public EncodedStack(RuleStack stack, List<CustomAlgorithm> algorithms, LongSupplier wallMicros) {
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
    Optional<EncodedLog> log =
        logged.isEmpty() ? Optional.empty() : Optional.of(new EncodedLog(logged));
    Optional<CellPlan> cells =
        counted.isEmpty() && stack.ban().isEmpty()
            ? Optional.empty()
            : Optional.of(new CellPlan(counted, stack.ban(), algorithms));
    if (log.isEmpty()) {
      Arrays.fill(partOf, 0);
    }
    plan = new StackPlan(log, cells, wallMicros);
    parts =
        Stream.concat(log.stream(), cells.stream().map(EncodedCells::new))
            .toArray(StackPart[]::new);
    logOnly = cells.isEmpty();
    micros = micros(stack);
  }

  /**
   * By the measurements in docs/redis-state.md and docs/benchmarks.md, rounded up. An algorithm of
   * the application's may take longer than those.
   */
  private static int micros(RuleStack stack) {
    int micros = stack.ban().isPresent() ? 6 : 4;
    for (Rule rule : stack.rules()) {
      if (rule instanceof LoggedRule log) {
        micros += log.count() <= EXACT_SIZE_UNITS ? 1 : 4;
      } else {
        micros += rule instanceof CustomRule ? 6 : 2;
      }
    }
    return micros;
  }

  /** An estimate of how long Redis takes for one unit of this stack, in microseconds. */
  int micros() {
    return micros;
  }

  /** The plan that is sent to the scripts. */
  public StackPlan plan() {
    return plan;
  }

  /** Whether all its rules read the log, and there is no ban. */
  boolean isLogOnly() {
    return logOnly;
  }

  /** The number of parts. */
  int size() {
    return parts.length;
  }

  StackPart part(int index) {
    return parts[index];
  }

  /** The part to which a rule belongs. */
  int partOf(int rule) {
    return partOf[rule];
  }

  /** The index of a rule within its part. */
  int indexInPart(int rule) {
    return indexInPart[rule];
  }

  /** Length of the reply: the status, then all parts. */
  int replyLength() {
    int length = STATUS;
    for (StackPart part : parts) {
      length += part.replyLength();
    }
    return length;
  }

  /** The rules of a stack that keep numbers, and its ban; {@code cells.lua} describes them. */
  static final class EncodedCells implements StackPart {

    private final List<Rule> rules;
    private final Cell[] unused;
    private final boolean bans;
    private final int replyLength;

    EncodedCells(CellPlan plan) {
      this.rules = plan.rules();
      this.unused = rules.stream().map(Cell::unused).toArray(Cell[]::new);
      this.bans = plan.bans();
      int numbers = rules.stream().mapToInt(CellCode::size).sum();
      this.replyLength = 8 + 8 * numbers + (bans ? 8 * CellCode.BAN_SIZE + 8 : 0);
    }

    @Override
    public int replyLength() {
      return replyLength;
    }

    @Override
    public PartReadout read(ByteBuffer reply, int offset, Mode mode, int cost) {
      long nowMicros =
          (long)
              StackPart.ReplyNumbers.timeMicros(
                  reply.getDouble(offset), StackPart.ReplyNumbers.LATEST);
      CellReadout[] readouts = new CellReadout[rules.size()];
      int at = offset + 8;
      for (int r = 0; r < readouts.length; r++) {
        double[] numbers = new double[CellCode.size(rules.get(r))];
        for (int n = 0; n < numbers.length; n++) {
          double number = reply.getDouble(at + 8 * n);
          numbers[n] =
              rules.get(r) instanceof CustomRule ? StackPart.ReplyNumbers.finite(number) : number;
        }
        at += 8 * numbers.length;
        readouts[r] =
            Cell.stored(rules.get(r), unused[r], nowMicros, numbers)
                .read(rules.get(r), nowMicros, cost, mode);
        StackPart.ReplyNumbers.remainingBefore(
            readouts[r].remainingBefore(), rules.get(r).capacity());
      }
      double banMicros = bans ? reply.getDouble(at + 8 * CellCode.BAN_SIZE) : 0;
      return new CellsReadout(
          readouts,
          bans,
          (long) StackPart.ReplyNumbers.timeMicros(banMicros, StackPart.ReplyNumbers.LATEST));
    }

    private static final class CellsReadout implements PartReadout {

      private final CellReadout[] readouts;
      private final boolean bans;
      private final long banMicros;

      CellsReadout(CellReadout[] readouts, boolean bans, long banMicros) {
        this.readouts = readouts;
        this.bans = bans;
        this.banMicros = banMicros;
      }

      @Override
      public long remainingBefore(int rule) {
        return readouts[rule].remainingBefore();
      }

      @Override
      public long retryAfterMicros(int rule, boolean taken) {
        return StackPart.ReplyNumbers.retryAfterMicros(readouts[rule].retryAfterMicros(taken));
      }

      @Override
      public long resetAfterMicros(int rule, boolean taken) {
        return (long)
            StackPart.ReplyNumbers.timeMicros(
                (double) readouts[rule].resetAfterMicros(taken), StackPart.ReplyNumbers.LATEST);
      }

      @Override
      public long delayMicros(int rule) {
        return (long)
            StackPart.ReplyNumbers.timeMicros(
                (double) readouts[rule].delayMicros(), StackPart.ReplyNumbers.LATEST);
      }

      @Override
      public int[] taken() {
        int[] units = new int[readouts.length + (bans ? 1 : 0)];
        for (int c = 0; c < readouts.length; c++) {
          units[c] = (int) readouts[c].units();
        }
        return units;
      }

      @Override
      public long departureParts() {
        long longest = 0;
        for (CellReadout readout : readouts) {
          longest = Math.max(longest, readout.departureParts());
        }
        return longest;
      }

      @Override
      public long banMicros() {
        return banMicros;
      }
    }
  }
}
