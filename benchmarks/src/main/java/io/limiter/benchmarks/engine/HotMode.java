// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.engine;

import com.sun.management.ThreadMXBean;
import io.limiter.benchmarks.BenchRedis;
import io.limiter.benchmarks.Goal;
import io.limiter.benchmarks.Mode;
import io.limiter.benchmarks.Options;
import io.limiter.benchmarks.RedisTime;
import io.limiter.benchmarks.Report;
import io.limiter.benchmarks.Spread;
import io.limiter.benchmarks.Table;
import io.limiter.benchmarks.Turns;
import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.lease.LeaseStore;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.rule.TokenBucketRule;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/** One hot subject: decisions by leases, beside those that Redis decides one by one. */
public final class HotMode implements Mode {

  static final int THREADS = Runtime.getRuntime().availableProcessors();
  private static final long PLENTY = 1_000_000_000;
  private static final Duration LONG = Duration.ofSeconds(10);
  private static final long FEW = 500_000;
  private static final long TEN_SECONDS_OF_FEW = 10 * FEW;
  private static final int PROCESSES = 3;
  private static final Option PROCESSES_OPTION =
      new Option("processes", "N", "how many JVMs call for one subject; 3 unless given");
  private static final long LOGGED = 10_000;
  private static final int LEASES = 10;

  private static final int SUBJECTS = 10_000;
  private static final int CALLS = 1 << 20;
  private static final String MANY = "fixed window, 10,000 subjects by Zipf's distribution";

  private static final String RATE = "decisions/s";
  private static final String SCRIPTS = "scripts/s";
  private static final String ADMITTED = "admitted ÷ count";
  private static final String OVER = "over the count";
  private static final String NANOS = "ns";
  private static final String BYTES = "bytes";
  private static final String CLOCK = "System.nanoTime()";
  private static final String LEAST = "System.nanoTime() and AtomicLong.addAndGet";
  private static final String LOCAL = "a decision by a lease";

  private static final double OF_EXACT = 10;
  private static final double MOST_SCRIPTS = 1_000;
  private static final double OF_COUNT = 0.98;
  private static final double MOST_NANOS = 150;
  private static final double MOST_BYTES = 200;

  /** Local decisions between two readings of the clock. */
  private static final int SOME = 1_000;

  /** Results are kept here, so that the compiler cannot leave them out. */
  private static volatile Object kept = 0;

  /** How admissions under a rule are checked. */
  private interface Check {
    Admissions.Found of(Admissions admissions, long count, Duration window);
  }

  /**
   * A kind of rule, by its count and its window.
   *
   * @param biting a count that ends admissions
   * @param leases how many follow one another in a window of this count
   */
  record Kind(String name, long biting, int leases, Check check, Rules rules) {

    interface Rules {
      Rule of(long count, Duration window);
    }
  }

  private static final List<Kind> KINDS =
      List.of(
          new Kind(
              "fixed window",
              FEW,
              LEASES,
              Admissions::ofWindows,
              (count, window) -> FixedWindowRule.aligned(count, window, ZoneOffset.UTC)),
          new Kind(
              "token bucket",
              FEW,
              LEASES,
              Admissions::ofBucket,
              (count, window) -> TokenBucketRule.of(count, count, window)),
          new Kind(
              "sliding window counter",
              FEW,
              LEASES,
              Admissions::ofWindows,
              SlidingWindowCounterRule::of),
          new Kind("log", LOGGED, LEASES, Admissions::ofIntervals, SlidingWindowLogRule::of),
          new Kind(
              "log, short leases",
              LOGGED,
              10 * LEASES,
              Admissions::ofIntervals,
              SlidingWindowLogRule::of));

  /** The kind of this name. */
  static Kind kind(String name) {
    return KINDS.stream().filter(kind -> kind.name().equals(name)).findFirst().orElseThrow();
  }

  @Override
  public List<Option> options() {
    return List.of(PROCESSES_OPTION);
  }

  @Override
  public String name() {
    return "hot";
  }

  @Override
  public String help() {
    return "one hot subject: decisions by leases beside those of Redis, and what is admitted";
  }

  @Override
  public void run(Options options, Report report) throws Exception {
    report.library("io.lettuce", "lettuce-core");
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    try (BenchRedis redis = BenchRedis.open(options, report);
        OurEngine ours = OurEngine.open(redis, 1)) {
      Duration window = options.quick() ? Duration.ofMillis(100) : Duration.ofSeconds(1);
      Run run = new Run(redis, ours, threads, options, window);
      report.table(run.rates());
      report.table(run.biting());
      report.table(run.processes());
      report.table(run.local());
    } finally {
      threads.shutdownNow();
    }
  }

  static LimitRequest request(
      Kind kind, long count, Duration window, Duration lease, String subject) {
    return request(kind.rules().of(count, window), lease, subject);
  }

  private static LimitRequest request(Rule rule, Duration lease, String subject) {
    Policy policy = Policy.of("hot", rule);
    if (!lease.isZero()) {
      policy = policy.withStacks(List.of(policy.stacks().get(0).withLease(lease)));
    }
    return LimitRequest.of(policy, new Subject("user", subject));
  }

  /** Calls of which the admitted ones are recorded. */
  static Contender.Call recorded(Limiter limiter, LimitRequest request, Admissions admissions) {
    return subject -> {
      long began = System.nanoTime();
      return then(
          limiter.acquire(request).toCompletableFuture(),
          verdict -> {
            if (verdict.allowed()) {
              admissions.add(began, System.nanoTime());
            }
          });
    };
  }

  /** As thenAccept, without another future if the verdict is there. */
  private static CompletableFuture<?> then(
      CompletableFuture<Verdict> answer, Consumer<Verdict> action) {
    if (!answer.isDone()) {
      return answer.thenAccept(action);
    }
    action.accept(answer.join());
    return answer;
  }

  /** The measurements of one run. */
  private record Run(
      BenchRedis redis, OurEngine ours, ExecutorService threads, Options options, Duration window) {

    private Duration lease(int leases) {
      Duration time = window.dividedBy(leases);
      return time.compareTo(RuleStack.MIN_LEASE) < 0 ? RuleStack.MIN_LEASE : time;
    }

    private static String leasedName(String name) {
      return name + ", leased";
    }

    private Limiter limiter() {
      return ours.limiter();
    }

    /** Nothing is denied. */
    Table rates() throws Exception {
      Turns turns = new Turns(options);
      Contender ping = ours.ping();
      turns.add(ping.name(), () -> rate(options.time(), 1, ping.call()));
      Map<String, LimitRequest[]> kinds = new LinkedHashMap<>();
      KINDS.stream()
          .filter(kind -> kind.biting() != LOGGED)
          .forEach(
              kind ->
                  kinds.put(
                      kind.name(),
                      new LimitRequest[] {request(kind.rules().of(PLENTY, LONG), LEASES)}));
      kinds.put(MANY, byZipf(KINDS.get(0).rules().of(PLENTY, LONG)));
      kinds.forEach(
          (name, calls) -> {
            turns.add(name, () -> rate(options.time(), calls.length, admitted(limiter(), calls)));
            turns.add(
                leasedName(name),
                () -> rate(options.time(), calls.length, admitted(leased(), calls)));
          });
      Turns.Results found = turns.run();
      Table table =
          new Table(
                  "One subject, nothing denied",
                  "what",
                  RATE,
                  "÷ exact",
                  "goal",
                  "÷ PING",
                  SCRIPTS,
                  "goal of scripts/s")
              .moreIsBetter(RATE, "÷ exact", "÷ PING")
              .yardsticks(List.of(ping.name()));
      table.row(ping.name(), found.value(ping.name(), RATE), "", "", "", "", "");
      for (String name : kinds.keySet()) {
        Spread scripts = found.value(leasedName(name), SCRIPTS);
        Spread ratio = found.ratio(leasedName(name), name, RATE);
        boolean one = !name.equals(MANY);
        table.row(
            name,
            found.value(name, RATE),
            "",
            "",
            found.ratio(name, ping.name(), RATE),
            found.value(name, SCRIPTS),
            "");
        table.row(
            leasedName(name),
            found.value(leasedName(name), RATE),
            ratio,
            one ? Goal.atLeast(OF_EXACT, ratio) : "",
            found.ratio(leasedName(name), ping.name(), RATE),
            scripts,
            one ? Goal.atMost(MOST_SCRIPTS, scripts) : "");
      }
      return table.note(
          "%s threads keep %s calls in flight on one connection. %,d in %s s; leases of %s ms. Decisions that Redis makes share commands. Client and Redis share the machine."
              .formatted(
                  THREADS,
                  Comparison.IN_FLIGHT,
                  PLENTY,
                  LONG.toSeconds(),
                  lease(LEASES).toMillis()));
    }

    /** The count is what ends admissions. */
    Table biting() throws Exception {
      Turns turns = new Turns(options);
      for (Kind kind : KINDS) {
        Rule rule = kind.rules().of(kind.biting(), window);
        turns.add(kind.name(), () -> admissions(kind, limiter(), request(rule, kind.leases())));
        turns.add(
            leasedName(kind.name()),
            () -> admissions(kind, leased(), request(rule, kind.leases())));
      }
      Turns.Results found = turns.run();
      Table table =
          new Table(
                  "One subject, up to the count",
                  "what",
                  ADMITTED,
                  "admitted ÷ exact",
                  "goal",
                  OVER,
                  "goal: none over",
                  RATE,
                  "÷ exact",
                  SCRIPTS)
              .moreIsBetter(ADMITTED)
              .lessIsBetter(OVER);
      for (Kind kind : KINDS) {
        for (String name : List.of(kind.name(), leasedName(kind.name()))) {
          boolean leased = !name.equals(kind.name());
          Spread admitted = found.value(name, ADMITTED);
          long over = (long) found.value(name, OVER).max();
          table.row(
              "%s, %,d".formatted(name, kind.biting()),
              admitted,
              leased ? found.ratio(name, kind.name(), ADMITTED) : "",
              leased ? Goal.atLeast(OF_COUNT, admitted) : "",
              over,
              Goal.atMost(0, Spread.of(List.of((double) over))),
              found.value(name, RATE),
              leased ? found.ratio(name, kind.name(), RATE) : "",
              found.value(name, SCRIPTS));
        }
      }
      return table.note(
          "Counts in %s ms; leases of %s ms, short ones of %s ms. Admitted is the mean of all intervals of a window after the first. Over the count are the most of any window (of a log: interval; of a bucket: interval of any length) in any round, by the times of the calls; a call that spans a border is left out. Where a count is reached, Redis decides each further call, so decisions/s are mostly denials."
              .formatted(
                  window.toMillis(), lease(LEASES).toMillis(), lease(10 * LEASES).toMillis()));
    }

    /** Several processes share the subject. */
    Table processes() throws Exception {
      int number = options.number(PROCESSES_OPTION.name(), PROCESSES);
      Duration whole = options.quick() ? window : LONG;
      Duration lease = options.quick() ? lease(LEASES) : Duration.ofMillis(100);
      HotProcesses processes = new HotProcesses(number, redis, whole.multipliedBy(3));
      Map<String, Long> counts = new LinkedHashMap<>();
      counts.put("%,d".formatted(PLENTY), PLENTY);
      counts.put("%,d".formatted(TEN_SECONDS_OF_FEW), TEN_SECONDS_OF_FEW);
      Turns turns = Turns.cold(options);
      for (Kind kind : KINDS.subList(0, 3)) {
        counts.forEach(
            (text, count) ->
                List.of(Duration.ZERO, lease)
                    .forEach(
                        time ->
                            turns.add(
                                ofProcesses(kind, text, time),
                                () -> together(processes, kind, count, whole, time))));
      }
      Turns.Results found = turns.run();
      Table table =
          new Table(
                  "One subject, %s processes".formatted(number),
                  "what",
                  RATE,
                  "÷ exact",
                  SCRIPTS,
                  "goal of scripts/s",
                  ADMITTED,
                  OVER,
                  "goal: none over")
              .moreIsBetter(RATE, "÷ exact")
              .lessIsBetter(OVER);
      for (Kind kind : KINDS.subList(0, 3)) {
        counts.forEach(
            (text, count) -> {
              String exact = ofProcesses(kind, text, Duration.ZERO);
              for (String name : List.of(exact, ofProcesses(kind, text, lease))) {
                boolean leased = !name.equals(exact);
                Spread scripts = found.value(name, SCRIPTS);
                double over = found.value(name, OVER).max();
                table.row(
                    name,
                    found.value(name, RATE),
                    leased ? found.ratio(name, exact, RATE) : "",
                    scripts,
                    leased && count == PLENTY ? Goal.atMost(MOST_SCRIPTS, scripts) : "",
                    count == PLENTY ? "" : found.value(name, ADMITTED),
                    (long) over,
                    Goal.atMost(0, Spread.of(List.of(over))));
              }
            });
      }
      return table.note(
          "Each process is a JVM with a connection of its own, and keeps %s calls in flight by %s threads; counts in %s ms, leases of %s ms. Over the count as above, of all processes together. Figures contain the first window."
              .formatted(Comparison.IN_FLIGHT, THREADS, whole.toMillis(), lease.toMillis()));
    }

    private static String ofProcesses(Kind kind, String count, Duration lease) {
      String name = "%s, %s".formatted(kind.name(), count);
      return lease.isZero() ? name : leasedName(name);
    }

    private static Map<String, Double> together(
        HotProcesses processes, Kind kind, long count, Duration window, Duration lease)
        throws Exception {
      HotProcesses.Done done = processes.run(kind.name(), count, window, lease);
      Admissions.Found found = kind.check().of(done.admissions(), count, window);
      return Map.of(
          RATE,
          done.calls(),
          SCRIPTS,
          done.scripts(),
          ADMITTED,
          found.admitted(),
          OVER,
          found.over());
    }

    private Map<String, Double> admissions(Kind kind, Limiter limiter, LimitRequest request)
        throws Exception {
      Duration time = options.time().multipliedBy(3).plus(window);
      redis.deleteKeys();
      Admissions admissions = Admissions.by(redis, time);
      Map<String, Double> figures =
          new LinkedHashMap<>(rate(time, 1, recorded(limiter, request, admissions)));
      Admissions.Found found = kind.check().of(admissions, kind.biting(), window);
      figures.put(ADMITTED, found.admitted());
      figures.put(OVER, found.over());
      return figures;
    }

    private Map<String, Double> rate(Duration time, int calls, Contender.Call call)
        throws Exception {
      redis.deleteKeys();
      RedisTime before = RedisTime.read(redis.commands());
      CallsInFlight.Done done =
          CallsInFlight.during(time, Comparison.IN_FLIGHT, calls, call, threads);
      RedisTime spent = RedisTime.read(redis.commands()).minus(before);
      return Map.of(
          RATE, done.perSecond(), SCRIPTS, (double) spent.scripts() * 1e9 / (double) done.nanos());
    }

    private Limiter leased() {
      return new Limiter(new LeaseStore(ours.store()));
    }

    private LimitRequest request(Rule rule, int leases) {
      return HotMode.request(rule, lease(leases), "user-1");
    }

    /** Some calls one after the other, by subjects with Zipf's distribution: 1 / rank of each. */
    private LimitRequest[] byZipf(Rule rule) {
      LimitRequest one = request(rule, LEASES);
      LimitRequest[] subjects = new LimitRequest[SUBJECTS];
      double[] upTo = new double[SUBJECTS];
      for (int rank = 0; rank < SUBJECTS; rank++) {
        subjects[rank] = LimitRequest.of(one.policy(), new Subject("user", "user-" + rank));
        upTo[rank] = (rank == 0 ? 0 : upTo[rank - 1]) + 1.0 / (rank + 1);
      }
      Random random = new Random(SUBJECTS);
      LimitRequest[] calls = new LimitRequest[CALLS];
      for (int c = 0; c < CALLS; c++) {
        int found = Arrays.binarySearch(upTo, random.nextDouble() * upTo[SUBJECTS - 1]);
        calls[c] = subjects[found < 0 ? -found - 1 : found];
      }
      return calls;
    }

    private static Contender.Call admitted(Limiter limiter, LimitRequest[] calls) {
      return call ->
          then(
              limiter.acquire(calls[call]).toCompletableFuture(),
              verdict -> {
                if (!verdict.allowed()) {
                  throw new IllegalStateException("A call was denied: measure for a shorter time");
                }
              });
    }

    /** One thread, with a lease in hand. */
    Table local() throws Exception {
      LimitRequest request = request(FixedWindowRule.of(PLENTY, LONG), LEASES);
      AtomicLong units = new AtomicLong(Long.MAX_VALUE);
      Turns turns = new Turns(options);
      turns.add(CLOCK, () -> loop(() -> System.nanoTime() != 0));
      turns.add(LEAST, () -> loop(() -> System.nanoTime() != units.addAndGet(-1)));
      turns.add(
          LOCAL,
          () -> {
            redis.deleteKeys();
            Limiter limiter = leased();
            return loop(
                () -> {
                  CompletableFuture<Verdict> answer =
                      limiter.acquire(request).toCompletableFuture();
                  kept = answer;
                  return answer.join().decidedBy() == DecidedBy.LEASE;
                });
          });
      Turns.Results found = turns.run();
      Table table =
          new Table("One decision, one thread", "what", NANOS, "÷ least", BYTES, "goals")
              .lessIsBetter(NANOS, "÷ least", BYTES)
              .yardsticks(List.of(CLOCK, LEAST));
      for (String name : found.names()) {
        Spread nanos = found.value(name, NANOS);
        Spread bytes = found.value(name, BYTES);
        table.row(
            name,
            nanos,
            found.ratio(name, LEAST, NANOS),
            bytes,
            name.equals(LOCAL)
                ? Goal.atMost(MOST_NANOS, nanos) + ", " + Goal.atMost(MOST_BYTES, bytes)
                : "");
      }
      return table.note(
          "Least: the clock and one atomic number, without which no lease can be spent safely. Bytes are those that the thread has allocated.");
    }

    /** The action's time and allocations, in loops in which it always returned true. */
    private Map<String, Double> loop(BooleanSupplier action) {
      ThreadMXBean thread = (ThreadMXBean) ManagementFactory.getThreadMXBean();
      long end = System.nanoTime() + options.time().toNanos();
      long nanos = 0;
      long bytes = 0;
      long times = 0;
      while (times == 0 || System.nanoTime() - end < 0) {
        long before = thread.getCurrentThreadAllocatedBytes();
        long begin = System.nanoTime();
        boolean all = true;
        for (int i = 0; i < SOME; i++) {
          all &= action.getAsBoolean();
        }
        if (all) {
          nanos += System.nanoTime() - begin;
          bytes += thread.getCurrentThreadAllocatedBytes() - before;
          times += SOME;
        }
      }
      return Map.of(NANOS, (double) nanos / times, BYTES, (double) bytes / times);
    }
  }
}
