// SPDX-License-Identifier: Apache-2.0
package io.limiter.overload;

import io.limiter.micronaut.plan.EndpointPart;
import io.limiter.micronaut.thread.LimiterTimer;
import io.limiter.overload.Criticality.Level;
import io.limiter.overload.OverloadConfiguration.LimitSettings;
import io.limiter.overload.OverloadConfiguration.Local;
import io.limiter.overload.OverloadEvent.OverloadBegan;
import io.limiter.overload.OverloadEvent.OverloadEnded;
import io.micronaut.context.event.ApplicationEventPublisher;
import io.micronaut.scheduling.TaskExecutors;
import jakarta.inject.Named;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The limits of this instance: of requests, and of the calls of each name. */
@Singleton
final class OverloadLimiters implements EndpointPart {

  /** The name of the limit of requests. */
  static final String HTTP = "http";

  private static final Logger LOG = LoggerFactory.getLogger(OverloadLimiters.class);

  /** The settings of a name for which there are none. */
  private static final LimitSettings USUAL =
      LimitSettings.of(Local.PREFIX, false, 4, 100, 1_000, Duration.ofMillis(20), 1_000);

  private final OverloadConfiguration settings;
  private final Map<String, LimitSettings> locals = new ConcurrentHashMap<>();
  private final LimiterTimer timer;
  private final ExecutorService threads;
  private final ApplicationEventPublisher<OverloadEvent> events;
  private final Map<String, Limit> limits = new ConcurrentHashMap<>();

  /**
   * A limit.
   *
   * @param settings how it is set up
   * @param calls counts them
   * @param algorithm adapts it
   */
  record Limit(LimitSettings settings, ConcurrencyLimiter calls, AdaptiveLimit algorithm) {

    long shed() {
      long all = 0;
      for (Level level : Level.values()) {
        all += calls.shed(level);
      }
      return all;
    }

    Map<String, Object> view() {
      Map<String, Object> view = new LinkedHashMap<>();
      view.put("overloaded", calls.isOverloaded());
      view.put("observe", settings.observe());
      view.put("limit", calls.limit());
      view.put("inFlight", calls.inFlight());
      view.put("waiting", calls.waiting());
      Map<String, Object> shed = new LinkedHashMap<>();
      for (Level level : Level.values()) {
        shed.put(SettingsCheck.word(level), calls.shed(level));
      }
      view.put("shed", shed);
      view.put("p50Micros", micros(algorithm.median()));
      view.put("p90Micros", micros(algorithm.figure()));
      view.put("baselineMicros", micros(algorithm.baseline()));
      return view;
    }
  }

  OverloadLimiters(
      OverloadConfiguration settings,
      List<Local> locals,
      LimiterTimer timer,
      @Named(TaskExecutors.BLOCKING) ExecutorService threads,
      ApplicationEventPublisher<OverloadEvent> events) {
    this.settings = settings;
    this.timer = timer;
    this.threads = threads;
    this.events = events;
    for (Local local : locals) {
      this.locals.put(local.name(), local.limit());
      named(local.name());
    }
    if (settings.enabled()) {
      limits.put(HTTP, limit(HTTP, settings.http()));
    }
  }

  /** The limit of requests. */
  Limit http() {
    return limits.computeIfAbsent(HTTP, name -> limit(name, settings.http()));
  }

  /** The limit of a name. */
  Limit named(String name) {
    return limits.computeIfAbsent(name, some -> limit(some, locals.getOrDefault(some, USUAL)));
  }

  private Limit limit(String name, LimitSettings of) {
    AdaptiveLimit algorithm = new AdaptiveLimit(of.min(), of.initial(), of.max(), System::nanoTime);
    ConcurrencyLimiter calls =
        new ConcurrencyLimiter(
            algorithm,
            new ConcurrencyLimiter.Setup(of.maxWait().toNanos(), of.maxWaiting(), of.observe()),
            System::nanoTime,
            this::later,
            new States(name, of.observe()));
    return new Limit(of, calls, algorithm);
  }

  private void later(Runnable task, long nanos) {
    var unused = timer.schedule(task, nanos);
  }

  /** Some time from a shortest one to twice as long, in whole seconds; none is below it. */
  Duration retryAfter() {
    long millis = settings.retryAfter().toMillis();
    long shortest = -Math.floorDiv(-millis, 1_000);
    long longest = Math.max(shortest, 2 * millis / 1_000);
    return Duration.ofSeconds(ThreadLocalRandom.current().nextLong(shortest, longest + 1));
  }

  /** Logs and publishes the states of a limit, on a thread that may block. */
  private final class States implements Consumer<Boolean> {

    private final String name;
    private final boolean observes;

    /** Only one thread at a time calls this. */
    private volatile long before;

    States(String name, boolean observes) {
      this.name = name;
      this.observes = observes;
    }

    @Override
    public void accept(Boolean overloaded) {
      Limit limit = limits.get(name);
      long all = limit == null ? 0 : limit.shed();
      OverloadEvent event;
      if (overloaded) {
        before = all - 1; // the first one is counted
        event = new OverloadBegan(name, limit == null ? 0 : limit.calls().limit());
      } else {
        event = new OverloadEnded(name, all - before);
      }
      try {
        threads.execute(() -> publish(event));
      } catch (RejectedExecutionException stopped) {
        LOG.debug("{} is not published, since the service stops", event);
      }
    }

    private void publish(OverloadEvent event) {
      if (event instanceof OverloadBegan began) {
        LOG.warn(
            "Overload of {}: calls beyond {} in flight {}",
            name,
            began.limit(),
            observes ? "would be rejected, and are counted" : "are rejected");
      } else if (event instanceof OverloadEnded ended) {
        LOG.info(
            "The overload of {} has ended; calls that {}: {}",
            name,
            observes ? "would have been rejected" : "were rejected",
            ended.shed());
      }
      events.publishEvent(event);
    }
  }

  private static long micros(double nanos) {
    return (long) (nanos / 1_000);
  }

  @Override
  public void health(Map<String, Object> details) {
    if (!limits.isEmpty()) {
      details.put("overload", overview());
    }
  }

  @Override
  public void all(Map<String, Object> view) {
    if (!limits.isEmpty()) {
      view.put("overload", overview());
    }
  }

  private Map<String, Object> overview() {
    Map<String, Object> all = new LinkedHashMap<>();
    limits.entrySet().stream()
        .sorted(Map.Entry.comparingByKey())
        .forEach(
            limit -> {
              Map<String, Object> view = limit.getValue().view();
              if (limit.getKey().equals(HTTP)) {
                view.put("streams", settings.streams());
              }
              all.put(limit.getKey(), view);
            });
    return all;
  }

  @Override
  public void meters(Meters meters) {
    limits.forEach((name, limit) -> add(meters, name, limit));
  }

  private static void add(Meters meters, String name, Limit limit) {
    ConcurrencyLimiter calls = limit.calls();
    AdaptiveLimit algorithm = limit.algorithm();
    meters.gauge(
        "limiter.overload.limit", "Calls that may be in flight", calls::limit, "name", name);
    meters.gauge("limiter.overload.in.flight", "Calls in flight", calls::inFlight, "name", name);
    meters.gauge(
        "limiter.overload.waiting", "Calls that wait for their turn", calls::waiting, "name", name);
    meters.gauge(
        "limiter.overload.p50",
        "The median latency of the last window, in microseconds",
        () -> micros(algorithm.median()),
        "name",
        name);
    meters.gauge(
        "limiter.overload.p90",
        "The 90th percentile of the latency of the last window, in microseconds",
        () -> micros(algorithm.figure()),
        "name",
        name);
    meters.gauge(
        "limiter.overload.baseline",
        "The latency without a queue, in microseconds",
        () -> micros(algorithm.baseline()),
        "name",
        name);
    for (Level level : Level.values()) {
      meters.count(
          "limiter.overload.shed",
          "Calls that were rejected, or would have been",
          () -> calls.shed(level),
          "name",
          name,
          "criticality",
          SettingsCheck.word(level));
    }
  }
}
