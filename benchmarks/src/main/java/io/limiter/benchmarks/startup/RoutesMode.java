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
import io.limiter.micronaut.plan.PlanRegistry;
import io.micronaut.context.ApplicationContext;
import io.micronaut.http.HttpMethod;
import io.micronaut.http.simple.SimpleHttpRequest;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Limits on many paths: what one request and the start pay for them. */
public final class RoutesMode implements Mode {

  private static final String WITH = "with";
  private static final String WITHOUT = "without";
  private static final String MICROS = "µs";

  /** With ÷ without, and microseconds of a request. */
  private static final double MOST = 1.5;

  private static final double MOST_MICROS = 2;
  private static final int LOOK_UPS = 200_000;

  /** Patterns of routes, by their numbers. */
  private static final String DISTINCT = "/route-%s/**";

  private static final String WORST = "/**/route-%s";

  @Override
  public String name() {
    return "routes";
  }

  @Override
  public String help() {
    return "the start with limits on many paths, and what one request pays to find its own";
  }

  @Override
  public void run(Options options, Report report) throws Exception {
    List<Integer> sizes = options.quick() ? List.of(10, 100) : List.of(1_000, 10_000);
    int most = sizes.get(sizes.size() - 1);
    Turns requests = new Turns(options).add("0", () -> lookUp(0, DISTINCT));
    sizes.forEach(size -> requests.add("" + size, () -> lookUp(size, DISTINCT)));
    requests.add("worst", () -> lookUp(most, WORST));
    report.table(requests(requests.run(), sizes, most));
    try (BenchRedis redis = BenchRedis.open(options, report)) {
      for (int size : sizes) {
        report.table(start(options, redis, size));
      }
    }
  }

  private static Table requests(Turns.Results results, List<Integer> sizes, int most) {
    Table table =
        new Table("Finding the limits of a path", "routes", "µs a request", "goal")
            .lessIsBetter("µs a request");
    table.row("none", results.value("0", MICROS), "");
    for (int size : sizes) {
      Spread micros = results.value("" + size, MICROS);
      table.row("%,d, distinct".formatted(size), micros, Goal.atMost(MOST_MICROS, micros));
    }
    table.row("%,d, each /**/x".formatted(most), results.value("worst", MICROS), "");
    return table.note("Processor time of one thread, with the request object itself.");
  }

  private static Map<String, Double> lookUp(int routes, String pattern) {
    Map<String, Object> settings = new LinkedHashMap<>();
    settings.put("limiter.redis.enabled", false);
    for (int i = 0; i < routes; i++) {
      settings.put("limiter.policies.policy-" + i + ".rules[0].count", 10);
      settings.put("limiter.policies.policy-" + i + ".rules[0].time", "60s");
      settings.put("limiter.routes[" + i + "].path", pattern.formatted(i));
      settings.put("limiter.routes[" + i + "].policy", "policy-" + i);
    }
    try (ApplicationContext context = ApplicationContext.run(settings)) {
      PlanRegistry plans = context.getBean(PlanRegistry.class);
      int times = pattern.equals(WORST) ? LOOK_UPS / 1_000 : LOOK_UPS;
      ThreadMXBean threads = ManagementFactory.getThreadMXBean();
      long begin = 0;
      for (int i = -times; i < times; i++) { // the first half warms up
        if (i == 0) {
          begin = threads.getCurrentThreadCpuTime();
        }
        String path = "/route-" + Math.floorMod(i * 7, Math.max(1, routes)) + "/items";
        var plan = plans.ofRoute(new SimpleHttpRequest<>(HttpMethod.GET, path, null));
        if (plan.isPresent() != (routes > 0 && pattern.equals(DISTINCT))) {
          throw new IllegalStateException(path + " has " + plan);
        }
      }
      return Map.of(MICROS, (threads.getCurrentThreadCpuTime() - begin) / 1e3 / times);
    }
  }

  private static Table start(Options options, BenchRedis redis, int policies) throws Exception {
    Path file = settings(policies);
    try {
      Turns.Results results =
          Turns.cold(options)
              .add(WITHOUT, () -> service(file, redis, false).untilItAnswers())
              .add(WITH, () -> service(file, redis, true).untilItAnswers())
              .run();
      Table table =
          new Table(
                  "Start of a service with %,d policies, each with a route".formatted(policies),
                  "until",
                  "÷ enabled: false",
                  "goal",
                  "ms",
                  "ms, false")
              .lessIsBetter("÷ enabled: false");
      for (String until :
          List.of(ServiceStart.ANSWERS, ServiceStart.PROCESSOR, ServiceStart.STARTED)) {
        Spread ratio = results.ratio(WITH, WITHOUT, until);
        table.row(
            until,
            ratio,
            until.equals(ServiceStart.PROCESSOR) ? Goal.atMost(MOST, ratio) : "",
            results.value(WITH, until),
            results.value(WITHOUT, until));
      }
      return table;
    } finally {
      Files.delete(file);
    }
  }

  private static ServiceStart service(Path file, BenchRedis redis, boolean limited) {
    return new ServiceStart(
        "A service with routes",
        List.of(
            "-Dlimiter.enabled=" + limited,
            "-Dlimiter.redis.key-prefix=" + redis.prefix(),
            "-Dmicronaut.config.files=" + file,
            "-cp",
            System.getProperty("java.class.path"),
            LimitedService.class.getName()),
        Map.of("REDIS_URI", redis.uri()));
  }

  private static Path settings(int policies) throws IOException {
    StringBuilder all = new StringBuilder("limiter:\n  policies:\n");
    for (int i = 0; i < policies; i++) {
      all.append("    policy-%s: {rules: [{count: 10, time: 60s}]}\n".formatted(i));
    }
    all.append("  routes:\n");
    for (int i = 0; i < policies; i++) {
      all.append("    - {path: \"%s\", policy: policy-%s}\n".formatted(DISTINCT.formatted(i), i));
    }
    return Files.writeString(Files.createTempFile("routes-", ".yml"), all);
  }
}
