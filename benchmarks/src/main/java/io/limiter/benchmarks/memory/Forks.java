// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.memory;

import io.limiter.benchmarks.Options;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.ChainedOptionsBuilder;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Runs one JMH benchmark once, in a process of its own, so that others can have their turn. */
final class Forks {

  static final String RATE = "decisions/s";
  static final String BYTES = "bytes";

  private static final String ALLOCATED = "gc.alloc.rate.norm";

  private final Options options;

  Forks(Options options) {
    this.options = options;
    // Otherwise another run on this machine would end this one.
    System.setProperty("jmh.ignoreLock", "true");
  }

  Map<String, Double> run(
      Class<?> benchmark, String method, int threads, Map<String, String> parameters)
      throws RunnerException {
    TimeValue time = TimeValue.nanoseconds(options.time().toNanos());
    TimeValue warmUp =
        TimeValue.nanoseconds(
            options.quick() ? options.time().toNanos() : Duration.ofSeconds(1).toNanos());
    ChainedOptionsBuilder run =
        new OptionsBuilder()
            .include("^" + benchmark.getName().replace(".", "\\.") + "\\." + method + "$")
            .forks(1)
            .threads(threads)
            .warmupIterations(options.quick() ? 1 : 3)
            .warmupTime(warmUp)
            .measurementIterations(1)
            .measurementTime(time)
            .timeUnit(TimeUnit.SECONDS)
            .shouldFailOnError(true)
            .verbosity(VerboseMode.SILENT)
            .addProfiler(GCProfiler.class);
    parameters.forEach(run::param);
    RunResult result = new Runner(run.build()).runSingle();
    return Map.of(
        RATE,
        result.getPrimaryResult().getScore(),
        BYTES,
        result.getSecondaryResults().values().stream()
            .filter(other -> other.getLabel().endsWith(ALLOCATED))
            .mapToDouble(other -> other.getScore())
            .findFirst()
            .orElseThrow());
  }
}
