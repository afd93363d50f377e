// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.micronaut.context.annotation.Replaces;
import io.micronaut.core.async.publisher.Publishers;
import io.micronaut.http.HttpRequest;
import io.micronaut.inject.ExecutableMethod;
import io.micronaut.management.endpoint.EndpointSensitivityProcessor;
import io.micronaut.security.authentication.Authentication;
import io.micronaut.security.rules.ConfigurationInterceptUrlMapRule;
import io.micronaut.security.rules.SecurityRuleResult;
import io.micronaut.security.rules.SensitiveEndpointRule;
import jakarta.inject.Singleton;
import java.util.Base64;
import org.reactivestreams.Publisher;

/**
 * Who may use {@code /limits}: operators, and only on this machine, since the demo listens on all
 * addresses and its password is known to all. What decides is the address of the connection, which
 * no header changes, and that no page of another site has sent the request.
 */
@Singleton
@Replaces(SensitiveEndpointRule.class)
final class Operators extends SensitiveEndpointRule {

  /** The name, and the password, of the operator. */
  static final String NAME = "admin";

  static final String ROLE = "OPERATOR";

  /** The operator's {@code Authorization}. */
  static final String BASIC =
      "Basic " + Base64.getEncoder().encodeToString((NAME + ':' + NAME).getBytes(UTF_8));

  Operators(EndpointSensitivityProcessor endpoints) {
    super(endpoints);
  }

  /** Before the intercept-url-map, which admits all to all paths. */
  @Override
  public int getOrder() {
    return ConfigurationInterceptUrlMapRule.ORDER - 100;
  }

  @Override
  protected Publisher<SecurityRuleResult> checkSensitiveAuthenticated(
      HttpRequest<?> request, Authentication user, ExecutableMethod<?, ?> method) {
    return Publishers.just(
        Here.is(request) && user.getRoles().contains(ROLE)
            ? SecurityRuleResult.ALLOWED
            : SecurityRuleResult.REJECTED);
  }
}
