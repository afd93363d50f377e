// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

import io.micronaut.http.HttpRequest;
import java.time.LocalDate;
import java.util.Optional;

/**
 * Determines the day on which the periods of a subject begin, such as the billing day of a
 * customer. {@link FixedWindow#anchor} names a bean of this type.
 *
 * <pre>{@code
 * @Singleton
 * @Named("billing-day")
 * class BillingDay implements PeriodAnchor {
 *   @Override
 *   public LocalDate anchor(String subject, Optional<HttpRequest<?>> request) {
 *     return customers.since(subject);
 *   }
 * }
 * }</pre>
 *
 * <p>It is called for every call, mostly on the request's event loop, so it must not block: what
 * has to be looked up is kept in a cache. An exception that it throws fails the call.
 */
@FunctionalInterface
public interface PeriodAnchor {

  /**
   * Returns a day on which a period of the subject begins, in any year. Of a week its day of the
   * week counts, of a month its day of the month.
   *
   * @param subject who is counted: the name of the user, the value of the header or of the
   *     expression, what the resolver gives, or the address. Never a caller without a subject
   * @param request the request of the call; empty outside of any request, also where code asks
   *     about the subject
   */
  LocalDate anchor(String subject, Optional<HttpRequest<?>> request);
}
