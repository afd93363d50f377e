// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.startup;

import io.limiter.benchmarks.BenchRedis;
import io.limiter.benchmarks.Goal;
import io.limiter.benchmarks.Mode;
import io.limiter.benchmarks.Options;
import io.limiter.benchmarks.Report;
import io.limiter.benchmarks.Spread;
import io.limiter.benchmarks.Table;
import io.limiter.benchmarks.Turns;
import io.limiter.benchmarks.process.DemoJar;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * Starts a service of one controller again and again: without the limiter's jars, with them
 * disabled, in memory, and over Redis, beside one that only connects to Redis and runs a script.
 */
public final class StartupMode implements Mode {

  private static final Option REST =
      new Option("rest", "S", "from the first response to the last reading; 10 unless given");

  private static final Option ARCHIVE =
      new Option("archive", "", "starts from an archive of classes, an AOT cache on JDK 25");

  private static final String ABSENT = "absent";
  private static final String DISABLED = "limiter.enabled: false";
  private static final String MEMORY = "in memory";
  private static final String FLOOR = "absent, one EVALSHA by Lettuce";
  private static final String REDIS = "over Redis";

  /** The demo's libraries have security, which is a part of what such a service pays. */
  private static final List<String> OPEN =
      List.of(
          "-Dmicronaut.security.intercept-url-map[0].pattern=/**",
          "-Dmicronaut.security.intercept-url-map[0].access=isAnonymous()");

  private static final double MOST = 1.25;
  private static final double MOST_DISABLED = 1.1;
  private static final double MOST_RESIDENT = 20;

  /** The first that can write an AOT cache as a process ends. */
  private static final int AOT_CACHES = 25;

  private int starts;

  @Override
  public String name() {
    return "startup";
  }

  @Override
  public String help() {
    return "the start of a service: without the limiter, with it, and beside one that asks Redis";
  }

  @Override
  public List<Option> options() {
    return List.of(DemoJar.OPTION, REST, ARCHIVE);
  }

  @Override
  public void run(Options options, Report report) throws Exception {
    try (BenchRedis redis = BenchRedis.open(options, report)) {
      if (!options.quick()) { // it takes a minute
        report.table(
            measure(
                "a service with one controller",
                ServiceJar.self(),
                name -> !name.matches("io/limiter/(idempotency|management)/.*"),
                options,
                redis));
      }
      report.table(
          measure(
              "a service with the demo's libraries",
              DemoJar.find(options),
              name -> true,
              options,
              redis));
    }
  }

  private Table measure(
      String service, Path packed, Predicate<String> limiter, Options options, BenchRedis redis)
      throws Exception {
    boolean archive = options.text(ARCHIVE.name()).isPresent();
    Path absent = ServiceJar.write(packed, name -> false);
    Path present = ServiceJar.write(packed, limiter);
    Map<String, List<String>> commands = new LinkedHashMap<>();
    commands.put(ABSENT, plain(absent));
    commands.put(DISABLED, limited(present, "-Dlimiter.enabled=false"));
    commands.put(MEMORY, limited(present, "-Dlimiter.redis.enabled=false"));
    commands.put(FLOOR, plain(absent, "-D" + PlainService.FLOOR + "=" + redis.uri()));
    commands.put(REDIS, limited(present, "-Dredis.uri=" + redis.uri()));
    Duration rest = Duration.ofSeconds(options.number(REST.name(), options.quick() ? 1 : 10));
    Turns turns = Turns.cold(options);
    for (Map.Entry<String, List<String>> each : commands.entrySet()) {
      boolean limited = each.getKey().equals(MEMORY) || each.getKey().equals(REDIS);
      List<String> from = archive ? archived(each.getValue(), redis) : List.of();
      turns.add(
          each.getKey(), () -> start(from, each.getValue(), redis).untilItRests(rest, limited));
    }
    Turns.Results results = turns.run();
    Files.delete(absent);
    Files.delete(present);
    return table(service, archive, rest, results);
  }

  private static List<String> plain(Path jar, String... properties) {
    return command(jar, PlainService.class, properties);
  }

  private static List<String> limited(Path jar, String... properties) {
    return command(jar, LimitedService.class, properties);
  }

  private static List<String> command(Path jar, Class<?> service, String... properties) {
    List<String> command = new ArrayList<>(List.of(properties));
    command.addAll(List.of("-cp", jar.toString(), service.getName()));
    return command;
  }

  /** Each start has keys of its own: the limit of the one before is used up. */
  private ServiceStart start(List<String> options, List<String> command, BenchRedis redis) {
    List<String> all = new ArrayList<>(options);
    all.add("-Dlimiter.redis.key-prefix=" + redis.prefix() + starts++ + ":");
    all.addAll(OPEN);
    all.addAll(command);
    return new ServiceStart("The service", all, Map.of());
  }

  /** Has the archive written as a process ends; returns the option that reads it. */
  private List<String> archived(List<String> command, BenchRedis redis) throws Exception {
    Path archive = Files.createTempFile("service-", ".archive");
    Files.delete(archive);
    archive.toFile().deleteOnExit();
    boolean cache = Runtime.version().feature() >= AOT_CACHES;
    String write = cache ? "-XX:AOTCacheOutput=" : "-XX:ArchiveClassesAtExit=";
    String read = cache ? "-XX:AOTCache=" : "-XX:SharedArchiveFile=";
    var unused = start(List.of(write + archive), command, redis).untilItAnswers();
    if (!Files.isRegularFile(archive)) {
      throw new IOException("The process that ended wrote no archive to " + archive);
    }
    return List.of(read + archive);
  }

  private static Table table(
      String service, boolean archive, Duration rest, Turns.Results results) {
    String settled = "processor time, %s s later".formatted(rest.toSeconds());
    Table table =
        new Table(
                "Start of " + service + (archive ? ", from an archive of classes" : ""),
                "the limiter",
                "first 200, ms",
                "processor time, ms",
                settled + ", ms",
                "÷ absent",
                "÷ one EVALSHA",
                "first denial, ms",
                "memory, MB",
                "classes")
            .lessIsBetter("÷ absent", "÷ one EVALSHA")
            .yardsticks(List.of(ABSENT, FLOOR));
    for (String name : results.names()) {
      boolean denies = name.equals(MEMORY) || name.equals(REDIS);
      table.row(
          name,
          results.value(name, ServiceStart.ANSWERS),
          results.value(name, ServiceStart.PROCESSOR),
          results.value(name, ServiceStart.SETTLED),
          name.equals(ABSENT) ? "" : results.ratio(name, ABSENT, ServiceStart.SETTLED),
          name.equals(REDIS) ? results.ratio(name, FLOOR, ServiceStart.SETTLED) : "",
          denies ? results.value(name, ServiceStart.DENIES) : "",
          results.value(name, ServiceStart.RESIDENT),
          results.value(name, ServiceStart.CLASSES));
    }
    goal(table, results, DISABLED, ABSENT, MOST_DISABLED);
    goal(table, results, MEMORY, ABSENT, MOST);
    goal(table, results, REDIS, FLOOR, MOST);
    return table.note(
        "Each calls the limited method until it is denied; then memory is read, after a collection"
            + " of garbage.");
  }

  private static void goal(
      Table table, Turns.Results results, String name, String base, double most) {
    double more =
        results.value(name, ServiceStart.RESIDENT).median()
            - results.value(base, ServiceStart.RESIDENT).median();
    Spread ratio = results.ratio(name, base, ServiceStart.SETTLED);
    table.note(
        "%s, beside %s: processor time %s (%s), %+.1f MB (%s)."
            .formatted(
                name,
                base,
                ratio,
                Goal.atMost(most, ratio),
                more,
                Goal.atMost(MOST_RESIDENT, Spread.of(List.of(more)))));
  }
}
