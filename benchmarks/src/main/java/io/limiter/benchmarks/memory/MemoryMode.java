// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.memory;

import io.limiter.benchmarks.BenchRedis;
import io.limiter.benchmarks.Goal;
import io.limiter.benchmarks.Mode;
import io.limiter.benchmarks.Options;
import io.limiter.benchmarks.Report;
import io.limiter.benchmarks.Spread;
import io.limiter.benchmarks.Table;
import io.limiter.benchmarks.Turns;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Decisions in memory beside those of peers, and their allocations. */
public final class MemoryMode implements Mode {

  private static final double OF_BUCKET4J = 1;
  private static final String OURS = "limiter";
  private static final String REFRESH = "a refresh of 1,000 policies of 2 rules";
  private static final String EMPTY_RESPONSE = "an empty response of Micronaut";
  private static final String PROBE = "bucket4jProbe";

  /** By the method that measures it. */
  private static final Map<String, String> CONTENDERS = contenders();

  @Override
  public String name() {
    return "memory";
  }

  @Override
  public String help() {
    return "decisions a second in memory, and what they allocate, and peers beside them";
  }

  /** A case to measure: how calls come, and by how many threads. */
  private record Case(boolean admitted, int subjects, int threads) {

    String title() {
      return "Decisions in memory, %s, %,d subject%s, %s thread%s"
          .formatted(
              admitted ? "all admitted" : "nearly all denied",
              subjects,
              subjects == 1 ? "" : "s",
              threads,
              threads == 1 ? "" : "s");
    }

    String name(String contender) {
      return this + contender;
    }
  }

  @Override
  public void run(Options options, Report report) throws Exception {
    report.library("org.openjdk.jmh", "jmh-core");
    report.library("com.bucket4j", "bucket4j_jdk17-core");
    report.library("io.github.resilience4j", "resilience4j-ratelimiter");
    Forks forks = new Forks(options);
    List<Case> cases =
        options.quick()
            ? List.of(new Case(true, 1, 1))
            : List.of(
                new Case(true, 1, 1),
                new Case(true, 10_000, 1),
                new Case(true, 1, 2),
                new Case(true, 10_000, 2),
                new Case(false, 1, 1),
                new Case(false, 1, 2));
    for (Case one : cases) {
      Turns turns = Turns.cold(options);
      CONTENDERS.forEach(
          (method, name) ->
              turns.add(
                  one.name(method),
                  () ->
                      forks.run(
                          InMemory.class,
                          method,
                          one.threads,
                          Map.of(
                              "admitted", Boolean.toString(one.admitted),
                              "subjects", Integer.toString(one.subjects)))));
      report.table(table(one, turns.run()));
    }
    report.table(overWire(options, report, forks));
    report.table(parts(options, forks));
  }

  private static Table table(Case one, Turns.Results found) {
    Table table =
        new Table(
                one.title(),
                "what",
                "decisions/s",
                "÷ Bucket4j's probe",
                "goal",
                "bytes a decision")
            .moreIsBetter("decisions/s", "÷ Bucket4j's probe")
            .lessIsBetter("bytes a decision")
            .yardsticks(
                CONTENDERS.values().stream().filter(name -> !name.startsWith(OURS)).toList());
    CONTENDERS.forEach(
        (method, name) -> {
          Spread ratio = found.ratio(one.name(method), one.name(PROBE), Forks.RATE);
          table.row(
              name,
              found.value(one.name(method), Forks.RATE),
              ratio,
              name.startsWith(OURS) ? Goal.atLeast(OF_BUCKET4J, ratio) : "",
              found.value(one.name(method), Forks.BYTES));
        });
    return table;
  }

  private static Table overWire(Options options, Report report, Forks forks) throws Exception {
    String reply;
    try (BenchRedis redis = BenchRedis.open(options, report)) {
      reply = HexFormat.of().formatHex(RecordedReply.to(OverWire.request(), redis));
    }
    Map<String, String> parts = new LinkedHashMap<>();
    parts.put("decision", "log, 2 rules");
    parts.put("decisionRead", "log, 2 rules, verdict read");
    Turns turns = Turns.cold(options);
    parts.forEach(
        (method, name) ->
            turns.add(name, () -> forks.run(OverWire.class, method, 1, Map.of("reply", reply))));
    Turns.Results found = turns.run();
    Table table =
        new Table(
                "What a decision over Redis takes in this process, without Redis and its driver",
                "what",
                "decisions/s",
                "bytes a decision")
            .moreIsBetter("decisions/s")
            .lessIsBetter("bytes a decision")
            .note("The call is encoded, its deadline set, and Redis' reply read into a verdict.");
    for (String name : parts.values()) {
      table.row(name, found.value(name, Forks.RATE), found.value(name, Forks.BYTES));
    }
    return table;
  }

  private static Table parts(Options options, Forks forks) throws Exception {
    Map<String, String> parts = new LinkedHashMap<>();
    parts.put("plan", "finding the plan of a method");
    parts.put("charges", "the subject, the state key and the charges of a request");
    parts.put("callers", "that there are no tiers, conditions, exempt or blocked callers");
    parts.put("stateKey", "the state key of an address");
    parts.put("response", EMPTY_RESPONSE);
    parts.put("fields", "an empty response with the RateLimit fields of 2 rules");
    Turns turns = Turns.cold(options);
    parts.forEach(
        (method, name) -> turns.add(name, () -> forks.run(Parts.class, method, 1, Map.of())));
    turns.add(REFRESH, () -> forks.run(Refresh.class, "refresh", 1, Map.of()));
    parts.put("refresh", REFRESH);
    Turns.Results found = turns.run();
    Table table =
        new Table("What parts of a request take in this process", "part", "times/s", "bytes")
            .moreIsBetter("times/s")
            .lessIsBetter("bytes")
            .yardsticks(List.of(EMPTY_RESPONSE));
    for (String name : parts.values()) {
      table.row(name, found.value(name, Forks.RATE), found.value(name, Forks.BYTES));
    }
    return table;
  }

  private static Map<String, String> contenders() {
    Map<String, String> all = new LinkedHashMap<>();
    all.put("log", "limiter, log, 2 rules");
    all.put("logRead", "limiter, log, 2 rules, verdict read");
    all.put("bucket", "limiter, token bucket, 2 rules");
    all.put("bucketRead", "limiter, token bucket, 2 rules, verdict read");
    all.put(PROBE, "Bucket4j, 2 bandwidths, what remains");
    all.put("bucket4jBit", "Bucket4j, 2 bandwidths, one bit");
    all.put("resilience4j", "Resilience4j, 1 rule, one bit");
    return all;
  }
}
