// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.LimitRequest;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.HttpService;
import io.limiter.micronaut.testing.RecordedDecisions;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What the gate decides the guard does not decide again: the method of the route is that of the
 * interceptor, whatever proxy or interface stands between.
 */
class LimitedCallTest {

  private final HttpService server =
      HttpService.start("LimitedCallTest", Map.of("test.recorded", true));

  @AfterEach
  void close() {
    server.close();
  }

  @ParameterizedTest
  @ValueSource(strings = {"/plain", "/declared", "/inherited", "/rule-of-interface"})
  void aRouteIsDecidedOnceForEachRequest(String path) {
    HttpResponse<String> first = server.get(path);

    assertThat(first.statusCode()).isEqualTo(200);
    assertThat(first.body()).isEqualTo(path);
    assertThat(first.headers().firstValue("RateLimit")).contains("\"2-per-60s\";r=1;t=60");
    assertThat(decisions()).hasSize(1);

    assertThat(server.get(path).statusCode()).isEqualTo(200);
    assertThat(server.get(path).statusCode()).isEqualTo(429);
    assertThat(decisions()).hasSize(3);
  }

  @Test
  void aMethodThatCallsAnotherLimitedOneIsDecidedForBoth() {
    assertThat(server.get("/outer").body()).isEqualTo("/outer");

    assertThat(decisions())
        .extracting(request -> request.policy().name())
        .containsExactly("outer", "inner");
  }

  private List<LimitRequest> decisions() {
    return server.bean(RecordedDecisions.class).requests();
  }

  @Controller
  @Requires(property = "spec.name", value = "LimitedCallTest")
  static class Plain {

    @Get(value = "/plain", produces = "text/plain")
    @RateRule(count = 2)
    String plain() {
      return "/plain";
    }

    @Get(value = "/outer", produces = "text/plain")
    @ExecuteOn(TaskExecutors.BLOCKING)
    @RateLimiter(value = "outer", rules = @RateRule(count = 2))
    String outer() {
      return inner();
    }

    @RateLimiter(value = "inner", limitType = LimitType.GLOBAL, rules = @RateRule(count = 2))
    String inner() {
      return "/outer";
    }
  }

  interface Api {
    @Get(value = "/declared", produces = "text/plain")
    String declared();

    @Get(value = "/rule-of-interface", produces = "text/plain")
    @RateRule(count = 2)
    String ruleOfInterface();
  }

  abstract static class Base {
    @Get(value = "/inherited", produces = "text/plain")
    @RateRule(count = 2)
    String inherited() {
      return "/inherited";
    }
  }

  @Controller
  @Requires(property = "spec.name", value = "LimitedCallTest")
  static class Declared extends Base implements Api {

    @Override
    @RateRule(count = 2)
    public String declared() {
      return "/declared";
    }

    @Override
    public String ruleOfInterface() {
      return "/rule-of-interface";
    }
  }
}
