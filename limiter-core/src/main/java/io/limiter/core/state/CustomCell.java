// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.FailureReason;
import io.limiter.core.Mode;
import io.limiter.core.StoreException;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import java.util.Arrays;
import java.util.Objects;
import java.util.stream.DoubleStream;
import org.jspecify.annotations.Nullable;

/**
 * The cell of a {@link CustomRule}. Its numbers are the time of the last admitted call, and the
 * values of the {@link CustomAlgorithm} as the bits of doubles; the first of these is no number if
 * there was no call.
 */
final class CustomCell extends Cell {

  /** The lower bound for units that are left; subtracting from it cannot overflow. */
  private static final long LEAST = -(1L << 53);

  private final CustomRule rule;

  CustomCell(CustomRule rule, int at) {
    super(at, CellAlgorithm.CUSTOM, 1 + rule.algorithm().stateSize());
    this.rule = rule;
  }

  @Override
  public double[] plan(long wallMicros) {
    return DoubleStream.concat(
            DoubleStream.of(
                (double) rule.count(),
                (double) MICROSECONDS.convert(rule.window()),
                (double) MICROSECONDS.convert(rule.memory())),
            rule.parameters().stream().mapToDouble(parameter -> parameter))
        .toArray();
  }

  @Override
  void clear(long[] state) {
    super.clear(state);
    state[at + 1] = Double.doubleToRawLongBits(Double.NaN);
  }

  @Override
  long number(double stored) {
    return Double.doubleToRawLongBits(stored);
  }

  @Override
  public long memoryMicros() {
    return MICROSECONDS.convert(rule.memory());
  }

  @Override
  public CellReadout read(long[] state, long nowMicros, int cost, Mode mode) {
    double[] values =
        Arrays.stream(state, at + 1, at + size()).mapToDouble(Double::longBitsToDouble).toArray();
    boolean known = !Double.isNaN(values[0]) && nowMicros - state[at] < memoryMicros();
    return new CustomReadout(known ? values : null, nowMicros, cost, mode);
  }

  /** Nothing is given back: only the algorithm could compute its values without the call. */
  @Override
  public boolean giveBack(
      long[] state, long stampMicros, int units, int taken, long departureParts, long nowMicros) {
    return false;
  }

  @Override
  public long neededUntilMicros(long[] state) {
    return state[at] + memoryMicros();
  }

  /** All code of the algorithm that may throw runs under the lock, before anything is taken. */
  private final class CustomReadout implements CellReadout {

    private final double @Nullable [] numbers;
    private final long nowMicros;
    private final long remainingBefore;
    private final long retryAfterMicros;
    private final long resetAfterMicros;
    private final double @Nullable [] next;
    private final boolean violated;
    private final int cost;
    private final boolean record;

    CustomReadout(double @Nullable [] numbers, long nowMicros, int cost, Mode mode) {
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
        return Objects.requireNonNull(
            rule.algorithm().read((double) nowMicros, cost, rule, state), "it returned null");
      } catch (Throwable broken) { // also an Error of the application's
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

    private StoreException failure(String what, @Nullable Throwable cause) {
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
    public void consume(long[] state) {
      state[at] = nowMicros;
      for (int i = 0; next != null && i < next.length; i++) {
        state[at + 1 + i] = Double.doubleToRawLongBits(next[i]);
      }
    }
  }
}
