// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.faults;

import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Verdict;
import io.limiter.core.lease.LeaseStore;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.outage.FallbackStore;
import io.limiter.core.redis.AuditedStore;
import io.limiter.core.redis.ConnectionSource;
import io.limiter.core.store.DelegatingStore;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.redis.LimitStoreFactory;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.annotation.Bean;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Replaces;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.MediaType;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Header;
import io.micronaut.http.annotation.Post;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.io.PrintStream;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;

/**
 * A service in a JVM of its own, which can be stopped as a whole. It reports the outcomes of its
 * calls, and ends when its standard input does, so that it does not outlive the test.
 */
final class PausedService {

  static final String SPEC = "PausedService";

  /** What its first line begins with; its port follows. */
  static final String READY = "Listening on ";

  /** How often a unit of a lease was spent after the end of all leases. */
  static final String SPENT_LATE = "spent late";

  /** Long, so that a busy machine is not taken for a pause. */
  private static final Duration DEADLINE = Duration.ofMillis(500);

  /** A decision that took longer was under way while the JVM stood still. */
  private static final long PAUSED_NANOS = TimeUnit.SECONDS.toNanos(1);

  private PausedService() {}

  /**
   * @param args the uri of Redis, and {@code limiter.redis.connections}
   */
  public static void main(String[] args) throws IOException {
    PrintStream parent = System.out;
    System.setOut(System.err); // logs must not go to the pipe
    HttpService server =
        HttpService.start(
            SPEC,
            HttpService.settings(
                "redis.uri",
                args[0],
                "limiter.redis.connections",
                args[1],
                "limiter.redis.start-timeout",
                "10s",
                "micronaut.netty.event-loops.default.num-threads",
                2));
    parent.println(READY + server.port());
    while (System.in.read() >= 0) {}
    Runtime.getRuntime().halt(0);
  }

  /** Calls and their outcomes. */
  @Controller(value = "/paused", produces = MediaType.TEXT_PLAIN)
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    private final AuditedStore audited;
    private final Endings endings;
    private final Set<String> entered = ConcurrentHashMap.newKeySet();
    private final CompletableFuture<Void> finish = new CompletableFuture<>();

    Routes(AuditedStore audited, Endings endings) {
      this.audited = audited;
      this.endings = endings;
    }

    @Get("/call/{number}")
    @RateLimiter(
        limitType = LimitType.GLOBAL,
        rules = @RateRule(count = 10_000, time = 1, timeUnit = TimeUnit.HOURS))
    String call(String number) {
      return enter(number);
    }

    @Get("/leased/{number}")
    @RateLimiter(
        limitType = LimitType.GLOBAL,
        lease = "1s",
        rules = @RateRule(count = 10_000, time = 1, timeUnit = TimeUnit.HOURS))
    String leased(String number) {
      return enter(number);
    }

    /** Ends at once, or, with a header, once finish() is called. */
    @Post("/guarded/{by}")
    @RateLimiter(
        limitType = LimitType.GLOBAL,
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(time = 24, timeUnit = TimeUnit.HOURS),
        duplicate = @Duplicate(key = "#{by}", claim = "2s"))
    CompletionStage<String> guarded(String by, @Header("X-Held") Optional<String> held) {
      String answer = "run for " + held.orElse("anyone");
      return held.isPresent()
          ? finish.thenApply(now -> answer)
          : CompletableFuture.completedFuture(answer);
    }

    @Get("/finish")
    void finish() {
      finish.complete(null);
    }

    private String enter(String number) {
      if (!entered.add(number)) {
        endings.count("entered twice");
      }
      return number;
    }

    /** How often calls ended in each way. */
    @Get("/endings")
    String endings() {
      return new TreeMap<>(endings.counts)
          .entrySet().stream().map(Map.Entry::toString).collect(Collectors.joining("\n"));
    }

    /** The nonces of the calls that Redis has answered, or has not, as far as the service knows. */
    @Get("/nonces/{answered}")
    String nonces(boolean answered) {
      return audited.calls().stream()
          .filter(call -> call.answered() == answered)
          .map(AuditedStore.Call::nonce)
          .collect(Collectors.joining("\n"));
    }
  }

  /** How often calls ended in each way. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Endings {

    private final Map<String, AtomicLong> counts = new ConcurrentHashMap<>();

    void count(String ending) {
      counts.computeIfAbsent(ending, first -> new AtomicLong()).incrementAndGet();
    }

    void count(Verdict verdict, long nanos) {
      String ending =
          verdict == null
              ? "failed"
              : verdict.reason().map(Enum::name).orElse(verdict.decidedBy().name());
      count(ending);
      if (nanos > PAUSED_NANOS) {
        count("paused " + ending);
      }
    }
  }

  /** The leases that Redis has granted: all are of one subject. Times are nanoseconds. */
  private static final class Grants extends DelegatingStore {

    private final Queue<Granted> granted = new ConcurrentLinkedQueue<>();

    /**
     * @param replied from then on its units may be spent
     * @param end Redis may count them no longer
     */
    private record Granted(long replied, long end) {}

    Grants(LimitStore store) {
      super(store);
    }

    @Override
    public CompletionStage<Grant> lease(LimitRequest units, Duration time) {
      long asked = System.nanoTime();
      return store
          .lease(units, time)
          .whenComplete(
              (grant, failure) -> {
                if (grant != null && grant.isGranted()) {
                  long end = asked + TimeUnit.MICROSECONDS.toNanos(grant.micros());
                  granted.add(new Granted(System.nanoTime(), end));
                }
              });
    }

    /** Whether no lease was out at any time of a call. */
    boolean isNoneOut(long began, long ended) {
      return granted.stream().noneMatch(some -> began - some.end < 0 && ended - some.replied >= 0);
    }
  }

  /** The product's store, but for the nonces that it writes down in Redis. */
  @Factory
  @Requires(property = "spec.name", value = SPEC)
  static class Stores {

    @Singleton
    AuditedStore audited(ConnectionSource connections) {
      return new AuditedStore(connections, DEADLINE);
    }

    @Singleton
    @Bean(preDestroy = "close")
    @Replaces(value = LimitStore.class, factory = LimitStoreFactory.class)
    LimitStore store(AuditedStore audited, Endings endings) {
      Grants grants = new Grants(new FallbackStore(audited, new MemoryStore()));
      return new DelegatingStore(new LeaseStore(grants)) {
        @Override
        public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
          long asked = System.nanoTime();
          return store
              .decide(request, mode)
              .whenComplete(
                  (verdict, failure) -> {
                    long answered = System.nanoTime();
                    endings.count(verdict, answered - asked);
                    if (verdict != null
                        && verdict.decidedBy() == DecidedBy.LEASE
                        && grants.isNoneOut(asked, answered)) {
                      endings.count(SPENT_LATE);
                    }
                  });
        }
      };
    }
  }
}
