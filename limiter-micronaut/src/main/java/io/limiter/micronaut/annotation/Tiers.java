// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

import io.micronaut.http.HttpRequest;
import java.security.Principal;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * Determines the tier of a caller, such as a plan that the caller pays for. {@code
 * limiter.tiers.<tier>.<policy>} has the rules of a tier. A bean of this type:
 *
 * <pre>{@code
 * @Singleton
 * class PaidPlans implements Tiers {
 *   @Override
 *   public CompletionStage<String> of(HttpRequest<?> request) {
 *     boolean pro = request.getUserPrincipal(Authentication.class).stream()
 *         .anyMatch(user -> user.getRoles().contains("PRO"));
 *     return CompletableFuture.completedFuture(pro ? "pro" : "free");
 *   }
 * }
 * }</pre>
 *
 * <p>It is called on the request's event loop, after security, so it must not block: a slow lookup
 * completes the stage later. The tier is cached for the caller for {@code
 * limiter.tier-lookup.cache-time}. If the lookup fails, or takes longer than {@code
 * limiter.tier-lookup.timeout}, the caller has the default tier for this call.
 */
@FunctionalInterface
public interface Tiers {

  /**
   * Returns the name of the tier. The default tier applies if it is null, or if no setting has this
   * name.
   */
  CompletionStage<String> of(HttpRequest<?> request);

  /**
   * Returns the name under which the tier of a caller is remembered. Empty for a caller that has
   * the default tier without a look-up. By default the name of the principal, so a caller that is
   * not authenticated has the default tier. A bean that names callers by a value that clients
   * choose, such as a header, must verify it.
   */
  default Optional<String> caller(HttpRequest<?> request) {
    return request.getUserPrincipal().map(Principal::getName);
  }
}
