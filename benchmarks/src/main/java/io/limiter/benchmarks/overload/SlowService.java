// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.overload;

import io.limiter.micronaut.plan.EndpointPart;
import io.limiter.overload.Criticality;
import io.limiter.overload.Criticality.Level;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.runtime.server.EmbeddedServer;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;

/** A service whose routes wait for a dependency with few places, as a pool of connections has. */
final class SlowService {

  static final int PLACES = 16;
  static final int MILLIS = 40;

  /** Without this property none of the beans exists. */
  private static final String SLOW = "benchmark.slow";

  private SlowService() {}

  /** Returns when it listens. */
  static EmbeddedServer start(boolean limits) {
    Map<String, Object> settings = new LinkedHashMap<>();
    settings.put(SLOW, true);
    settings.put("limiter.redis.enabled", false);
    settings.put("limiter.overload.enabled", limits);
    settings.put("limiter.overload.paths.exempt", "/slow/**");
    return ApplicationContext.run(EmbeddedServer.class, settings);
  }

  @Controller
  @Requires(property = SLOW)
  static class Routes {

    private final Semaphore places = new Semaphore(PLACES, true);
    private final List<EndpointPart> parts;
    private volatile int factor = 1;

    Routes(List<EndpointPart> parts) {
      this.parts = parts;
    }

    @Get("/call")
    @ExecuteOn(TaskExecutors.BLOCKING)
    String call() throws InterruptedException {
      return ask();
    }

    @Get("/critical")
    @Criticality(Level.CRITICAL)
    @ExecuteOn(TaskExecutors.BLOCKING)
    String critical() throws InterruptedException {
      return ask();
    }

    @Get("/idle")
    String idle() {
      return "answer";
    }

    private String ask() throws InterruptedException {
      places.acquire();
      try {
        double spread = Math.exp(0.3 * ThreadLocalRandom.current().nextGaussian() - 0.045);
        long until = System.nanoTime() + (long) (MILLIS * 1e6 * factor * spread);
        for (long left = 1; left > 0; left = until - System.nanoTime()) {
          LockSupport.parkNanos(left);
        }
        return "answer";
      } finally {
        places.release();
      }
    }

    /** From now on each call of the dependency takes as many times as long. */
    @Get("/slow/{times}")
    String slow(int times) {
      factor = times;
      return "slower";
    }

    /** What the endpoint shows of the limits. */
    @Get("/slow/limits")
    Map<String, Object> limits() {
      Map<String, Object> view = new LinkedHashMap<>();
      parts.forEach(part -> part.all(view));
      return view;
    }
  }
}
