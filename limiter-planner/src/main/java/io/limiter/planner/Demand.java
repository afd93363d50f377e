// SPDX-License-Identifier: Apache-2.0
package io.limiter.planner;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;

/**
 * How subjects call: for windows of several lengths the distribution, over subjects, of the largest
 * number of units in any window of a subject. A sliding window log of a count denies exactly the
 * subjects above that count.
 *
 * @param windows the windows that the log covers, shortest first
 */
public record Demand(List<Window> windows) {

  /** The shares of subjects. */
  private static final double[] SHARES = {0.5, 0.9, 0.99, 0.999, 1};

  /**
   * One length of windows.
   *
   * @param window the length
   * @param p50 half of the subjects have at most this
   * @param p90 90 % of the subjects
   * @param p99 99 %
   * @param p999 99.9 %
   * @param max the most of any subject
   * @param apart the most of the subject that is {@linkplain AccessLog#apart named apart}, which is
   *     not among the others
   * @param distribution how many subjects have each number
   */
  public record Window(
      Duration window,
      Range p50,
      Range p90,
      Range p99,
      Range p999,
      Range max,
      Optional<Range> apart,
      List<Bar> distribution) {}

  /**
   * Units; of a log of full seconds the least and the most that its times allow.
   *
   * @param least at least so many
   * @param most at most so many
   */
  public record Range(long least, long most) {}

  /**
   * Subjects with similar demands.
   *
   * @param from the least units of them
   * @param to the most units
   * @param subjects how many
   */
  public record Bar(long from, long to, long subjects) {}

  public Demand {
    windows = List.copyOf(windows);
  }

  /** Exact numbers of subjects by their demand: most have a small one. */
  static final class Histogram {

    private static final int SMALL = 4_096;

    private final long[] small = new long[SMALL];
    private final TreeMap<Long, Long> large = new TreeMap<>();
    private long all;

    void add(long demand) {
      all++;
      if (demand < SMALL) {
        small[(int) demand]++;
      } else {
        large.merge(demand, 1L, Long::sum);
      }
    }

    /** The demands with their numbers of subjects, smallest first. */
    NavigableMap<Long, Long> counts() {
      TreeMap<Long, Long> counts = new TreeMap<>(large);
      for (int d = 0; d < SMALL; d++) {
        if (small[d] > 0) {
          counts.put((long) d, small[d]);
        }
      }
      return counts;
    }

    /** The least demand that this share of subjects does not exceed. */
    long quantile(double share) {
      long wanted = Math.max(1, (long) Math.ceil(share * all - 1e-9));
      long seen = 0;
      long last = 0;
      for (Map.Entry<Long, Long> entry : counts().entrySet()) {
        seen += entry.getValue();
        last = entry.getKey();
        if (seen >= wanted) {
          return last;
        }
      }
      return last;
    }

    List<Bar> bars() {
      List<Bar> bars = new ArrayList<>();
      NavigableMap<Long, Long> counts = counts();
      long from = 1;
      while (!counts.isEmpty() && from <= counts.lastKey()) {
        long to = from < 4 ? from : from + from / 4 - 1 + (from % 4 == 0 ? 0 : 1);
        long subjects =
            counts.subMap(from, true, to, true).values().stream().mapToLong(n -> n).sum();
        bars.add(new Bar(from, to, subjects));
        from = to + 1;
      }
      return bars;
    }
  }

  static Demand of(AccessLog log) {
    Histogram[] histograms = histograms(log);
    List<Window> windows = new ArrayList<>();
    long[] apart = demandOfApart(log);
    for (int w = 0; w < log.windows().size(); w++) {
      if (!log.isCovered(log.windows().get(w))) {
        continue;
      }
      Histogram least = histograms[2 * w];
      Histogram most = histograms[2 * w + 1];
      List<Range> ranges = new ArrayList<>();
      for (double share : SHARES) {
        ranges.add(new Range(least.quantile(share), most.quantile(share)));
      }
      windows.add(
          new Window(
              log.windows().get(w),
              ranges.get(0),
              ranges.get(1),
              ranges.get(2),
              ranges.get(3),
              ranges.get(4),
              apart.length == 0
                  ? Optional.empty()
                  : Optional.of(new Range(apart[2 * w], apart[2 * w + 1])),
              most.bars()));
    }
    return new Demand(windows);
  }

  /** For each window the least and the most; without the subject that is named apart. */
  static Histogram[] histograms(AccessLog log) {
    Histogram[] histograms = new Histogram[2 * log.windows().size()];
    for (int h = 0; h < histograms.length; h++) {
      histograms[h] = new Histogram();
    }
    long apart = log.calls().apart().map(AccessLog.Busy::subject).orElse(0L);
    log.visit(
        new Heads() {
          @Override
          public boolean begin(long subject, long calls, long units, long[] demand) {
            for (int h = 0; h < histograms.length && subject != apart; h++) {
              histograms[h].add(demand[h]);
            }
            return false;
          }
        });
    return histograms;
  }

  private static long[] demandOfApart(AccessLog log) {
    Optional<AccessLog.Busy> apart = log.calls().apart();
    long[][] found = {{}};
    if (apart.isPresent()) {
      log.visit(
          new Heads() {
            @Override
            public boolean begin(long subject, long calls, long units, long[] demand) {
              if (subject == apart.get().subject()) {
                found[0] = demand.clone();
              }
              return false;
            }
          });
    }
    return found[0];
  }

  /** Reads what is known of subjects, without their calls. */
  abstract static class Heads implements Spool.Visitor {

    @Override
    public final void call(long micros, int cost, byte flags) {}

    @Override
    public final void end() {}
  }
}
