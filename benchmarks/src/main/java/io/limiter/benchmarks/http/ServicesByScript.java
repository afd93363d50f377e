// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

import io.limiter.benchmarks.BenchRedis;
import io.limiter.benchmarks.RedisTime;
import io.limiter.benchmarks.server.BenchmarkService.Script;
import java.net.URI;
import java.time.Duration;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;

/** A service for each script that may decide, and the readings before and after each load. */
final class ServicesByScript implements AutoCloseable {

  static final String PER_SECOND = "requests/s";
  static final String P50 = "p50";
  static final String P99 = "p99";
  static final String SCRIPTS = "scripts/s";

  /** Microseconds of the processor, user and system, for one request. */
  static final String SERVICE = "service µs";

  /** The same of Redis, with reading the commands and writing the replies. */
  static final String REDIS = "Redis µs";

  /** The sum of both. */
  static final String BOTH = "both µs";

  /** The part of the calls that memory decided, because Redis did not answer in time. */
  static final String BY_MEMORY = "by memory";

  private final BenchRedis redis;
  private final Map<Script, Service> services = new EnumMap<>(Script.class);

  private ServicesByScript(BenchRedis redis) {
    this.redis = redis;
  }

  /** Returns when all of them listen. */
  static ServicesByScript start(BenchRedis redis) {
    ServicesByScript all = new ServicesByScript(redis);
    try {
      for (Script script : Script.values()) {
        all.services.put(script, Service.start(redis.uri(), redis.prefix(), script));
      }
      all.services.values().forEach(Service::awaitReady);
      return all;
    } catch (RuntimeException failed) {
      all.close();
      throw failed;
    }
  }

  /**
   * Drives all routes of each service once, so that their JVMs have compiled the same code.
   * Otherwise the one with the no-op script, of which one route is measured, would be slower.
   */
  void warmUp(Function<URI, LoadResult> load) {
    for (Service service : services.values()) {
      for (Route route : Route.values()) {
        var unused = load.apply(service.uri(route.path()));
      }
    }
  }

  /**
   * One measurement of a route, by new callers: otherwise each round would find longer logs than
   * the one before.
   *
   * @param load what drives it
   * @throws IllegalStateException if it does not answer as it should
   */
  Map<String, Double> measure(Route route, Function<URI, LoadResult> load) {
    Service service = Objects.requireNonNull(services.get(route.script()));
    redis.deleteKeys();
    service.look(route);
    Map<String, Double> figures = measure(service, route.path(), route.expected(), load);
    service.look(route);
    return figures;
  }

  /** Drives a path once, whatever it answers while its code is still compiled. */
  void warmUp(String path, Function<URI, LoadResult> load) {
    Service service = Objects.requireNonNull(services.get(Script.DECISION));
    var unused = load.apply(service.uri(path));
  }

  /**
   * One measurement of any path that answers 200.
   *
   * @throws IllegalStateException if it has another answer
   */
  Map<String, Double> measure(String path, Function<URI, LoadResult> load) {
    redis.deleteKeys();
    return measure(
        Objects.requireNonNull(services.get(Script.DECISION)), path, Expected.UNLIMITED, load);
  }

  private Map<String, Double> measure(
      Service service, String path, Expected expected, Function<URI, LoadResult> load) {
    long fallbacksBefore = service.fallbacks();
    RedisTime redisBefore = RedisTime.read(redis.commands());
    Duration serviceBefore = service.processorTime();
    LoadResult seen = load.apply(service.uri(path));
    Duration serviceTook = service.processorTime().minus(serviceBefore);
    RedisTime redisTook = RedisTime.read(redis.commands()).minus(redisBefore);
    expected.check(path, seen);
    long byMemory = service.fallbacks() - fallbacksBefore;
    Map<String, Double> figures = new LinkedHashMap<>();
    figures.put(PER_SECOND, seen.perSecond());
    figures.put(P50, seen.p50Micros());
    figures.put(P99, seen.p99Micros());
    figures.put(SCRIPTS, redisTook.scripts() * seen.perSecond() / seen.answers());
    figures.put(SERVICE, serviceTook.toNanos() / 1e3 / seen.answers());
    figures.put(REDIS, redisTook.processor() * 1e6 / seen.answers());
    figures.put(BOTH, figures.get(SERVICE) + figures.get(REDIS));
    figures.put(BY_MEMORY, (double) byMemory / seen.answers());
    return figures;
  }

  @Override
  public void close() {
    services.values().forEach(Service::close);
  }
}
