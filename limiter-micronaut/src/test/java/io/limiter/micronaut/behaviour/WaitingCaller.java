// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.micronaut.testing.StatedCallers;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;

/** A caller of {@link WaitingRoutes}. */
abstract class WaitingCaller extends WithAndWithoutGate {

  static final Duration PATIENCE = Duration.ofSeconds(20);

  Departures departures;
  WaitingRoutes.Service service;

  WaitingCaller() {
    super(WaitingRoutes.SPEC, Map.of("test.stated-callers", true));
  }

  @BeforeParameterizedClassInvocation
  void findBeans() {
    departures = server.bean(Departures.class);
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
        ? server.exchangeAsync(
            "POST",
            "/waiting/body",
            "{\"a\":1}",
            "Content-Type",
            "application/json",
            StatedCallers.ADDRESS,
            who)
        : server.getAsync(path(route, who), StatedCallers.ADDRESS, who);
  }

  static String path(String route, String who) {
    return "/waiting/" + (route.endsWith("=") ? route + who : route);
  }
}
