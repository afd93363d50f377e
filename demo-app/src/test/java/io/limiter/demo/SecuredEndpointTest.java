// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.micronaut.context.annotation.Replaces;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.async.publisher.Publishers;
import io.micronaut.http.HttpRequest;
import io.micronaut.inject.ExecutableMethod;
import io.micronaut.management.endpoint.EndpointSensitivityProcessor;
import io.micronaut.security.authentication.Authentication;
import io.micronaut.security.rules.ConfigurationInterceptUrlMapRule;
import io.micronaut.security.rules.SecurityRuleResult;
import io.micronaut.security.rules.SensitiveEndpointRule;
import jakarta.inject.Singleton;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.reactivestreams.Publisher;

/** The endpoint {@code limits} behind micronaut-security. */
class SecuredEndpointTest {

  private static final String SPEC = "SecuredEndpointTest";

  /** Ann is an operator, Bob is not. */
  @Singleton
  @Replaces(SensitiveEndpointRule.class)
  @Requires(property = "spec.name", value = SPEC)
  static class Operators extends SensitiveEndpointRule {
    Operators(EndpointSensitivityProcessor endpoints) {
      super(endpoints);
    }

    /** Before the intercept-url-map of the demo, which admits all to all paths. */
    @Override
    public int getOrder() {
      return ConfigurationInterceptUrlMapRule.ORDER - 100;
    }

    @Override
    protected Publisher<SecurityRuleResult> checkSensitiveAuthenticated(
        HttpRequest<?> request, Authentication user, ExecutableMethod<?, ?> method) {
      return Publishers.just(
          user.getName().equals("ann") ? SecurityRuleResult.ALLOWED : SecurityRuleResult.REJECTED);
    }
  }

  private static String basic(String user) {
    return "Basic "
        + Base64.getEncoder().encodeToString((user + ':' + user).getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void onlyOperatorsMayReadAndChange() {
    try (Demo demo =
        new Demo(Demo.newService(), Map.of("spec.name", SPEC, "endpoints.limits.enabled", true))) {
      assertThat(demo.get("/limits").statusCode()).isEqualTo(401);
      assertThat(demo.post("/limits/articles/reset", "{}").statusCode()).isEqualTo(401);
      assertThat(demo.get("/limits", "Authorization", basic("bob")).statusCode()).isEqualTo(403);

      HttpResponse<String> read = demo.get("/limits", "Authorization", basic("ann"));

      assertThat(read.statusCode()).as(read.body()).isEqualTo(200);
      assertThat(read.body()).startsWith("{\"policies\":[{\"policy\":");
    }
  }

  @Test
  void itIsOffByDefault() {
    try (Demo demo = new Demo(Demo.newService(), Map.of("spec.name", SPEC))) {
      assertThat(demo.get("/limits", "Authorization", basic("ann")).statusCode()).isEqualTo(404);
    }
  }
}
