// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.SubjectResolver;
import io.limiter.micronaut.subject.ClientAddress;
import io.micronaut.http.HttpRequest;
import jakarta.inject.Singleton;
import java.util.Optional;

@Singleton
class UserAtAddress implements SubjectResolver {

  private final ClientAddress address;

  UserAtAddress(ClientAddress address) {
    this.address = address;
  }

  @Override
  public Optional<String> resolve(HttpRequest<?> request) {
    return request.getParameters().getFirst("user").map(user -> address.of(request) + ' ' + user);
  }
}
