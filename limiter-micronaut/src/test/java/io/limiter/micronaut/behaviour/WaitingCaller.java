// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.LeakyBucket;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.StatedCallers;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import jakarta.inject.Singleton;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** A caller of {@link WaitingRoutes}. */
abstract class WaitingCaller extends WithAndWithoutGate {

  static final Duration PATIENCE = Duration.ofSeconds(20);

  WaitingRoutes.Departures departures;
  WaitingRoutes.Service service;

  WaitingCaller() {
    super(WaitingRoutes.SPEC, Map.of("test.stated-callers", true));
  }

  @BeforeParameterizedClassInvocation
  void findBeans() {
    departures = server.bean(WaitingRoutes.Departures.class);
    service = server.context().getBean(WaitingRoutes.Service.class);
  }

  @BeforeEach
  void forgetDepartures() {
    departures.clear();
  }

  Limiter limiter() {
    return server.bean(Limiter.class);
  }

  static LimitRequest slow() {
    LeakyBucketRule rule =
        LeakyBucketRule.of(1, Duration.ofMinutes(1), 1, Duration.ofMinutes(1)).withFair(false);
    return LimitRequest.of(Policy.of("slow-service", rule), Subject.global());
  }

  CompletableFuture<HttpResponse<String>> call(String route) {
    return callOf(route, caller);
  }

  CompletableFuture<HttpResponse<String>> callOf(String route, String who) {
    return route.equals("body")
        ? server.postAsync("/waiting/body", "{\"a\":1}", StatedCallers.ADDRESS, who)
        : server.getAsync(path(route, who), StatedCallers.ADDRESS, who);
  }

  static String path(String route, String who) {
    return "/waiting/" + (route.endsWith("=") ? route + who : route);
  }

  /** Calls that leave four a second, three of which may wait. */
  @Controller("/waiting")
  @Requires(property = "spec.name", value = WaitingRoutes.SPEC)
  static class WaitingRoutes {

    /** One a minute, of everybody and of all methods together. */
    @Retention(RetentionPolicy.RUNTIME)
    @RateLimiter(
        limitType = LimitType.GLOBAL,
        key = "slow-service",
        rules =
            @RateRule(count = 1, time = 60, leakyBucket = @LeakyBucket(queue = 1, fair = false)))
    @interface SlowTogether {}

    /** Everybody together. */
    @Retention(RetentionPolicy.RUNTIME)
    @RateLimiter(
        limitType = LimitType.GLOBAL,
        rules = @RateRule(count = 4, time = 1, leakyBucket = @LeakyBucket(queue = 3)))
    @interface FourASecond {}

    static final String SPEC = "Waiting";

    private final Departures departures;
    private final Service service;

    WaitingRoutes(Departures departures, Service service) {
      this.departures = departures;
      this.service = service;
    }

    @Get("/sync")
    @RateRule(count = 4, time = 1, leakyBucket = @LeakyBucket(queue = 3))
    String sync() {
      return departures.depart();
    }

    @Get("/stage")
    @RateRule(count = 4, time = 1, leakyBucket = @LeakyBucket(queue = 3))
    CompletionStage<String> stage() {
      return CompletableFuture.completedFuture(departures.depart());
    }

    @Get("/mono")
    @RateRule(count = 4, time = 1, leakyBucket = @LeakyBucket(queue = 3))
    Mono<String> mono() {
      return Mono.fromSupplier(departures::depart);
    }

    @Get("/flux")
    @RateRule(count = 4, time = 1, leakyBucket = @LeakyBucket(queue = 3))
    Flux<String> flux() {
      return Flux.just(departures.depart());
    }

    @Post("/body")
    @RateRule(count = 4, time = 1, leakyBucket = @LeakyBucket(queue = 3))
    String body(@Body Map<String, Integer> body) {
      return departures.depart();
    }

    @Get("/argument")
    @RateLimiter(
        subject = "#{T(java.util.Objects).toString(who)}",
        rules = @RateRule(count = 4, time = 1, leakyBucket = @LeakyBucket(queue = 3)))
    Mono<String> argument(@QueryValue String who) {
      return Mono.fromSupplier(departures::depart);
    }

    @Get("/waits-in-a-thread")
    @ExecuteOn(TaskExecutors.BLOCKING)
    @RateLimiter(
        subject = "#{T(java.util.Objects).toString(who)}",
        rules = @RateRule(count = 4, time = 1, leakyBucket = @LeakyBucket(queue = 3)))
    String waitsInAThread(@QueryValue String who) {
      return departures.depart();
    }

    /** Slower than any test, so that the second waits until it is given up. */
    @Get("/slow")
    @RateRule(count = 1, time = 60, leakyBucket = @LeakyBucket(queue = 1, fair = false))
    String slow() {
      return departures.depart();
    }

    @Get("/slow-argument")
    @RateLimiter(
        subject = "#{T(java.util.Objects).toString(who)}",
        rules =
            @RateRule(count = 1, time = 60, leakyBucket = @LeakyBucket(queue = 1, fair = false)))
    Mono<String> slowArgument(@QueryValue String who) {
      return Mono.fromSupplier(departures::depart);
    }

    /** What counts for the other rule is that a call has come. */
    @Get("/stacked")
    @RateRule(count = 1, time = 60, leakyBucket = @LeakyBucket(queue = 4, fair = false))
    @RateRule(count = 3, time = 3600)
    String stacked() {
      return departures.depart();
    }

    /** Not released if it fails. */
    @Get("/submission{?by}")
    @RateLimiter(
        rules =
            @RateRule(count = 1, time = 60, leakyBucket = @LeakyBucket(queue = 3, fair = false)),
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(count = 1, time = 600),
        duplicate = @Duplicate(key = "#{by}", releaseOnFailure = false))
    Mono<String> submission(@QueryValue(defaultValue = "anonymous") String by) {
      return Mono.fromSupplier(departures::depart);
    }

    /** Does not wait for what it has begun. */
    @Get("/left-behind")
    String leftBehind() {
      for (int i = 0; i < 3; i++) {
        var unused = service.leftBehind();
      }
      return "accepted";
    }

    @Get("/bean/{kind}")
    CompletionStage<String> bean(String kind) {
      return switch (kind) {
        case "stage" -> service.stage();
        case "mono" -> service.mono().toFuture();
        default -> service.flux().next().toFuture();
      };
    }

    /** Limited without HTTP; everybody together. */
    @Singleton
    @Requires(property = "spec.name", value = SPEC)
    static class Service {

      private final Departures departures;

      Service(Departures departures) {
        this.departures = departures;
      }

      @FourASecond
      CompletionStage<String> stage() {
        return CompletableFuture.completedFuture(departures.depart());
      }

      @FourASecond
      Mono<String> mono() {
        return Mono.fromSupplier(departures::depart);
      }

      @FourASecond
      Flux<String> flux() {
        return Flux.defer(() -> Flux.just(departures.depart()));
      }

      @RateLimiter(
          limitType = LimitType.GLOBAL,
          rules = @RateRule(count = 1, time = 1, leakyBucket = @LeakyBucket(queue = 3)))
      CompletionStage<String> leftBehind() {
        return CompletableFuture.completedFuture(departures.depart());
      }

      @SlowTogether
      Mono<String> slowMono() {
        return Mono.fromSupplier(departures::depart);
      }

      @SlowTogether
      CompletionStage<String> slowStage() {
        return CompletableFuture.completedFuture(departures.depart());
      }

      @SlowTogether
      String slowSync() {
        return departures.depart();
      }
    }

    /** When the methods of {@link WaitingRoutes} were entered. */
    @Singleton
    @Requires(property = "spec.name", value = WaitingRoutes.SPEC)
    static class Departures {

      private final List<Long> nanos = new CopyOnWriteArrayList<>();

      String depart() {
        nanos.add(System.nanoTime());
        return "departed";
      }

      int count() {
        return nanos.size();
      }

      void clear() {
        nanos.clear();
      }

      /** The times from a moment, by System.nanoTime(), to each of them; the shortest first. */
      List<Duration> since(long from) {
        return nanos.stream().sorted().map(at -> Duration.ofNanos(at - from)).toList();
      }
    }
  }
}
