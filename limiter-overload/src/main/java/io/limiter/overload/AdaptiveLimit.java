// SPDX-License-Identifier: Apache-2.0
package io.limiter.overload;

import io.micronaut.core.annotation.Internal;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/**
 * A limit that follows the queue which latencies show, as TCP Vegas does (Brakmo and Peterson,
 * 1995), over windows of time, as the auto-tuner of Uber's Cinnamon ("Cinnamon Auto-Tuner: Adaptive
 * Concurrency in the Wild", 2023) and failsafe-go's AdaptiveLimiter do. As in these two, the
 * throughput decides whether the latency to compare with is right; here by experiments.
 *
 * <ul>
 *   <li><b>A window</b> ends after 250 ms and three baselines, or four calls of each place if these
 *       are fast again, with 50 latencies at least. Its figure is the 90th percentile of calls that
 *       began within it. A call that was rejected has no latency, and calls that began under a
 *       higher limit are no evidence about this one.
 *   <li><b>While the limit binds</b>, it grows by a quarter if the figure is up to 1.3 baselines;
 *       it stays up to 1.6; above that, twice in succession, it shrinks in proportion, by 3/10 at
 *       least, so that the throughput can show whether that was right, and by half at most. There
 *       is no further term, so a queue never raises the limit.
 *   <li><b>While it does not bind</b>, it approaches five times what is in flight at most, or its
 *       initial value; the baseline follows the figures, quickly down and slowly up. Neither rises
 *       with a figure above 1.6 baselines; twice in succession, the limit becomes 7/10 of what is
 *       in flight, or its initial value, so that a queue that grows slowly binds it.
 *   <li><b>Each decrease is an experiment</b>, and so is a probe, with 7/10 of the limit for one
 *       window, each few seconds while the limit binds. Where fewer calls in flight bring less
 *       throughput in proportion, the latency is that of the work: it becomes the baseline, and the
 *       limit is restored. Where they bring as much throughput, it is that of a queue: the baseline
 *       is lowered. So a baseline neither grows with the queue, nor stays behind a dependency that
 *       has become slow, and no call has to be rejected in order to measure it.
 *   <li><b>Once calls take less than 7/10 of a baseline that an experiment has raised</b>, the one
 *       before holds again, and a limit that has fallen grows at once. What is left above that is a
 *       queue of callers that wait for each answer, or a dependency that is still slow. The next
 *       experiments show which; such callers would otherwise fit into a limit that has grown above
 *       their number, and queue on.
 *   <li><b>Where the process is late</b>, because of other work on its processors, a pause, or many
 *       rejections, calls take longer whatever their number. The limit does not shrink by this part
 *       of a latency. While it is 3/10 of the baseline or more, what the throughput shows decides
 *       alone: the limit goes on by 7/10, and after a step that it has to undo by 10/7.
 * </ul>
 *
 * <p>The throughput is that of calls in the same windows, with at least 50 of them; the elasticity
 * is d ln throughput / d ln limit: 1 where all calls are served at once, 0 where they queue.
 */
@Internal
public final class AdaptiveLimit implements InFlightLimit {

  private static final long WINDOW_NANOS = 250_000_000L;
  private static final long LONG_WINDOW_NANOS = 1_000_000_000L;
  private static final long LONGEST_WINDOW_NANOS = 10_000_000_000L;
  private static final long SHORTEST_WATCH_NANOS = 1_000_000L;
  private static final int MANY_SAMPLES = 200;
  private static final int SAMPLES = 50;
  private static final int FEW_SAMPLES = 10;

  /** Calls of each place in a window, by which it is long enough for all of them. */
  private static final int TURNS = 4;

  private static final double FIGURE = 0.9;

  private static final double CHANGED_BELOW = 0.7;
  private static final double GROWS_BELOW = 1.3;
  private static final double SHRINKS_ABOVE = 1.6;
  private static final double SHRINKS_TO = 1.45;
  private static final double GROWTH = 1.25;
  private static final double LEAST_SHRINK = 0.5;
  private static final double HEADROOM = 5;
  private static final double PROBE = 0.7;
  private static final double QUEUES_BELOW = 0.3;
  private static final double SURELY_QUEUES_BELOW = 0.1;
  private static final double SERVES_ABOVE = 0.6;
  private static final double LATE_ABOVE = 0.3;

  /** Of the calls that ended in a window: as many have to have found it full. */
  private static final double BINDS = 0.2;

  /** Between the two: neither is known. */
  private static final double UNKNOWN = 0.45;

  private static final int FIRST_PROBE = 5;
  private static final int LAST_PROBE = 40;

  private final int min;
  private final int initial;
  private final int max;

  private final LatencyWindow latencies = new LatencyWindow();

  /** How late this process was. */
  private final LatencyWindow lates = new LatencyWindow();

  private final LongAdder ended = new LongAdder();
  private final LongAdder full = new LongAdder();
  private final AtomicBoolean closing = new AtomicBoolean();

  private volatile int limit;
  private volatile int epoch;
  private volatile long start;
  private volatile int peak;

  /** Whether the window begins with the first call of its epoch. */
  private volatile boolean settling;

  // Only the thread that closes a window uses these; closing publishes them.
  private double exact;
  private double smoothPeak;
  private double lastRatio;

  /** Without the time by which the process was late. */
  private double lastOwn;

  private double boundThroughput;

  /** The baseline before experiments raised it; 0 while none has. */
  private double raisedFrom;

  /** By how much the process was late in this window, or in some before. */
  private double lateness;

  /** The direction of the next step of a process that is late. */
  private boolean climbs;

  private int windowsToProbe = FIRST_PROBE;
  private int probePause = FIRST_PROBE;

  /** Of the window before an experiment; 0 while there is none. */
  private double limitBefore;

  private double throughputBefore;
  private double elasticity = UNKNOWN;
  private boolean isKnown = true;
  private int epochs;
  private volatile boolean probes;

  // For meters, in nanoseconds.
  private volatile double baseline;
  private volatile double median;
  private volatile double figure;

  /**
   * @param min the lowest limit
   * @param initial the limit at the start, and the lowest one while the instance is not overloaded
   * @param max the highest limit
   * @param clock nanoseconds, as {@link System#nanoTime}
   */
  public AdaptiveLimit(int min, int initial, int max, LongSupplier clock) {
    this.min = min;
    this.initial = initial;
    this.max = max;
    this.limit = initial;
    this.exact = initial;
    this.start = clock.getAsLong();
  }

  @Override
  public int now() {
    return limit;
  }

  /** The latency without a queue, in nanoseconds, as far as it is known; 0 at first. */
  public double baseline() {
    return baseline;
  }

  /** The median of the last window, in nanoseconds. */
  public double median() {
    return median;
  }

  /** The 90th percentile of the last window, in nanoseconds. */
  public double figure() {
    return figure;
  }

  @Override
  public int begun(long nanos) {
    if (settling && closing.compareAndSet(false, true)) {
      if (settling) {
        restart(nanos);
        settling = false;
      }
      closing.set(false);
    }
    return epoch;
  }

  @Override
  public boolean isSlow(long latency) {
    double known = baseline;
    return known > 0 && latency > SHRINKS_ABOVE * known;
  }

  @Override
  public void full() {
    full.increment();
  }

  @Override
  public long usual() {
    double known = baseline;
    return known == 0
        ? InFlightLimit.super.usual()
        : Math.min(LONG_WINDOW_NANOS, (long) Math.max(SHORTEST_WATCH_NANOS, known));
  }

  @Override
  public void late(long nanos) {
    lates.add(Math.max(0, nanos));
  }

  @Override
  public void ended(int began, long latency, int inFlight, long nanos) {
    if (settling) {
      return; // of the epoch before
    }
    ended.increment();
    if (inFlight > peak) {
      peak = inFlight;
    }
    int samples = began == epoch ? latencies.add(latency) : latencies.size();
    long time = nanos - start;
    if (isOver(time, samples) && closing.compareAndSet(false, true)) {
      try {
        if (isOver(nanos - start, latencies.size())) {
          close(nanos);
        }
      } finally {
        closing.set(false);
      }
    }
  }

  private boolean isOver(long time, int samples) {
    int factor = probes ? 2 : 1;
    return time >= factor * WINDOW_NANOS
        && (time >= LONGEST_WINDOW_NANOS
            || ((time >= 3 * baseline || samples >= TURNS * limit)
                && (samples >= factor * MANY_SAMPLES
                    || (samples >= SAMPLES && time >= factor * LONG_WINDOW_NANOS))));
  }

  private void restart(long nanos) {
    latencies.clear();
    lates.clear();
    ended.reset();
    full.reset();
    peak = 0;
    start = nanos;
  }

  private void close(long nanos) {
    if (latencies.size() < FEW_SAMPLES) {
      restart(nanos); // a few calls of some seconds are no evidence
      return;
    }
    double now = latencies.quantile(FIGURE);
    median = latencies.quantile(0.5);
    figure = now;
    double late = lates.quantile(FIGURE);
    double own = now - late;
    lateness = Math.max(late, lateness / 2);
    double calls = ended.sum();
    double throughput = calls / Math.max(1, nanos - start);
    boolean binds = full.sum() >= BINDS * calls;
    int most = peak;
    restart(nanos);
    if (baseline == 0) {
      baseline = now;
      if (binds) { // nothing is known without a queue
        isKnown = false;
        elasticity = 0;
        windowsToProbe = 1;
      }
    }
    boolean isFaster = raisedFrom > 0 && now < CHANGED_BELOW * baseline;
    double before = exact;
    if (binds) {
      bound(now, own, throughput);
    } else {
      unbound(now, own, throughput, most);
    }
    if (isFaster) {
      baseline = Math.min(baseline, raisedFrom);
      raisedFrom = 0;
      elasticity = 1; // so that a limit that fell with it grows at once
    }
    exact = Math.min(max, Math.max(min, exact));
    if (exact < before * 0.95) {
      epochs++;
      epoch = epochs;
      settling = true;
    }
    limit = (int) exact;
  }

  private void unbound(double now, double own, double throughput, int most) {
    if (limitBefore > 0 && exact > limitBefore) {
      exact = limitBefore; // all callers found room, so nothing shows whether more is better
    }
    endExperiment();
    double ratio = now / baseline;
    double last = lastOwn;
    lastRatio = ratio;
    lastOwn = own / baseline;
    elasticity = UNKNOWN;
    isKnown = true;
    smoothPeak += 0.1 * (most - smoothPeak);
    if (ratio > SHRINKS_ABOVE) {
      if (lastOwn > SHRINKS_ABOVE && last > SHRINKS_ABOVE) {
        // Else the limit would follow a queue that grows slowly, or stay where none reaches it.
        exact = Math.min(exact, Math.max(initial, most));
        experiment(Math.min(exact, Math.max(initial, PROBE * most)), throughput, false);
      }
      return;
    }
    approach(now, now < baseline ? 0.2 : 0.02);
    double target = Math.max(initial, HEADROOM * smoothPeak);
    if (target < exact || ratio <= GROWS_BELOW) {
      exact += 0.1 * (target - exact);
    }
  }

  private void raise(double now) {
    if (now > baseline) {
      raisedFrom = raisedFrom == 0 ? baseline : raisedFrom;
      baseline = now;
    }
  }

  private void approach(double now, double part) {
    double known = baseline;
    baseline = known + part * (now - known);
  }

  private void bound(double now, double own, double throughput) {
    if (limitBefore > 0 && experimented(now, throughput)) {
      return;
    }
    double ratio = now / baseline;
    double last = lastRatio;
    double ownRatio = own / baseline;
    double ownLast = lastOwn;
    double lastThroughput = boundThroughput;
    lastRatio = ratio;
    lastOwn = ownRatio;
    boundThroughput = throughput;
    if (ratio < 1) {
      approach(now, ratio < CHANGED_BELOW ? 0.5 : 0.1);
      if (ratio < CHANGED_BELOW) {
        probePause = FIRST_PROBE;
        windowsToProbe = Math.min(windowsToProbe, FIRST_PROBE);
      }
      if (elasticity > SERVES_ABOVE) {
        grow();
      }
      return;
    }
    if (ratio <= GROWS_BELOW && last <= GROWS_BELOW && isKnown) {
      grow();
    } else if (ownRatio > SHRINKS_ABOVE && ownLast > SHRINKS_ABOVE) {
      // That of a dependency that is getting slow falls by itself.
      experiment(
          exact * Math.max(LEAST_SHRINK, Math.min(PROBE, SHRINKS_TO / ownRatio)),
          Math.min(throughput, lastThroughput),
          false);
    }
    if (limitBefore == 0 && isLate()) {
      step(throughput);
    } else if (limitBefore == 0 && --windowsToProbe <= 0) {
      experiment(exact * PROBE, throughput, true);
      if (limitBefore == 0) {
        experiment(Math.ceil(exact / PROBE), throughput, true); // no limit is lower
      }
    }
  }

  private boolean isLate() {
    return lateness > LATE_ABOVE * baseline;
  }

  private void grow() {
    exact = Math.max(exact + 1, exact * GROWTH);
  }

  /** Judges an experiment; false if the window counts as any other. */
  private boolean experimented(double now, double throughput) {
    boolean probed = probes;
    double from = limitBefore;
    double found = Math.log(throughput / throughputBefore) / Math.log(exact / from);
    double bounded = Math.max(-0.5, Math.min(1.5, found));
    endExperiment();
    if (now < CHANGED_BELOW * baseline) {
      exact = from; // the dependency has become faster meanwhile
      return false;
    }
    if (!probed) {
      if (bounded <= SERVES_ABOVE || exact > from * (PROBE + 0.01)) {
        return false;
      }
      raise(now);
      exact = from;
      lastRatio = 0;
      lastOwn = 0;
      return true;
    }
    if (isLate()) {
      // Alone, since throughputs vary then. What more in flight brings is kept, and what fewer cost
      // is restored. Both steps are equal, so that the limit does not rise by chance.
      boolean isUndone = bounded < QUEUES_BELOW == exact > from;
      if (isUndone) {
        exact = from;
        climbs = !climbs;
      } else {
        step(throughput);
      }
      return true;
    }
    boolean isUp = exact > from; // from the lowest limit, where nothing else shows an error
    elasticity += (isUp ? 1 : 0.6) * (bounded - elasticity);
    isKnown |= elasticity >= QUEUES_BELOW;
    probePause = isUp ? FIRST_PROBE : Math.min(LAST_PROBE, 2 * probePause);
    if (elasticity > SERVES_ABOVE) {
      raise(now);
      exact = from;
      lastRatio = 0;
      lastOwn = 0;
    } else if (elasticity < QUEUES_BELOW && exact < from) {
      baseline = Math.min(baseline, now / 1.1);
      if (!isKnown || elasticity < SURELY_QUEUES_BELOW) {
        probePause = FIRST_PROBE;
        experiment(exact * (isKnown ? PROBE : LEAST_SHRINK), throughput, true);
      } else {
        exact = Math.sqrt(exact * from);
      }
    } else {
      exact = from;
    }
    windowsToProbe = probePause;
    return true;
  }

  /** Of a process that is late: goes on in one direction as long as the throughput allows it. */
  private void step(double throughput) {
    experiment(climbs ? exact / PROBE : exact * PROBE, throughput, true);
    if (limitBefore == 0) {
      climbs = !climbs; // there is no limit beyond
    }
  }

  private void experiment(double next, double throughput, boolean probe) {
    double bounded = Math.min(max, Math.max(min, next));
    if (Math.abs(bounded - exact) > exact * 0.05) {
      limitBefore = exact;
      throughputBefore = throughput;
      probes = probe;
      exact = bounded;
    }
  }

  private void endExperiment() {
    limitBefore = 0;
    probes = false;
  }
}
