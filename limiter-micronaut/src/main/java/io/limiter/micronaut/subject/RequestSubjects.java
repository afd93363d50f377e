// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.limiter.core.Subject;
import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.exception.MissingSubjectException;
import io.micronaut.http.HttpRequest;
import jakarta.inject.Singleton;
import java.security.Principal;
import java.util.Objects;
import java.util.Optional;

/** Determines subjects from the request alone. */
@Singleton
public class RequestSubjects {

  private static final CountedSubject EVERYBODY = new CountedSubject(Subject.global(), false);
  private static final String ADDRESS = "ip";
  private static final String USER = "user";
  private static final String HEADER = "header";
  private static final String RESOLVER = "resolver";
  private static final String ANONYMOUS = "anonymous";

  /** The request attribute that holds the client's address. */
  private static final String FOUND = "io.limiter.address";

  private final ClientAddress address;

  public RequestSubjects(ClientAddress address) {
    this.address = address;
  }

  /**
   * The subject of this request.
   *
   * @throws MissingSubjectException if the request has none, and such requests are denied
   * @throws IllegalArgumentException if the source needs the method's arguments
   */
  public CountedSubject resolve(SubjectSource source, HttpRequest<?> request) {
    if (source instanceof SubjectSource.Address) {
      return CountedSubject.known(ADDRESS, address(request));
    }
    if (source instanceof SubjectSource.Everybody) {
      return EVERYBODY;
    }
    if (source instanceof SubjectSource.Submitter) {
      return user(request, Anonymous.ADDRESS);
    }
    if (source instanceof SubjectSource.User user) {
      return user(request, user.anonymous());
    }
    if (source instanceof SubjectSource.Header header) {
      // Names of header fields and classes contain no line break, so values of different sources
      // cannot collide.
      return present(Optional.ofNullable(request.getHeaders().get(header.name())))
          .map(value -> CountedSubject.known(HEADER, header.name() + '\n' + value))
          .orElseGet(() -> anonymous(HEADER + ' ' + header.name(), header.anonymous(), request));
    }
    if (source instanceof SubjectSource.Resolver resolver) {
      return present(asked(resolver, resolver.bean().get().resolve(request)))
          .map(value -> resolved(resolver, value))
          .orElseGet(
              () ->
                  anonymous(
                      RESOLVER + ' ' + resolver.type().getName(), resolver.anonymous(), request));
    }
    throw new IllegalArgumentException("A request alone does not determine " + source);
  }

  /** The subject of a call outside of any request; empty if the source needs one. */
  public Optional<CountedSubject> resolveOutsideOfRequest(SubjectSource source) {
    if (source instanceof SubjectSource.Everybody || source instanceof SubjectSource.Submitter) {
      return Optional.of(EVERYBODY);
    }
    return source instanceof SubjectSource.Resolver resolver
        ? present(asked(resolver, resolver.bean().get().resolveOutsideOfRequest()))
            .map(value -> resolved(resolver, value))
        : Optional.empty();
  }

  private CountedSubject user(HttpRequest<?> request, Anonymous anonymous) {
    return request
        .getUserPrincipal()
        .map(Principal::getName)
        .filter(name -> !name.isBlank())
        .map(name -> CountedSubject.known(USER, name))
        .orElseGet(() -> anonymous(USER, anonymous, request));
  }

  private static CountedSubject resolved(SubjectSource.Resolver resolver, String value) {
    return CountedSubject.known(RESOLVER, resolver.type().getName() + '\n' + value);
  }

  /** A bean of the application may return null despite the annotations. */
  private static Optional<String> asked(SubjectSource.Resolver resolver, Optional<String> answer) {
    return Objects.requireNonNull(
        answer,
        () ->
            "%s gave null: let it give Optional.empty() where there is no subject"
                .formatted(resolver.type().getName()));
  }

  /** Determined once for each request: several limits may count by it. */
  private String address(HttpRequest<?> request) {
    if (request.getAttribute(FOUND).orElse(null) instanceof String known) {
      return known;
    }
    String found = address.of(request);
    if (found == null || found.isBlank()) {
      throw new IllegalStateException(
          "%s gave no address: let it give one for every request, such as that of the connection"
              .formatted(address.getClass().getName()));
    }
    request.setAttribute(FOUND, found);
    return found;
  }

  private static Optional<String> present(Optional<String> value) {
    return value.filter(text -> !text.isBlank());
  }

  /**
   * Separate from subjects that are counted by address anyway, and from anonymous subjects of other
   * limits.
   */
  private CountedSubject anonymous(String source, Anonymous anonymous, HttpRequest<?> request) {
    if (anonymous == Anonymous.REFUSE) {
      throw new MissingSubjectException(
          "The request has no %s to count, and such requests are denied".formatted(source));
    }
    return new CountedSubject(new Subject(ANONYMOUS, source + '\n' + address(request)), true);
  }
}
