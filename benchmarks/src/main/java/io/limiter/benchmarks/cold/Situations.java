// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.cold;

import io.limiter.benchmarks.BenchRedis;
import io.limiter.benchmarks.process.JavaProcess;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/** The demo in processes of its own, all on one healthy Redis, in everyday situations. */
final class Situations {

  private static final String STORE = "STORE";
  private static final Set<String> REDIS = Set.of(STORE);

  /** A cached denial of Redis counts as decided by Redis. */
  private static final Set<String> REDIS_OR_REMEMBERED = Set.of(STORE, "DENY_CACHE");

  private static final int AT_ONCE = 64;
  private static final int OK = 200;
  private static final int UNAUTHORIZED = 401;

  private static final int ARTICLES = 10;
  private static final int GUESSES = 3;
  private static final int EXPORTS = 11;
  private static final int WARMING_CALLS = 1_000;
  private static final int BURSTS = 10;
  private static final int BURST = 40;
  private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private static final List<String> ANYWHERE = List.of();
  private static final List<String> ON_THE_FIRST = List.of("taskset", "-c", "0");

  private final Path jar;
  private final BenchRedis redis;
  private final int busy;
  private final AtomicInteger apiKeys = new AtomicInteger();

  /**
   * @param jar the packed demo
   * @param busy how many busy loops a busy machine has for each processor
   */
  Situations(Path jar, BenchRedis redis, int busy) {
    this.jar = jar;
    this.redis = redis;
    this.busy = busy;
  }

  /** Runs the measuring code once, against a demo that is not measured. */
  void warmUpThisProcess() {
    try (JavaProcess demo = fresh(ANYWHERE)) {
      var unused = CallOutcomes.to(calls(WARMING_CALLS, i -> partner(demo)), AT_ONCE);
    }
  }

  /** One limit for both, from the first call on. */
  Finding twoFreshDemos() {
    try (JavaProcess one = start(ANYWHERE);
        JavaProcess other = start(ANYWHERE)) {
      one.awaitListens();
      other.awaitListens();
      return find(
          "two fresh demos: 400 × /articles, 64 at a time",
          REDIS_OR_REMEMBERED,
          OK,
          ARTICLES,
          () ->
              CallOutcomes.to(
                  calls(400, i -> get(i % 2 == 0 ? one : other, "/articles")), AT_ONCE));
    }
  }

  /** Password guesses, then calls that wait in a leaky bucket. */
  List<Finding> aFreshDemo() {
    List<Finding> findings = new ArrayList<>();
    try (JavaProcess demo = fresh(ANYWHERE)) {
      for (String user : List.of("first", "second", "third")) {
        String guess = "/login?user=" + user + "&password=guess";
        findings.add(
            find(
                "a fresh demo: 100 guesses at the password of a %s user, 64 at a time"
                    .formatted(user),
                REDIS,
                UNAUTHORIZED,
                GUESSES,
                () -> CallOutcomes.to(calls(100, i -> post(demo, guess)), AT_ONCE)));
      }
      findings.add(
          find(
              "the same demo: 20 × /export at once",
              REDIS,
              OK,
              EXPORTS,
              () -> CallOutcomes.to(calls(20, i -> post(demo, "/export")), 20)));
    }
    return findings;
  }

  /** Each call comes from another caller: Redis has to be asked for each. */
  Finding twoWarmDemosOnABusyMachine() {
    try (JavaProcess one = start(ANYWHERE);
        JavaProcess other = start(ANYWHERE)) {
      one.awaitListens();
      other.awaitListens();
      IntFunction<HttpRequest> call = i -> partner(i % 2 == 0 ? one : other);
      var unused = CallOutcomes.to(calls(WARMING_CALLS, call), AT_ONCE);
      int number = busy * Runtime.getRuntime().availableProcessors();
      try (BusyLoops loops = BusyLoops.start(number, ANYWHERE)) {
        return find(
            "two warm demos and %s busy loops: 400 × /partners in bursts of %s"
                .formatted(number, BURST),
            REDIS,
            OK,
            BURSTS * BURST,
            () -> {
              CallOutcomes answers = new CallOutcomes(List.of());
              for (int burst = 0; burst < BURSTS; burst++) {
                LockSupport.parkNanos(PAUSE_NANOS);
                answers = answers.and(CallOutcomes.to(calls(BURST, call), BURST));
              }
              return answers;
            });
      }
    }
  }

  /** Half of the calls come from new callers, half from one that is soon denied. */
  Finding aFreshDemoOnPartOfAProcessor() {
    try (BusyLoops loops = BusyLoops.start(2, ON_THE_FIRST);
        JavaProcess demo = fresh(ON_THE_FIRST)) {
      return find(
          "a fresh demo on one processor with two busy loops: 200 × /articles and /partners, 64 at a time",
          REDIS_OR_REMEMBERED,
          OK,
          100 + ARTICLES,
          () ->
              CallOutcomes.to(
                  calls(200, i -> i % 2 == 0 ? get(demo, "/articles") : partner(demo)), AT_ONCE));
    }
  }

  private Finding find(
      String situation,
      Set<String> deciders,
      int admitted,
      long expected,
      Supplier<CallOutcomes> calls) {
    Pings pings = Pings.start(redis);
    CallOutcomes answers;
    try (pings) {
      answers = calls.get();
    }
    return new Finding(
        situation,
        answers,
        answers.withStatus(admitted),
        expected,
        deciders,
        pings.slowestMillis());
  }

  private JavaProcess fresh(List<String> launcher) {
    JavaProcess demo = start(launcher);
    demo.awaitListens();
    return demo;
  }

  /** Removes the units that others have counted. */
  private JavaProcess start(List<String> launcher) {
    redis.deleteKeys();
    return JavaProcess.start(
        "The demo",
        launcher,
        List.of("-Dlimiter.redis.key-prefix=" + redis.prefix(), "-jar", jar.toString()),
        Map.of("REDIS_URI", redis.uri()));
  }

  private static List<HttpRequest> calls(int number, IntFunction<HttpRequest> call) {
    return IntStream.range(0, number).mapToObj(call).toList();
  }

  /** A partner that has not called before. */
  private HttpRequest partner(JavaProcess demo) {
    return HttpRequest.newBuilder(demo.uri("/partners"))
        .header("X-Api-Key", "key-" + apiKeys.incrementAndGet())
        .build();
  }

  private static HttpRequest get(JavaProcess demo, String path) {
    return HttpRequest.newBuilder(demo.uri(path)).build();
  }

  private static HttpRequest post(JavaProcess demo, String path) {
    URI uri = demo.uri(path);
    return HttpRequest.newBuilder(uri).POST(BodyPublishers.noBody()).build();
  }
}
