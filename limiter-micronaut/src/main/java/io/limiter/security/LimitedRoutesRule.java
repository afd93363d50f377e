// SPDX-License-Identifier: Apache-2.0
package io.limiter.security;

import io.limiter.micronaut.annotation.Limited;
import io.micronaut.core.annotation.AnnotationMetadata;
import io.micronaut.core.annotation.AnnotationValue;
import io.micronaut.http.HttpRequest;
import io.micronaut.inject.annotation.EvaluatedAnnotationMetadata;
import io.micronaut.security.annotation.Secured;
import io.micronaut.security.authentication.Authentication;
import io.micronaut.security.rules.AbstractSecurityRule;
import io.micronaut.security.rules.SecuredAnnotationRule;
import io.micronaut.security.rules.SecurityRule;
import io.micronaut.security.rules.SecurityRuleResult;
import io.micronaut.security.token.RolesFinder;
import io.micronaut.web.router.MethodBasedRouteMatch;
import io.micronaut.web.router.RouteAttributes;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;

/**
 * Decides {@link Secured} on limited routes where the limits have expressions, but {@link Secured}
 * itself has none.
 *
 * <p>If any annotation of a method has an expression, Micronaut provides all of its annotations as
 * evaluated ones. {@link SecuredAnnotationRule} then assumes an expression in {@link Secured},
 * whose value is not true, and rejects every request (micronaut-security issue 2012, seen up to
 * 4.15). This rule runs before it and reads the annotation as written, as the other rule does
 * without expressions. It returns {@code UNKNOWN} for all other routes, and where the application
 * has replaced {@link SecuredAnnotationRule}.
 */
@Singleton
final class LimitedRoutesRule extends AbstractSecurityRule<HttpRequest<?>> {

  private final boolean replaced;

  LimitedRoutesRule(RolesFinder roles, Optional<SecuredAnnotationRule> secured) {
    super(roles);
    this.replaced =
        secured.map(rule -> rule.getClass() != SecuredAnnotationRule.class).orElse(true);
  }

  @Override
  public int getOrder() {
    return SecuredAnnotationRule.ORDER - 1;
  }

  @Override
  public Publisher<SecurityRuleResult> check(
      HttpRequest<?> request, @Nullable Authentication authentication) {
    String[] required = replaced ? null : required(request);
    if (required == null) {
      return Mono.just(SecurityRuleResult.UNKNOWN);
    }
    List<String> roles = List.of(required);
    return roles.contains(SecurityRule.DENY_ALL)
        ? Mono.just(SecurityRuleResult.REJECTED)
        : compareRoles(roles, getRoles(authentication));
  }

  /** The value of the annotation; null if this rule does not decide. */
  private static String @Nullable [] required(HttpRequest<?> request) {
    if (RouteAttributes.getRouteMatch(request).orElse(null)
            instanceof MethodBasedRouteMatch<?, ?> route
        && route.getAnnotationMetadata() instanceof EvaluatedAnnotationMetadata evaluated
        && route.hasStereotype(Limited.class)) {
      AnnotationMetadata written = evaluated.getAnnotationMetadata();
      AnnotationValue<Secured> secured = written.getAnnotation(Secured.class);
      if (secured != null
          && secured.getValues().values().stream().allMatch(LimitedRoutesRule::isPlain)) {
        return written.getValue(Secured.class, String[].class).orElse(null);
      }
    }
    return null;
  }

  private static boolean isPlain(Object value) {
    return value instanceof String || value instanceof String[];
  }
}
