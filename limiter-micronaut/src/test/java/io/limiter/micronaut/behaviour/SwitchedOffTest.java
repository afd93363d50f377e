// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Limiter;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.micronaut.plan.LimitPolicies;
import io.limiter.micronaut.plan.LimitedPolicy;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SwitchedOffTest {

  @ParameterizedTest
  @CsvSource({"/off/by-request,ok", "/off/by-argument?who=a,[ok]", "/off/verdict,ALLOWED by NONE"})
  void nothingIsLimitedWhileTheLimiterIsOff(String path, String body) {
    try (TestServer server = TestServer.start("SwitchedOff", Map.of("limiter.enabled", false))) {
      for (int call = 0; call < 5; call++) {
        HttpResponse<String> answer = server.get(path);

        assertThat(answer.statusCode()).isEqualTo(200);
        assertThat(answer.body()).isEqualTo(body);
        assertThat(answer.headers().map()).doesNotContainKeys("ratelimit", "ratelimit-policy");
      }
      assertThat(server.keys().all()).isEmpty();
      assertThat(server.context().containsBean(LimitStore.class)).isFalse();
    }
  }

  @Test
  void codeThatLimitsByItselfGoesOn() {
    LimitRequest call =
        LimitRequest.of(
            Policy.of("off", SlidingWindowLogRule.of(1, Duration.ofHours(1))), Subject.global());
    try (TestServer server = TestServer.start("SwitchedOff", Map.of("limiter.enabled", "off"))) {
      Limiter limiter = server.bean(Limiter.class);

      for (int i = 0; i < 3; i++) {
        Verdict verdict = limiter.acquire(call).toCompletableFuture().join();
        assertThat(verdict.allowed()).isTrue();
        assertThat(verdict.decidedBy()).isEqualTo(DecidedBy.NONE);
      }
      assertThat(server.keys().all()).isEmpty();
    }
  }

  @Test
  void everyNameGivesAPolicyThatLimitsNothing() {
    try (TestServer server = TestServer.start("SwitchedOff", Map.of("limiter.enabled", false))) {
      LimitPolicies policies = server.context().getBean(LimitPolicies.class);
      Limiter limiter = server.context().getBean(Limiter.class);
      LimitedPolicy any = policies.get("any");

      assertThat(policies.names()).isEmpty();
      assertThat(any.name()).isEqualTo("any");
      assertThat(any.methods()).isEmpty();
      assertThat(any.limits()).isEmpty();
      for (LimitRequest request :
          List.of(
              any.forSubject("ada"),
              any.forEveryone(),
              any.forAddress("192.0.2.1"),
              any.method("any").forUser("ada"))) {
        assertThat(limiter.acquire(request).toCompletableFuture().join().allowed()).isTrue();
        assertThat(limiter.peek(request).toCompletableFuture().join().allowed()).isTrue();
        limiter.reset(request).toCompletableFuture().join();
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "false, 200",
    "FALSE, 200",
    "off, 200",
    "no, 200",
    "true, 429",
    "on, 429",
    "Yes, 429"
  })
  void anyWordForItSwitchesItOffOrOn(String word, int second) {
    try (TestServer server = TestServer.start("SwitchedOff", Map.of("limiter.enabled", word))) {
      assertThat(server.get("/off/by-request").statusCode()).isEqualTo(200);
      assertThat(server.get("/off/by-request").statusCode()).isEqualTo(second);
    }
  }

  @ParameterizedTest
  @CsvSource({"/off/by-request", "/off/by-argument?who=a"})
  void theSameRoutesAreLimitedWhileItIsOn(String path) {
    try (TestServer server = TestServer.start("SwitchedOff")) {
      assertThat(server.get(path).statusCode()).isEqualTo(200);
      assertThat(server.get(path).statusCode()).isEqualTo(429);
    }
  }
}
