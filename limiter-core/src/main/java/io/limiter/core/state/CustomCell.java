// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.store.Mode;
import java.util.Arrays;
import java.util.stream.DoubleStream;
import org.jspecify.annotations.Nullable;

/** The values of a {@link CustomAlgorithm}; null if the rule is fully replenished. */
final class CustomCell implements Cell {

  /** The lower bound for units that are left; subtracting from it cannot overflow. */
  private static final long LEAST = -(1L << 53);

  private final CustomRule rule;
  private final long writtenMicros;
  private final double @Nullable [] numbers;

  CustomCell(CustomRule rule, long writtenMicros, double @Nullable [] numbers) {
    this.rule = rule;
    this.writtenMicros = writtenMicros;
    this.numbers = numbers;
  }

  static @Nullable Cell unused(Rule rule) {
    return rule instanceof CustomRule custom ? new CustomCell(custom, 0, null) : null;
  }

  @Override
  public CellAlgorithm algorithm() {
    return CellAlgorithm.CUSTOM;
  }

  @Override
  public double[] plan(Rule planned, long wallMicros) {
    return DoubleStream.concat(
            DoubleStream.of(
                (double) rule.count(),
                (double) MICROSECONDS.convert(rule.window()),
                (double) MICROSECONDS.convert(rule.memory())),
            rule.parameters().stream().mapToDouble(parameter -> parameter))
        .toArray();
  }

  @Override
  public Cell withNumbers(long firstMicros, double[] stored, long nowMicros) {
    return new CustomCell(rule, firstMicros, Arrays.copyOfRange(stored, 1, stored.length));
  }

  @Override
  public int size() {
    return 1 + rule.algorithm().stateSize();
  }

  @Override
  public long memoryMicros() {
    return MICROSECONDS.convert(rule.memory());
  }

  @Override
  public CellReadout read(Rule reading, long nowMicros, int cost, Mode mode) {
    boolean known =
        numbers != null && nowMicros - writtenMicros < MICROSECONDS.convert(rule.memory());
    return new CustomReadout((CustomRule) reading, known ? numbers : null, nowMicros, cost, mode);
  }

  /** Nothing is given back: only the algorithm could compute its values without the call. */
  @Override
  public Cell giveBack(
      Rule under, long stampMicros, int units, int taken, long departureParts, long nowMicros) {
    return this;
  }

  @Override
  public long neededUntilMicros() {
    return writtenMicros + MICROSECONDS.convert(rule.memory());
  }

  @Override
  public String toString() {
    return "CustomCell[%s, written=%s, numbers=%s]"
        .formatted(rule.algorithm().name(), writtenMicros, Arrays.toString(numbers));
  }

  /** All code of the algorithm that may throw runs under the lock, before anything is taken. */
  private static final class CustomReadout implements CellReadout {

    private final CustomRule rule;
    private final double @Nullable [] numbers;
    private final long nowMicros;
    private final long remainingBefore;
    private final long retryAfterMicros;
    private final long resetAfterMicros;
    private final double @Nullable [] next;
    private final boolean violated;
    private final int cost;
    private final boolean record;

    CustomReadout(
        CustomRule rule, double @Nullable [] numbers, long nowMicros, int cost, Mode mode) {
      this.rule = rule;
      this.numbers = numbers;
      this.nowMicros = nowMicros;
      this.cost = cost;
      this.record = mode == Mode.RECORD;
      CustomAlgorithm.Evaluation evaluation = ask(cost, numbers);
      remainingBefore = (long) Math.floor(finite(evaluation.remainingBefore()));
      if (remainingBefore > rule.count() || remainingBefore < LEAST) {
        throw failure("returned " + remainingBefore + " units left of " + rule.count(), null);
      }
      violated = remainingBefore < cost;
      if (!violated) {
        next = checked(evaluation.next());
        boolean again = remainingBefore - cost >= cost || cost == 1;
        retryAfterMicros = micros((again ? evaluation : ask(cost, next)).retryAfterMicros());
        resetAfterMicros = micros(evaluation.resetAfterMicros());
      } else if (mode == Mode.RECORD) {
        CustomAlgorithm.Evaluation recorded =
            ask((int) Math.min(cost, Math.max(0, remainingBefore)), numbers);
        next = checked(recorded.next());
        retryAfterMicros = micros(ask(1, next).retryAfterMicros());
        resetAfterMicros = micros(recorded.resetAfterMicros());
      } else {
        next = null;
        retryAfterMicros = micros(evaluation.retryAfterMicros());
        resetAfterMicros = micros(ask(0, numbers).resetAfterMicros());
      }
    }

    private CustomAlgorithm.Evaluation ask(int cost, double @Nullable [] state) {
      try {
        return rule.algorithm().read((double) nowMicros, cost, rule, state);
      } catch (RuntimeException broken) {
        throw failure("failed", broken);
      }
    }

    /** Rounded up, so that the time is never too short. */
    private long micros(double exactMicros) {
      return (long) Math.ceil(finite(exactMicros));
    }

    private double finite(double number) {
      if (!Double.isFinite(number)) {
        throw failure("returned " + number + " instead of a finite number", null);
      }
      return number;
    }

    private double[] checked(double[] state) {
      if (state.length != rule.algorithm().stateSize()) {
        throw failure(
            "returned %s state values instead of %s"
                .formatted(state.length, rule.algorithm().stateSize()),
            null);
      }
      for (double number : state) {
        finite(number);
      }
      return state;
    }

    private StoreException failure(String what, @Nullable RuntimeException cause) {
      return new StoreException(
          FailureReason.ERROR,
          "The algorithm '%s' of the rule '%s' %s"
              .formatted(rule.algorithm().name(), rule.name(), what),
          cause);
    }

    @Override
    public long remainingBefore() {
      return remainingBefore;
    }

    @Override
    public boolean admits() {
      return !violated;
    }

    @Override
    public long units() {
      return record ? Math.min(cost, Math.max(0, remainingBefore)) : cost;
    }

    @Override
    public long retryAfterMicros(boolean taken) {
      return taken || violated ? retryAfterMicros : micros(ask(0, numbers).retryAfterMicros());
    }

    @Override
    public long resetAfterMicros(boolean taken) {
      return taken || violated ? resetAfterMicros : micros(ask(0, numbers).resetAfterMicros());
    }

    @Override
    public Cell taken() {
      return new CustomCell(rule, nowMicros, next);
    }
  }
}
