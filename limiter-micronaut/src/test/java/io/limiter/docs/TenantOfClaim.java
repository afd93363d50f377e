// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.SubjectResolver;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.security.authentication.Authentication;
import jakarta.inject.Singleton;
import java.util.Optional;

@Requires(classes = Authentication.class)
@Singleton
class TenantOfClaim implements SubjectResolver {

  @Override
  public Optional<String> resolve(HttpRequest<?> request) {
    return request
        .getUserPrincipal(Authentication.class)
        .map(user -> (String) user.getAttributes().get("tenant"));
  }
}
