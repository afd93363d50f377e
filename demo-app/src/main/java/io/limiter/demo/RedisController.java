// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.limiter.core.FailureReason;
import io.limiter.core.outage.FallbackCounts;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.exceptions.HttpStatusException;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Stops and starts the demo's own Redis, on requests from this machine. It does not exist if the
 * demo uses another Redis.
 */
@Controller("/redis")
@Requires(beans = EmbeddedRedis.class)
@ExecuteOn(TaskExecutors.BLOCKING)
class RedisController {

  private final EmbeddedRedis redis;
  private final FallbackCounts counts;

  RedisController(EmbeddedRedis redis, FallbackCounts counts) {
    this.redis = redis;
    this.counts = counts;
  }

  /** The state of Redis, and the number of decisions by the fallback since the start, by reason. */
  @Get
  Map<String, Object> look() {
    Map<String, Long> reasons = new LinkedHashMap<>();
    for (FailureReason reason : FailureReason.values()) {
      if (counts.of(reason) > 0) {
        reasons.put(reason.name(), counts.of(reason));
      }
    }
    return Map.of("redis", redis.state(), "decidedByFallback", reasons);
  }

  @Post("/{command}")
  Map<String, Object> run(HttpRequest<?> request, String command) {
    Here.require(request);
    switch (command) {
      case "start" -> redis.start();
      case "stop" -> redis.stop();
      case "continue" -> redis.resume();
      case "kill" -> redis.kill();
      default ->
          throw new HttpStatusException(
              HttpStatus.NOT_FOUND, "Use /redis/start, /stop, /continue or /kill");
    }
    return look();
  }
}
