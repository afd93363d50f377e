// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Custom;
import io.limiter.micronaut.annotation.FixedWindow;
import io.limiter.micronaut.annotation.LeakyBucket;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.TokenBucket;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import jakarta.inject.Singleton;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A route for each algorithm; each admits three calls of a caller at once. */
@Controller("/algorithms")
@Requires(property = "spec.name", value = AlgorithmRoutes.SPEC)
class AlgorithmRoutes {

  static final String SPEC = "Algorithms";

  private static final String OK = "ok";

  @Get("/log")
  @RateRule(count = 3, time = 60)
  String log() {
    return OK;
  }

  @Get("/counter")
  @RateRule(count = 3, time = 60, algorithm = Algorithm.SLIDING_WINDOW_COUNTER)
  String counter() {
    return OK;
  }

  @Get("/window")
  @RateRule(count = 3, time = 60, algorithm = Algorithm.FIXED_WINDOW)
  String window() {
    return OK;
  }

  @Get("/bucket")
  @RateRule(count = 3, tokenBucket = @TokenBucket(refill = 1), time = 60)
  String bucket() {
    return OK;
  }

  @Get("/interval-bucket")
  @RateRule(count = 3, tokenBucket = @TokenBucket(refill = 1, greedy = false), time = 60)
  String intervalBucket() {
    return OK;
  }

  /** A hundred places, of which calls wait for three at most. */
  @Get("/queue")
  @RateRule(count = 1, time = 60, leakyBucket = @LeakyBucket(queue = 100, maxWait = 180))
  String queue() {
    return OK;
  }

  @Get("/costly")
  @RateLimiter(
      cost = "60",
      rules = {
        @RateRule(count = 60, tokenBucket = @TokenBucket(refill = 1), time = 1),
        @RateRule(count = 100, time = 90)
      })
  String costly() {
    return OK;
  }

  @Get("/own")
  @RateRule(count = 6, time = 60, custom = @Custom(value = Weighed.class, parameters = 2))
  String own() {
    return OK;
  }

  /** Decided around the method. */
  @Get("/bucket-of")
  @RateLimiter(
      subject = "#{T(java.util.Objects).toString(who)}",
      rules = @RateRule(count = 3, tokenBucket = @TokenBucket(refill = 1), time = 60))
  String bucketOf(@QueryValue String who) {
    return OK;
  }

  @Get("/day")
  @RateRule(
      count = 3,
      time = 1,
      timeUnit = TimeUnit.DAYS,
      fixedWindow = @FixedWindow(aligned = true))
  String day() {
    return OK;
  }

  @Get("/slow-start")
  @RateRule(count = 3, tokenBucket = @TokenBucket(refill = 1, initial = 1), time = 60)
  String slowStart() {
    return OK;
  }

  @Get("/mixed")
  @RateRule(count = 5, time = 60)
  @RateRule(count = 4, time = 60, algorithm = Algorithm.SLIDING_WINDOW_COUNTER)
  @RateRule(count = 3, tokenBucket = @TokenBucket(refill = 1), time = 60)
  @RateRule(count = 10, time = 60, algorithm = Algorithm.FIXED_WINDOW)
  String mixed() {
    return OK;
  }

  /** A fixed window of which each unit takes as many as the parameter states. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Weighed implements CustomAlgorithm {

    @Override
    public String name() {
      return "weighed";
    }

    @Override
    public int stateSize() {
      return 2;
    }

    @Override
    public Evaluation read(double now, double cost, CustomRule rule, double @Nullable [] state) {
      double window = rule.window().toNanos() / 1_000.0;
      boolean running = state != null && now - state[0] < window;
      double begin = running ? state[0] : now;
      double used = running ? state[1] : 0;
      double left = Math.floor(rule.count() / rule.parameters().get(0)) - used;
      double rest = begin + window - now;
      return new Evaluation(left, rest, rest, new double[] {begin, used + cost});
    }

    @Override
    public String script() {
      return """
      local running = state and now - state[1] < window
      local begin, used = running and state[1] or now, running and state[2] or 0
      return math.floor(count / p[1]) - used, {begin, used + cost}
      """;
    }
  }
}
