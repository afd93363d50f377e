// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static java.util.Objects.requireNonNull;

import io.limiter.core.StoreException;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Keeps calls from waiting for a Redis node that has just failed: the circuit breaker of Michael
 * Nygard's "Release It!", with the rolling window of Hystrix. While closed, it admits all calls. It
 * opens when {@value #IN_A_ROW} of them fail in a row, or when half of at least {@value #MIN_CALLS}
 * calls that ended within a second failed. A call that could not be sent counts as neither. While
 * open, it rejects calls, and after a second admits one probe; the second varies by up to a fifth,
 * so that instances do not all probe at once. If the probe is answered, the breaker closes; if it
 * fails, the next probe follows a second later.
 *
 * <p>Admitting a call neither locks nor allocates; only transitions do.
 */
final class Breaker {

  static final int IN_A_ROW = 5;
  static final int MIN_CALLS = 20;

  private static final long OPEN_NANOS = Duration.ofSeconds(1).toNanos();
  private static final double SHORTEST = 0.8;
  private static final double SPREAD = 0.4;

  private final LongSupplier nanos;
  private final DoubleSupplier random;
  private final NodeBreakers.BreakerLog log;
  private final String notAsked;
  final AtomicReference<Period> period;

  /** Whether listeners were notified that the node is lost; written under the lock of the log. */
  private volatile boolean lost;

  /** A breaker on the clock of {@link System#nanoTime}. */
  Breaker(NodeBreakers.BreakerLog log) {
    this(log, System::nanoTime, () -> ThreadLocalRandom.current().nextDouble());
  }

  /**
   * @param nanos the clock; its origin is irrelevant
   * @param random 0 to 1, for the time it stays open
   */
  Breaker(NodeBreakers.BreakerLog log, LongSupplier nanos, DoubleSupplier random) {
    this.nanos = nanos;
    this.random = random;
    this.log = log;
    this.notAsked = log.node() + " failed recently, so the call was not sent";
    this.period = new AtomicReference<>(new Closed(nanos.getAsLong()));
  }

  /**
   * The time between two transitions. Every call that it admits reports its end to it; reports that
   * arrive after the period's end do not affect later periods.
   */
  interface Period {

    /** The node has answered, if only with an error that concerns one key. */
    default void answered() {}

    /**
     * The node has not answered, or has answered with an error that would affect other calls too.
     */
    default void failed(StoreException why) {}

    /**
     * The call has ended for a reason unrelated to the node, or was not sent because there is no
     * connection. This took no time, so the next call may find out whether there is a connection by
     * now; otherwise decisions would lag behind it by up to a second.
     */
    default void undecided() {}

    /** Like {@link #undecided}, for a call that was not sent because there is no connection. */
    default void unconnected(StoreException why) {
      undecided();
    }
  }

  /** For a call that waits for no node. */
  static final Period UNCONCERNED = new Period() {};

  /** Returns the period that admits a call; null if the call must not be sent. */
  @Nullable Period admit() {
    Period current = period.get();
    return current instanceof Open open && !open.takeProbe() ? null : current;
  }

  /**
   * Admits a call that is sent even while the breaker is open. Its answer closes the breaker; its
   * failure is not that of a probe.
   */
  Period pass() {
    Period current = requireNonNull(period.get());
    return !(current instanceof Open)
        ? current
        : new Period() {
          @Override
          public void answered() {
            current.answered();
          }
        };
  }

  /** The exception for calls that are not admitted. */
  StoreException rejection() {
    Duration wait =
        period.get() instanceof Open open
            ? Duration.ofNanos(open.untilProbeNanos())
            : Duration.ZERO;
    return StoreException.notAsked(notAsked, wait);
  }

  /**
   * Whether the node is lost, as the log and the listeners have it: it opened, or {@value
   * #IN_A_ROW} calls in a row found no connection, and none was answered since.
   */
  boolean isLost() {
    return lost;
  }

  private void lose(StoreException why) {
    synchronized (log) {
      if (!lost) {
        lost = true;
        log.lost(nanos.getAsLong(), why);
      }
    }
  }

  private void regain() {
    synchronized (log) {
      if (lost) {
        lost = false;
        log.back(nanos.getAsLong());
      }
    }
  }

  /**
   * Admits all calls. It counts those that ended within the last second, and the failures among
   * them, to a tenth of a second. Counting takes one compare-and-set and no allocation.
   */
  final class Closed implements Period {

    private static final long SLOT_NANOS = 100_000_000;
    private static final int SLOTS = 10;

    /**
     * A slot consists of 24 bits for the number of its tenth of a second, 20 for failures, 20 for
     * calls.
     */
    private static final int BITS = 20;

    private static final int TICK_SHIFT = 2 * BITS;
    private static final long COUNT_MASK = (1L << BITS) - 1;
    private static final long TICK_MASK = (1L << (Long.SIZE - TICK_SHIFT)) - 1;
    private static final long A_CALL = 1;
    private static final long A_FAILED_CALL = (1L << BITS) | A_CALL;

    private final long startNanos;
    private final AtomicLongArray slots = new AtomicLongArray(SLOTS);
    private final AtomicInteger inARow = new AtomicInteger();
    private final AtomicInteger unconnectedInARow = new AtomicInteger();

    Closed(long nowNanos) {
      this.startNanos = nowNanos;
    }

    @Override
    public void answered() {
      if (inARow.get() != 0) { // otherwise all threads would write to one cache line
        inARow.set(0);
      }
      if (unconnectedInARow.get() != 0) {
        unconnectedInARow.set(0);
      }
      if (lost && period.get() == this) {
        regain();
      }
      count(nanos.getAsLong(), false);
    }

    @Override
    public void failed(StoreException why) {
      long nowNanos = nanos.getAsLong();
      count(nowNanos, true);
      int failedInARow = inARow.incrementAndGet();
      long calls = calls(nowNanos);
      long failures = failures(nowNanos);
      if (failedInARow >= IN_A_ROW) {
        open(nowNanos, failedInARow + " calls in a row failed", why);
      } else if (calls >= MIN_CALLS && 2 * failures >= calls) {
        open(nowNanos, failures + " of " + calls + " calls within a second failed", why);
      }
    }

    @Override
    public void unconnected(StoreException why) {
      if (unconnectedInARow.incrementAndGet() >= IN_A_ROW && !lost && period.get() == this) {
        lose(why);
      }
    }

    private void open(long nowNanos, String what, StoreException why) {
      if (period.compareAndSet(this, new Open(nowNanos))) {
        synchronized (log) {
          log.opened(nowNanos, what, why);
          lose(why);
        }
      }
    }

    void count(long nowNanos, boolean failed) {
      long tick = tick(nowNanos);
      int index = (int) (tick % SLOTS);
      while (true) {
        long old = slots.get(index);
        long base =
            old >>> TICK_SHIFT == (tick & TICK_MASK) ? old : (tick & TICK_MASK) << TICK_SHIFT;
        boolean full = (base & COUNT_MASK) == COUNT_MASK; // a million in a tenth of a second
        if (full || slots.compareAndSet(index, old, base + (failed ? A_FAILED_CALL : A_CALL))) {
          return;
        }
      }
    }

    long calls(long nowNanos) {
      return sum(nowNanos, 0);
    }

    long failures(long nowNanos) {
      return sum(nowNanos, BITS);
    }

    private long sum(long nowNanos, int shift) {
      long tick = tick(nowNanos);
      long sum = 0;
      for (int i = 0; i < SLOTS; i++) {
        long slot = slots.get(i);
        long age = (tick - (slot >>> TICK_SHIFT)) & TICK_MASK;
        sum += age < SLOTS ? (slot >>> shift) & COUNT_MASK : 0;
      }
      return sum;
    }

    private long tick(long nowNanos) {
      return Math.max(0, nowNanos - startNanos) / SLOT_NANOS;
    }
  }

  private final class Open implements Period {

    /**
     * When the next call is a probe. The thread that moves it sends the probe. It moves it by a
     * whole second, so that another probe follows if this one never reports its end.
     */
    private final AtomicLong probeNanos;

    Open(long nowNanos) {
      probeNanos = new AtomicLong(nowNanos + openNanos());
    }

    boolean takeProbe() {
      long nowNanos = nanos.getAsLong();
      long due = probeNanos.get();
      return nowNanos - due >= 0 && probeNanos.compareAndSet(due, nowNanos + openNanos());
    }

    long untilProbeNanos() {
      return Math.max(0, probeNanos.get() - nanos.getAsLong());
    }

    @Override
    public void answered() {
      long nowNanos = nanos.getAsLong();
      if (period.compareAndSet(this, new Closed(nowNanos))) {
        synchronized (log) {
          log.closed(nowNanos);
          regain();
        }
      }
    }

    @Override
    public void failed(StoreException why) {
      if (period.get() == this) {
        log.stillOpen(nanos.getAsLong(), why);
      }
    }

    @Override
    public void undecided() {
      probeNanos.set(nanos.getAsLong());
    }

    private long openNanos() {
      return (long) (OPEN_NANOS * (SHORTEST + SPREAD * random.getAsDouble()));
    }
  }
}
