// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.state;

import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.Micros;
import io.limiter.core.rule.Rule;
import io.limiter.core.store.Mode;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** The values of a {@link CustomAlgorithm}; null if the rule is fully replenished. */
final class CustomCell implements Cell {

  /** The lower bound for units that are left; subtracting from it cannot overflow. */
  private static final long LEAST = -(1L << 53);

  private final CustomRule rule;
  private final long written;
  private final double @Nullable [] numbers;

  CustomCell(CustomRule rule, long written, double @Nullable [] numbers) {
    this.rule = rule;
    this.written = written;
    this.numbers = numbers;
  }

  @Override
  public int size() {
    return 1 + rule.algorithm().stateSize();
  }

  @Override
  public long time() {
    return numbers == null ? -1 : written;
  }

  @Override
  public long memoryMicros() {
    return Cell.longestMemoryMicros(rule);
  }

  @Override
  public boolean serves(Rule other) {
    return other == rule
        || (other instanceof CustomRule custom
            && custom.algorithm().name().equals(rule.algorithm().name())
            && custom.window().equals(rule.window())
            && custom.parameters().equals(rule.parameters())
            && custom.memory().equals(rule.memory()));
  }

  @Override
  public CellReadout read(Rule reading, long now, int cost, Mode mode) {
    boolean known = numbers != null && now - written < Micros.of(rule.memory());
    return new Answered((CustomRule) reading, known ? numbers : null, now, cost, mode);
  }

  /** Nothing is given back: only the algorithm could compute its values without the call. */
  @Override
  public Cell giveBack(long stamp, int units, int taken) {
    return this;
  }

  @Override
  public long neededUntil() {
    return written + Micros.of(rule.memory());
  }

  @Override
  public String toString() {
    return "CustomCell[%s, written=%d, numbers=%s]"
        .formatted(rule.algorithm().name(), written, Arrays.toString(numbers));
  }

  /** All code of the algorithm that may throw runs under the lock, before anything is taken. */
  private static final class Answered implements CellReadout {

    private final CustomRule rule;
    private final double @Nullable [] numbers;
    private final long now;
    private final long left;
    private final long wait;
    private final long reset;
    private final double @Nullable [] next;
    private final boolean violated;
    private final int cost;
    private final boolean record;

    Answered(CustomRule rule, double @Nullable [] numbers, long now, int cost, Mode mode) {
      this.rule = rule;
      this.numbers = numbers;
      this.now = now;
      this.cost = cost;
      this.record = mode == Mode.RECORD;
      CustomAlgorithm.Evaluation whole = ask(cost, numbers);
      left = (long) Math.floor(finite(whole.left()));
      if (left > rule.count() || left < LEAST) {
        throw failure("has answered with " + left + " units left of " + rule.count(), null);
      }
      violated = left < cost;
      if (!violated) {
        next = checked(whole.next());
        wait = micros(whole.waitFor());
        reset = micros(whole.reset());
      } else if (mode == Mode.RECORD) {
        CustomAlgorithm.Evaluation part = ask((int) Math.min(cost, Math.max(0, left)), numbers);
        next = checked(part.next());
        wait = micros(ask(1, next).waitFor());
        reset = micros(part.reset());
      } else {
        next = null;
        wait = micros(whole.waitFor());
        reset = micros(ask(0, numbers).reset());
      }
    }

    private CustomAlgorithm.Evaluation ask(int cost, double @Nullable [] state) {
      try {
        return rule.algorithm().read((double) now, cost, rule, state);
      } catch (RuntimeException broken) {
        throw failure("has failed", broken);
      }
    }

    /** Rounded up: a time that is a fraction of a microsecond short would be too short. */
    private long micros(double time) {
      return (long) Math.ceil(finite(time));
    }

    private double finite(double number) {
      if (!Double.isFinite(number)) {
        throw failure("has answered with " + number + " instead of a finite number", null);
      }
      return number;
    }

    private double[] checked(double[] state) {
      if (state.length != rule.algorithm().stateSize()) {
        throw failure(
            "wants %d numbers remembered instead of %d"
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
    public long left() {
      return left;
    }

    @Override
    public long units() {
      return record ? Math.min(cost, Math.max(0, left)) : cost;
    }

    @Override
    public long waitFor(boolean taken) {
      return taken || violated ? wait : micros(ask(0, numbers).waitFor());
    }

    @Override
    public long resetAfter(boolean taken) {
      return taken || violated ? reset : micros(ask(0, numbers).reset());
    }

    @Override
    public Cell taken() {
      return new CustomCell(rule, now, next);
    }

    @Override
    public Cell refused(Cell read) {
      return read;
    }
  }
}
