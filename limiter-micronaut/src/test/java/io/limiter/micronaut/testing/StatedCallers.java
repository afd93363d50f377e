// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.testing;

import io.limiter.micronaut.subject.ClientAddress;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Order;
import io.micronaut.http.HttpAttributes;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import jakarta.inject.Singleton;
import java.security.Principal;

/**
 * Callers are who they say they are, where the property test.stated-callers is set: one test is
 * many users at many addresses.
 */
public final class StatedCallers {

  public static final String USER = "X-User";
  public static final String ADDRESS = "X-Address";

  /** Where callers are who do not say it. */
  public static final String DEFAULT_ADDRESS = "192.0.2.1";

  private StatedCallers() {}

  /** Stands for security. */
  @ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
  @Requires(property = "test.stated-callers")
  static class Security {
    @RequestFilter
    @Order(39_000)
    void logIn(HttpRequest<?> request) {
      String user = request.getHeaders().get(USER);
      if (user != null) {
        request.setAttribute(HttpAttributes.PRINCIPAL, (Principal) () -> user);
      }
    }
  }

  /** Stands for an application that knows its proxies. */
  @Singleton
  @Requires(property = "test.stated-callers")
  static class Address implements ClientAddress {
    @Override
    public String of(HttpRequest<?> request) {
      return request.getHeaders().get(ADDRESS, String.class).orElse(DEFAULT_ADDRESS);
    }
  }
}
