// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.overload;

import io.limiter.overload.AdaptiveLimit;
import io.limiter.overload.InFlightLimit;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.SplittableRandom;
import java.util.function.LongSupplier;

/**
 * Algorithms that set a limit of calls in flight, all behind the same queue. Those of others are
 * written from their descriptions and formulas, with their defaults, but for the bounds of the
 * limit, which are the same for all.
 */
enum Algorithm {
  /** No limit. */
  NONE("no limit"),
  /** A semaphore of 64. */
  FIXED("fixed, 64"),
  /** Gradient2 of Netflix' concurrency-limits, in windows of one second. */
  GRADIENT2("Gradient2"),
  /** TCP Vegas for each call, as in Quarkus' load shedding. */
  QUARKUS("Quarkus"),
  /** In the spirit of failsafe-go's AdaptiveLimiter. */
  CORRELATION("correlation"),
  /** Ours. */
  ADAPTIVE("limiter-overload");

  static final int MIN = 4;
  static final int INITIAL = 100;
  static final int MAX = 1_000;

  private final String label;

  Algorithm(String label) {
    this.label = label;
  }

  String label() {
    return label;
  }

  InFlightLimit limit(LongSupplier clock) {
    return switch (this) {
      case NONE -> new Fixed(Integer.MAX_VALUE / 2);
      case FIXED -> new Fixed(64);
      case GRADIENT2 -> new Gradient2();
      case QUARKUS -> new Vegas();
      case CORRELATION -> new Correlation();
      case ADAPTIVE -> new AdaptiveLimit(MIN, INITIAL, MAX, clock);
    };
  }

  /** Those of others run on one thread. */
  private abstract static class Peer implements InFlightLimit {

    double limit = INITIAL;
    boolean full;

    @Override
    public int now() {
      return (int) limit;
    }

    @Override
    public int begun(long nanos) {
      return 0;
    }

    @Override
    public void full() {
      full = true;
    }

    void set(double next) {
      limit = Math.max(MIN, Math.min(MAX, next));
    }
  }

  private static final class Fixed extends Peer {

    Fixed(int limit) {
      this.limit = limit;
    }

    @Override
    public void ended(int epoch, long latency, int inFlight, long nanos) {}
  }

  /** Average latency of a window beside an average over 600 windows, with a queue of 4. */
  private static final class Gradient2 extends Peer {

    private static final double WINDOW = 1e9;

    private long until;
    private double sum;
    private int count;
    private int most;
    private double longTerm;
    private int warm;

    @Override
    public void ended(int epoch, long latency, int inFlight, long nanos) {
      sum += latency;
      count++;
      most = Math.max(most, inFlight);
      if (nanos < until || count < 10) {
        return;
      }
      double recent = sum / count;
      int busiest = most;
      until = nanos + (long) WINDOW;
      sum = 0;
      count = 0;
      most = 0;
      warm++;
      longTerm += (recent - longTerm) * (warm <= 10 ? 1.0 / warm : 2.0 / 601);
      if (longTerm / recent > 2) {
        longTerm *= 0.9;
      }
      if (busiest < limit / 2) {
        return;
      }
      double gradient = Math.max(0.5, Math.min(1, longTerm / recent));
      set(limit * 0.8 + (limit * gradient + 4) * 0.2);
    }
  }

  /** The lowest latency since a random probe, and a queue between 3 and 6 × log10 of the limit. */
  private static final class Vegas extends Peer {

    private final SplittableRandom random = new SplittableRandom(7);
    private double lowest = Double.MAX_VALUE;
    private double count;
    private double jitter = 0.75;

    @Override
    public void ended(int epoch, long latency, int inFlight, long nanos) {
      count++;
      if (30 * jitter * limit <= count) {
        jitter = random.nextDouble(0.5, 1);
        count = 0;
        lowest = latency;
      } else if (latency < lowest) {
        lowest = latency;
      } else if (2 * inFlight >= limit) {
        double queue = Math.ceil(limit * (1 - lowest / latency));
        double log = 1 + Math.floor(Math.log10(limit));
        if (queue <= log) {
          set(limit + 6 * log);
        } else if (queue < 3 * log) {
          set(limit + log);
        } else if (queue > 6 * log) {
          set(limit - log);
        }
      }
    }
  }

  /**
   * The 90th percentile of windows of a second, smoothed, beside its average over ten; the limit
   * goes by steps, down also where more in flight has brought latency and no throughput.
   */
  private static final class Correlation extends Peer {

    private final long[] latencies = new long[1 << 16];
    private int count;
    private int most;
    private long until;
    private double smooth;
    private double baseline;
    private int warm;
    private final Deque<double[]> history = new ArrayDeque<>();

    @Override
    public void ended(int epoch, long latency, int inFlight, long nanos) {
      if (count < latencies.length) {
        latencies[count++] = latency;
      }
      most = Math.max(most, inFlight);
      if (nanos < until || count < 50) {
        return;
      }
      Arrays.sort(latencies, 0, count);
      double figure = latencies[(int) (count * 0.9)];
      until = nanos + Math.max(2 * latencies[0], 1_000_000_000L);
      warm++;
      smooth += (figure - smooth) * Math.max(1.0 / warm, 2.0 / 6);
      baseline += (smooth - baseline) * Math.max(1.0 / warm, 2.0 / 11);
      step(most, most / smooth);
      count = 0;
      most = 0;
      full = false;
    }

    private void step(double busiest, double throughput) {
      history.add(new double[] {busiest, throughput, smooth});
      if (history.size() > 50) {
        history.removeFirst();
      }
      double queue = Math.ceil(limit * (1 - baseline / smooth));
      double log = Math.max(1, Math.floor(Math.log10(limit)));
      double ofThroughput = correlation(1);
      double ofLatency = correlation(2);
      boolean down =
          queue > 6 * log
              || (full
                  && (ofThroughput < 0
                      || (ofLatency > 0.5 && (ofThroughput < 0.3 || variation() < 0.2))));
      if (down || limit > 5 * busiest) {
        set(limit - log);
      } else if (queue < 3 * log) {
        set(limit + log);
      }
    }

    private double mean(int of) {
      return history.stream().mapToDouble(row -> row[of]).average().orElse(0);
    }

    private double variation() {
      double mean = mean(1);
      double square =
          history.stream().mapToDouble(row -> Math.pow(row[1] - mean, 2)).average().orElse(0);
      return Math.sqrt(square) / mean;
    }

    private double correlation(int with) {
      if (history.size() < 10) {
        return 1; // not known
      }
      double x = mean(0);
      double y = mean(with);
      double xy = 0;
      double xx = 0;
      double yy = 0;
      for (double[] row : history) {
        xy += (row[0] - x) * (row[with] - y);
        xx += (row[0] - x) * (row[0] - x);
        yy += (row[with] - y) * (row[with] - y);
      }
      return xx == 0 || yy == 0 ? 0 : xy / Math.sqrt(xx * yy);
    }
  }
}
