// SPDX-License-Identifier: Apache-2.0
package io.limiter.planner;

import io.limiter.core.Verdict;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.planner.ReplayedRules.Variant;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.DoubleConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The rule with the smallest count of one algorithm and window that reaches a goal: with one unit
 * less it denies more. Found by replays; of a log of full seconds by the most that its times allow.
 *
 * @param window the window
 * @param algorithm the algorithm, by its name in {@link RuleText}
 * @param rule the rule
 * @param deniedCalls the calls that it denies of the subjects that count
 * @param deniedSubjects the subjects that it denies
 * @param deniedApart the calls that it denies of the subject that is {@linkplain AccessLog#apart
 *     named apart}; 0 if there is none
 */
public record Proposal(
    Duration window,
    String algorithm,
    Rule rule,
    long deniedCalls,
    long deniedSubjects,
    long deniedApart) {

  /**
   * What a count denies.
   *
   * @param count the count of a sliding window log
   * @param deniedCalls calls
   * @param deniedSubjects subjects
   */
  public record Point(long count, long deniedCalls, long deniedSubjects) {}

  /** Twice the demand: the most at which one of the algorithms may deny a call. */
  private static final int FACTOR = 2;

  static List<Proposal> search(AccessLog log, Goal goal, DoubleConsumer progress) {
    List<Proposal> found = new ArrayList<>();
    long searches =
        log.windows().stream().filter(log::isCovered).count() * goal.algorithms().size();
    long done = 0;
    Demand.Histogram[] histograms = Demand.histograms(log);
    for (int w = 0; w < log.windows().size(); w++) {
      if (!log.isCovered(log.windows().get(w))) {
        continue;
      }
      Search search = new Search(log, goal, w, histograms[2 * w + 1].counts());
      for (String algorithm : goal.algorithms()) {
        search.smallest(algorithm).ifPresent(found::add);
        progress.accept((double) ++done / searches);
      }
    }
    return found;
  }

  /**
   * What sliding window logs of several counts around this one deny, for its window; of all
   * subjects but the one that is named apart.
   */
  public List<Point> around(AccessLog log) {
    int w = log.windows().indexOf(window);
    if (w < 0) {
      throw new IllegalArgumentException(
          "The window %s is not among those of the log: %s".formatted(window, log.windows()));
    }
    Search search = new Search(log, Goal.ofCalls(0), w, Demand.histograms(log)[2 * w + 1].counts());
    List<Point> points = new ArrayList<>();
    long before = 0;
    for (double share : new double[] {0.25, 0.35, 0.5, 0.7, 0.85, 1, 1.2, 1.5, 2, 3}) {
      long count = Math.min(SlidingWindowLogRule.MAX_COUNT, Math.round(rule.count() * share));
      if (count > before) {
        Denials denials =
            search.denials("sliding-window-log", count, Long.MAX_VALUE, Long.MAX_VALUE);
        points.add(new Point(count, denials.calls, denials.subjects));
        before = count;
      }
    }
    return points;
  }

  private static final class Denials {
    long calls;
    long subjects;
  }

  /** The search for one window. */
  private static final class Search {

    /** The most calls that are kept in memory for the replays of one window. */
    private static final int MAX_KEPT = 4_000_000;

    private final AccessLog log;
    private final Duration window;
    private final int index;
    private final long apart;
    private final long mostCalls;
    private final long mostSubjects;
    private final long largest;
    private final long least;
    private final Kept kept = new Kept();

    /** The answer of the algorithm before, at which the next search begins. */
    private long guess;

    Search(AccessLog log, Goal goal, int w, NavigableMap<Long, Long> demands) {
      this.log = log;
      this.window = log.windows().get(w);
      this.index = 2 * w + 1;
      Optional<AccessLog.Busy> busy = log.calls().apart();
      this.apart = busy.map(AccessLog.Busy::subject).orElse(0L);
      long calls = log.summary().calls() - busy.map(AccessLog.Busy::calls).orElse(0L);
      this.mostCalls =
          goal.callShare()
              .map(share -> (long) Math.floor(share * calls + 1e-9))
              .orElse(Long.MAX_VALUE);
      this.mostSubjects = goal.subjects().orElse(Long.MAX_VALUE);
      this.largest = demands.isEmpty() ? 0 : demands.lastKey();
      this.least = leastPossible(demands);
    }

    /**
     * A count below which no algorithm reaches the goal: of the largest demand of a subject in a
     * window at least what exceeds twice the count is denied.
     */
    private long leastPossible(NavigableMap<Long, Long> demands) {
      boolean costs = log.units() != log.summary().calls();
      if (costs || log.calls().wholeSeconds()) {
        return 1; // a call may deny several units, a second may be two windows
      }
      long subjects = 0;
      long denied = 0;
      long above = 0;
      long before = largest;
      for (Map.Entry<Long, Long> entry : demands.descendingMap().entrySet()) {
        denied += (before - entry.getKey()) * above;
        before = entry.getKey();
        if (subjects > mostSubjects || denied > mostCalls) {
          return Math.max(1, entry.getKey() / FACTOR);
        }
        above += entry.getValue();
        subjects += entry.getValue();
      }
      return 1;
    }

    Optional<Proposal> smallest(String algorithm) {
      long high = Math.max(1, FACTOR * largest + 2);
      if (algorithm.equals("sliding-window-log")) {
        high = Math.min(Math.max(1, largest), SlidingWindowLogRule.MAX_COUNT);
      }
      if (rule(algorithm, high) == null || !reaches(denials(algorithm, high))) {
        return Optional.empty();
      }
      long low = Math.min(least, high) - 1; // does not reach the goal, or is no count
      if (guess > low && guess < high) {
        // Close to the answer for another algorithm: look around it in growing steps.
        long step = Math.max(1, guess / 16);
        boolean enough = reaches(denials(algorithm, guess));
        high = enough ? guess : high;
        low = enough ? low : guess;
        for (long at = guess; ; step *= 2) {
          at = enough ? at - step : at + step;
          if (at <= low || at >= high) {
            break;
          }
          if (reaches(denials(algorithm, at))) {
            high = at;
            if (!enough) {
              break;
            }
          } else {
            low = at;
            if (enough) {
              break;
            }
          }
        }
      }
      while (high - low > 1) {
        long middle = low + (high - low) / 2;
        if (reaches(denials(algorithm, middle))) {
          high = middle;
        } else {
          low = middle;
        }
      }
      guess = high;
      Denials of = denials(algorithm, high);
      Rule rule = rule(algorithm, high);
      return rule == null
          ? Optional.empty()
          : Optional.of(
              new Proposal(
                  window, algorithm, rule, of.calls, of.subjects, deniedApart(algorithm, high)));
    }

    private boolean reaches(Denials denials) {
      return denials.calls <= mostCalls && denials.subjects <= mostSubjects;
    }

    private @Nullable Rule rule(String algorithm, long count) {
      try {
        return switch (algorithm) {
          case "sliding-window-log" -> SlidingWindowLogRule.of(count, window);
          case "sliding-window-counter" -> SlidingWindowCounterRule.of(count, window);
          case "fixed-window" -> FixedWindowRule.of(count, window);
          default -> TokenBucketRule.of(count, count, window);
        };
      } catch (IllegalArgumentException notExact) {
        return null;
      }
    }

    private List<Variant> variants(String algorithm, long count) {
      Rule rule = rule(algorithm, count);
      if (rule == null) {
        return List.of();
      }
      List<Variant> all = ReplayedRules.of(List.of(rule)).variants(log.calls().wholeSeconds());
      // Of a rule with bounds the last one denies most.
      return ReplayedRules.of(List.of(rule)).isBounded()
          ? all.subList(all.size() - 1, all.size())
          : all;
    }

    private Denials denials(String algorithm, long count) {
      return denials(algorithm, count, mostCalls, mostSubjects);
    }

    /** Stops when there are more denials than this. */
    Denials denials(String algorithm, long count, long callsUpTo, long subjectsUpTo) {
      Denials most = new Denials();
      List<Variant> variants = variants(algorithm, count);
      if (variants.isEmpty()) {
        most.calls = Long.MAX_VALUE;
        most.subjects = Long.MAX_VALUE;
      }
      for (Variant variant : variants) {
        Run run = new Run(variant, callsUpTo, subjectsUpTo, apart, false);
        replay(run, algorithm.equals("sliding-window-counter") ? FACTOR : 1);
        most.calls = Math.max(most.calls, run.denials.calls);
        most.subjects = Math.max(most.subjects, run.denials.subjects);
      }
      return most;
    }

    private long deniedApart(String algorithm, long count) {
      long most = 0;
      for (Variant variant : apart == 0 ? List.<Variant>of() : variants(algorithm, count)) {
        Run run = new Run(variant, Long.MAX_VALUE, Long.MAX_VALUE, apart, true);
        log.visit(run.asVisitor(index, 1));
        most = Math.max(most, run.denials.calls);
      }
      return most;
    }

    /** Only subjects that may be denied are replayed. */
    private void replay(Run run, int factor) {
      long admits = run.admits / factor;
      if (admits >= kept.above) {
        kept.replay(run, admits);
        return;
      }
      if (kept.isUnknown()) {
        kept.keep(log, index, apart, Math.max(0, least / FACTOR - 1));
        if (admits >= kept.above) {
          kept.replay(run, admits);
          return;
        }
      }
      log.visit(run.asVisitor(index, factor));
    }
  }

  /** The calls of the subjects with the largest demands. */
  private static final class Kept {

    /** Subjects with a larger demand are here. */
    long above = Long.MAX_VALUE;

    private boolean asked;
    private long[] micros = new long[1 << 12];
    private int[] costs = new int[1 << 12];
    private int size;
    private final List<long[]> subjects = new ArrayList<>();

    boolean isUnknown() {
      return !asked;
    }

    void keep(AccessLog log, int index, long apart, long from) {
      asked = true;
      long[] calls = new long[1];
      TreeMap<Long, Long> byDemand = new TreeMap<>();
      log.visit(
          new Demand.Heads() {
            @Override
            public boolean begin(long subject, long count, long units, long[] demand) {
              if (subject != apart && demand[index] > from) {
                byDemand.merge(demand[index], count, Long::sum);
              }
              return false;
            }
          });
      long floor = from;
      for (Map.Entry<Long, Long> entry : byDemand.descendingMap().entrySet()) {
        calls[0] += entry.getValue();
        if (calls[0] > Search.MAX_KEPT) {
          floor = entry.getKey();
          break;
        }
      }
      above = floor;
      log.visit(
          new Spool.Visitor() {
            @Override
            public boolean begin(long subject, long count, long units, long[] demand) {
              boolean wanted = subject != apart && demand[index] > above;
              if (wanted) {
                subjects.add(new long[] {demand[index], size, size + count});
              }
              return wanted;
            }

            @Override
            public void call(long time, int cost, byte flags) {
              if (size == micros.length) {
                micros = Arrays.copyOf(micros, 2 * size);
                costs = Arrays.copyOf(costs, 2 * size);
              }
              micros[size] = time;
              costs[size++] = cost;
            }

            @Override
            public void end() {}
          });
      subjects.sort((a, b) -> Long.compare(b[0], a[0]));
    }

    /** Those with the largest demands first: they soon decide whether a goal is missed. */
    void replay(Run run, long admits) {
      for (long[] subject : subjects) {
        if (subject[0] <= admits || run.isOver()) {
          return;
        }
        for (int c = (int) subject[1]; c < subject[2]; c++) {
          run.place(micros[c], costs[c], (byte) 0);
        }
        run.end();
      }
    }
  }

  /** One replay, which only counts denials. */
  private static final class Run extends Replay.Placed {

    final long admits;
    final Denials denials = new Denials();
    private final Replay.Engine engine;
    private final long callsUpTo;
    private final long subjectsUpTo;
    private final long apart;
    private final boolean onlyApart;
    private long deniedOfSubject;

    Run(Variant variant, long callsUpTo, long subjectsUpTo, long apart, boolean onlyApart) {
      super(variant.placement());
      this.engine = new Replay.Engine(variant.stack());
      this.admits = variant.admits();
      this.callsUpTo = callsUpTo;
      this.subjectsUpTo = subjectsUpTo;
      this.apart = apart;
      this.onlyApart = onlyApart;
    }

    boolean isOver() {
      return denials.calls > callsUpTo || denials.subjects > subjectsUpTo;
    }

    @Override
    void decide(long micros, int cost, byte flags) {
      Verdict verdict = engine.decide(micros, cost);
      deniedOfSubject += verdict.allowed() ? 0 : 1;
    }

    void end() {
      flush();
      engine.forget();
      denials.calls += deniedOfSubject;
      denials.subjects += deniedOfSubject > 0 ? 1 : 0;
      deniedOfSubject = 0;
    }

    Spool.Visitor asVisitor(int index, int factor) {
      return new Spool.Visitor() {
        @Override
        public boolean begin(long subject, long calls, long units, long[] demand) {
          return (subject == apart) == onlyApart && factor * demand[index] > admits && !isOver();
        }

        @Override
        public void call(long micros, int cost, byte flags) {
          place(micros, cost, flags);
        }

        @Override
        public void end() {
          Run.this.end();
        }
      };
    }
  }
}
