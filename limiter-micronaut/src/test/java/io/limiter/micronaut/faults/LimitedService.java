// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.faults;

import io.limiter.core.testing.CoreWaits;
import io.limiter.core.testing.FaultProxy;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.HttpService;
import io.limiter.micronaut.thread.CallerThreads;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Header;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.netty.channel.EventLoopGroupRegistry;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.EventExecutorGroup;
import io.netty.util.concurrent.Future;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** A service over HTTP as applications have it, on a Redis of its own behind a bad network. */
final class LimitedService implements AutoCloseable {

  /** Frames of a thread that waits, from the innermost on, up to the one that waits. */
  private static final int WAITING_DEPTH = 30;

  static final String SPEC = "LimitedService";

  /** Of each caller, within a second. */
  static final int COUNT = 5;

  final RedisProcess redis = RedisProcess.onFreePort().start();
  final FaultProxy proxy = new FaultProxy(redis.port());
  final Decisions decisions;
  final HeartBeats hearts;
  private final HttpService server;

  /** All limit alike. */
  @Controller("/calls")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    /** Decided by the gate, on the event loop. */
    @Get("/early")
    @RateLimiter(header = HttpLoad.CALLER, rules = @RateRule(count = COUNT, time = 1))
    String early() {
      return "early";
    }

    /** Decided by the guard, on a thread that waits. */
    @Get("/late")
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = COUNT, time = 1))
    String late(@Header(HttpLoad.CALLER) String who) {
      return "late";
    }

    /** Decided by the guard, for clients that each call once. */
    @Get("/stranger")
    @RateLimiter(subject = "#{call}", rules = @RateRule(count = COUNT, time = 1))
    String stranger(@QueryValue String call) {
      return "stranger";
    }
  }

  /**
   * @param connections as {@code limiter.redis.connections}
   */
  LimitedService(String connections) {
    this(connections, Map.of("limiter.deny-cache.enabled", false)); // so that every call asks
  }

  /**
   * @param settings others than the product's own
   */
  LimitedService(String connections, Map<String, Object> settings) {
    Map<String, Object> all = new HashMap<>(settings);
    all.put("redis.uri", proxy.uri());
    all.put("limiter.redis.connections", connections);
    all.put("micronaut.netty.event-loops.default.num-threads", 2);
    server = HttpService.start(SPEC, all);
    decisions = server.bean(Decisions.class);
    hearts = HeartBeats.of(server.bean(EventLoopGroupRegistry.class).getDefaultEventLoopGroup());
  }

  int port() {
    return server.port();
  }

  /**
   * The threads that wait for a decision: one for each call, where a route waits on the executor
   * for that. The executor keeps others for a minute, which an earlier burst needed.
   */
  static Set<String> waiting() {
    return threadInfos(WAITING_DEPTH)
        .filter(thread -> isPool(thread.getThreadName()))
        .filter(
            thread ->
                Arrays.stream(thread.getStackTrace())
                    .anyMatch(
                        frame ->
                            frame.getClassName().equals(CallerThreads.class.getName())
                                && frame.getMethodName().equals("await")))
        .map(ThreadInfo::getThreadName)
        .collect(Collectors.toSet());
  }

  /** All other live threads of this JVM, but for those that the test's own signals need. */
  static Set<String> threads() {
    return names()
        .filter(name -> !isPool(name))
        .filter(name -> !name.startsWith("process reaper"))
        .filter(name -> !name.startsWith("ForkJoinPool.commonPool"))
        .collect(Collectors.toSet());
  }

  private static boolean isPool(String name) {
    return name.startsWith("io-executor-thread-") || name.startsWith("limiter-call-");
  }

  private static Stream<String> names() {
    return threadInfos(0).map(ThreadInfo::getThreadName);
  }

  private static Stream<ThreadInfo> threadInfos(int depth) {
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    return Arrays.stream(threads.getThreadInfo(threads.getAllThreadIds(), depth))
        .filter(Objects::nonNull);
  }

  /** Bytes in use once all garbage is gone. */
  static long heap() {
    System.gc();
    System.gc();
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
  }

  @Override
  public void close() {
    hearts.close();
    if (redis.isRunning()) {
      redis.resume();
    }
    server.close();
    proxy.close();
    redis.close();
  }

  /**
   * A beat on each event loop every ten milliseconds. A late one indicates that something has held
   * the loop up, and all requests on it. Not counted is the time for which its thread worked, which
   * is long where a slow machine has requests to make up for, that for which it had no core to run
   * on, and that for which the whole JVM stood still, as in a collection: then a thread that does
   * nothing but beat was late as well.
   */
  static final class HeartBeats implements AutoCloseable {

    private static final long INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private final List<Future<?>> beats = new ArrayList<>();
    private final Thread idle = new Thread(this::beatIdly, "heart-beats");
    private volatile Times lags = new Times();
    private volatile boolean closed;

    /** For how long the JVM has stood still so far; written by the idle thread. */
    private volatile long stoodStill;

    private HeartBeats() {
      idle.setDaemon(true);
      idle.start();
    }

    static HeartBeats of(EventExecutorGroup loops) {
      HeartBeats hearts = new HeartBeats();
      for (EventExecutor loop : loops) {
        LoopBeat beat = loop.submit(() -> hearts.new LoopBeat()).syncUninterruptibly().getNow();
        hearts.beats.add(
            loop.scheduleWithFixedDelay(
                beat, INTERVAL_NANOS, INTERVAL_NANOS, TimeUnit.NANOSECONDS));
      }
      return hearts;
    }

    /** The delays of the beats so far; resets them. */
    Times nextLags() {
      Times ended = lags;
      lags = new Times();
      return ended;
    }

    private void beatIdly() {
      Beat beat = new Beat();
      while (!closed) {
        LockSupport.parkNanos(INTERVAL_NANOS);
        stoodStill += beat.lateness();
      }
    }

    /** On one thread. */
    private static class Beat {

      private final CoreWaits waits = CoreWaits.ofThisThread();
      private long last = System.nanoTime();
      private long excused = excused();

      /** For how long this thread has worked so far, and had no core. */
      private long excused() {
        return waits.nanos() + ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
      }

      /** By how much this beat comes too late because its thread was blocked. */
      final long lateness() {
        long now = System.nanoTime();
        long excusedNow = excused();
        long late = now - last - INTERVAL_NANOS - (excusedNow - excused);
        last = now;
        excused = excusedNow;
        return Math.max(0, late);
      }
    }

    /**
     * On an event loop. Each is judged at the next, when the idle thread has seen the same pause.
     */
    private final class LoopBeat extends Beat implements Runnable {

      private long before = stoodStill;
      private long late;

      @Override
      public void run() {
        long now = stoodStill;
        lags.add(Math.max(0, late - (now - before)));
        before = now;
        late = lateness();
      }
    }

    @Override
    public void close() {
      closed = true;
      beats.forEach(beat -> beat.cancel(false));
    }
  }
}
