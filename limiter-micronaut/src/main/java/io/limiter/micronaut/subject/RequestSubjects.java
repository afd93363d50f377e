// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.limiter.core.Subject;
import io.limiter.micronaut.annotation.LimitType;
import io.micronaut.http.HttpRequest;
import jakarta.inject.Singleton;
import java.security.Principal;
import java.util.Optional;

/** Finds who is counted from the request alone. */
@Singleton
public class RequestSubjects {

  private static final String ADDRESS = "ip";
  private static final String USER = "user";

  private final ClientAddress address;

  public RequestSubjects(ClientAddress address) {
    this.address = address;
  }

  /**
   * The subject of this type that the request comes from. An anonymous caller is counted by
   * address, as one of its kind.
   */
  public Subject resolve(LimitType type, HttpRequest<?> request) {
    return switch (type) {
      case IP -> new Subject(ADDRESS, address.of(request));
      case USER_ID ->
          user(request)
              .map(name -> new Subject(USER, name))
              .orElseGet(() -> new Subject(ADDRESS, address.of(request)));
      case GLOBAL -> Subject.global();
    };
  }

  /** Whose submission a request is, for a method that counts by this type. */
  public Subject submitter(LimitType type, HttpRequest<?> request) {
    return resolve(type == LimitType.GLOBAL ? LimitType.USER_ID : type, request);
  }

  private static Optional<String> user(HttpRequest<?> request) {
    return request.getUserPrincipal().map(Principal::getName).filter(name -> !name.isEmpty());
  }
}
