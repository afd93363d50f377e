// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.SubjectResolver;
import io.micronaut.http.HttpRequest;
import jakarta.inject.Singleton;
import java.util.Optional;

@Singleton
class Tenant implements SubjectResolver {

  @Override
  public Optional<String> resolve(HttpRequest<?> request) {
    return Optional.ofNullable(request.getHeaders().get("Host"));
  }
}
