// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.engine;

import com.sun.management.OperatingSystemMXBean;
import io.limiter.benchmarks.BenchRedis;
import io.limiter.benchmarks.Goal;
import io.limiter.benchmarks.Options;
import io.limiter.benchmarks.RedisTime;
import io.limiter.benchmarks.Report;
import io.limiter.benchmarks.Spread;
import io.limiter.benchmarks.Table;
import io.limiter.benchmarks.Turns;
import io.limiter.benchmarks.plot.BarChart;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * All contenders in turn, by many subjects in turn, so many calls in flight over one connection.
 */
final class Comparison {

  static final int IN_FLIGHT = 64;

  private static final String RATE = "decisions/s";
  private static final String MICROS = "µs";
  private static final String PROCESSOR = "processor µs";
  private static final String CLIENT = "client µs";

  /** Calls that every subject has made before, so that what is kept of them is found. */
  private static final int CALLS_BEFORE = 10;

  private static final double OF_PING = 0.85;
  private static final double OF_NOTHING = 7;
  private static final double OF_SORTED_SET = 0.55;
  private static final double MICROS_A_RULE = 0.8;
  private static final Map<String, Double> OF_PEERS =
      Map.of(
          Bucket4jPeer.NAME, 2.0,
          RateLimitJPeer.ONE_BLOCK, 1.6,
          RedissonPeer.NAME, 2.0,
          OurEngine.SORTED_SET, 1.25);

  private final BenchRedis redis;
  private final Options options;
  private final Report report;
  private final int subjects;

  Comparison(BenchRedis redis, Options options, Report report, int subjects) {
    this.redis = redis;
    this.options = options;
    this.report = report;
    this.subjects = subjects;
  }

  void run(List<Contender> contenders) throws Exception {
    Turns turns = new Turns(options);
    contenders.forEach(one -> turns.add(one.name(), () -> measure(one)));
    Turns.Results found = turns.run();
    report.table(rates(found));
    report.table(peers(found));
    report.table(processor(found));
    report.table(rules(found));
    if (options.plots().isPresent()) {
      draw(found);
    }
  }

  private Map<String, Double> measure(Contender one) throws Exception {
    redis.deleteKeys();
    one.prepare().run();
    if (!options.quick()) {
      var unused = CallsInFlight.times(CALLS_BEFORE * subjects, IN_FLIGHT, subjects, one.call());
    }
    long client = clientNanos();
    RedisTime before = RedisTime.read(redis.commands());
    CallsInFlight.Done done = CallsInFlight.during(options.time(), IN_FLIGHT, subjects, one.call());
    RedisTime spent = RedisTime.read(redis.commands()).minus(before);
    return Map.of(
        RATE,
        done.perSecond(),
        CLIENT,
        (clientNanos() - client) / 1e3 / (double) done.calls(),
        MICROS,
        spent.microsPerDecision(done.calls(), one.plain()),
        PROCESSOR,
        spent.processor() * 1e6 / (double) done.calls());
  }

  /** Time of the processor that this process has taken. */
  private static long clientNanos() {
    return ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getProcessCpuTime();
  }

  private Table rates(Turns.Results found) {
    Table table =
        new Table("Decisions a second", "what", "decisions/s", "÷ PING", "goal", "µs of the client")
            .moreIsBetter("decisions/s", "÷ PING")
            .lessIsBetter("µs of the client")
            .yardsticks(others(found));
    for (String name : found.names()) {
      Spread ratio = found.ratio(name, OurEngine.PING, RATE);
      table.row(
          name,
          found.value(name, RATE),
          ratio,
          name.equals(Stacks.LOG) ? Goal.atLeast(OF_PING, ratio) : "",
          found.value(name, CLIENT));
    }
    return table
        .note(
            "%,d subjects in turn, each with %s calls before; %s in flight on one connection. Client and Redis share the machine, so the client's own work counts; µs of the client are those of its processor."
                .formatted(subjects, options.quick() ? 0 : CALLS_BEFORE, IN_FLIGHT))
        .note("Two rules are 1,000 in 60 s and 10,000 in 3,600 s, but for the logs of 1, 4 and 8.");
  }

  private static List<String> others(Turns.Results found) {
    return found.names().stream().filter(name -> !OurEngine.isOurs(name)).toList();
  }

  private static Table peers(Turns.Results found) {
    Table table =
        new Table("Ours beside others", "other", "its decisions/s", "ours ÷ its", "goal")
            .moreIsBetter("ours ÷ its");
    for (String peer :
        List.of(
            Bucket4jPeer.NAME,
            RateLimitJPeer.ONE_BLOCK,
            RateLimitJPeer.BLOCKS,
            RedissonPeer.NAME,
            OurEngine.SORTED_SET,
            OurEngine.SORTED_SET_FULL)) {
      Spread ratio = found.ratio(Stacks.LOG, peer, RATE);
      Double goal = OF_PEERS.get(peer);
      table.row(
          peer, found.value(peer, RATE), ratio, goal == null ? "" : Goal.atLeast(goal, ratio));
    }
    return table.note("Ours is the log with two rules, with its full verdict.");
  }

  private static Table processor(Turns.Results found) {
    Table table =
        new Table(
                "What a decision takes of Redis",
                "what",
                "µs",
                "÷ EVALSHA that does nothing",
                "÷ sorted set, full",
                "goal",
                "µs of the process")
            .lessIsBetter(
                "µs", "÷ EVALSHA that does nothing", "÷ sorted set, full", "µs of the process")
            .yardsticks(others(found));
    for (String name : found.names()) {
      Spread ofNothing = found.ratio(name, OurEngine.NOTHING, MICROS);
      Spread ofSet = found.ratio(name, OurEngine.SORTED_SET_FULL, MICROS);
      table.row(
          name,
          found.value(name, MICROS),
          ofNothing,
          ofSet,
          name.equals(Stacks.LOG)
              ? Goal.atMost(OF_NOTHING, ofNothing) + ", " + Goal.atMost(OF_SORTED_SET, ofSet)
              : "",
          found.value(name, PROCESSOR));
    }
    return table.note(
        "µs are those of all its commands by INFO commandstats, whose clock counts whole microseconds of each; those of the process, by INFO cpu, are with reading calls and writing answers.");
  }

  /** What one rule more takes. */
  private static Table rules(Turns.Results found) {
    String one = Stacks.logs(1).name();
    String eight = Stacks.logs(8).name();
    List<Double> first = found.values(one, MICROS);
    List<Double> last = found.values(eight, MICROS);
    List<Double> nothing = found.values(OurEngine.NOTHING, MICROS);
    List<Double> each = new ArrayList<>();
    List<Double> ratios = new ArrayList<>();
    for (int round = 0; round < first.size(); round++) {
      each.add((last.get(round) - first.get(round)) / 7);
      ratios.add(each.get(round) / nothing.get(round));
    }
    Spread ratio = Spread.of(ratios);
    return new Table(
            "What another rule takes of Redis",
            "rules",
            "µs a rule",
            "÷ EVALSHA that does nothing",
            "goal")
        .lessIsBetter("µs a rule", "÷ EVALSHA that does nothing")
        .row("log, 1 to 8", Spread.of(each), ratio, Goal.atMost(MICROS_A_RULE, ratio));
  }

  private void draw(Turns.Results found) throws IOException {
    BarChart rates = new BarChart("Decisions a second ÷ PING");
    BarChart micros = new BarChart("Redis CPU a decision ÷ EVALSHA that does nothing");
    for (String name : found.names()) {
      rates.bar(name, found.ratio(name, OurEngine.PING, RATE));
      micros.bar(name, found.ratio(name, OurEngine.NOTHING, MICROS));
    }
    rates.write(options.plots().orElseThrow().resolve("engine-rates.svg"));
    micros.write(options.plots().orElseThrow().resolve("engine-processor.svg"));
  }
}
