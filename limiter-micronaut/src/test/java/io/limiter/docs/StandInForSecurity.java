// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.micronaut.core.order.Ordered;
import io.micronaut.http.HttpAttributes;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.filter.ServerFilterPhase;
import io.micronaut.management.endpoint.EndpointSensitivityHandler;
import java.nio.charset.StandardCharsets;
import java.security.Principal;
import java.util.Base64;

/** Authenticates every user name of basic authentication, and admits everybody to endpoints. */
@ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
class StandInForSecurity implements Ordered, EndpointSensitivityHandler {

  @RequestFilter
  void logIn(HttpRequest<?> request) {
    request
        .getHeaders()
        .getAuthorization()
        .map(given -> given.replace("Basic ", ""))
        .map(given -> new String(Base64.getDecoder().decode(given), StandardCharsets.UTF_8))
        .map(given -> given.substring(0, given.indexOf(':')))
        .ifPresent(name -> request.setAttribute(HttpAttributes.PRINCIPAL, (Principal) () -> name));
  }

  @Override
  public int getOrder() {
    return ServerFilterPhase.SECURITY.order();
  }
}
