// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.micronaut.http.HttpRequest;
import io.micronaut.security.authentication.AuthenticationRequest;
import io.micronaut.security.authentication.AuthenticationResponse;
import io.micronaut.security.authentication.provider.HttpRequestAuthenticationProvider;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The users of the demo. A real service does not keep passwords in its code, or in plain text. */
@Singleton
final class DemoUsers<B> implements HttpRequestAuthenticationProvider<B> {

  private static final Map<String, String> PASSWORDS =
      Map.of("ann", "ann", "bob", "bob", Operators.NAME, Operators.NAME);

  @Override
  public AuthenticationResponse authenticate(
      @Nullable HttpRequest<B> request, AuthenticationRequest<String, String> credentials) {
    String user = credentials.getIdentity();
    return credentials.getSecret().equals(PASSWORDS.get(user))
        ? AuthenticationResponse.success(
            user, user.equals(Operators.NAME) ? List.of(Operators.ROLE) : List.of())
        : AuthenticationResponse.failure();
  }
}
