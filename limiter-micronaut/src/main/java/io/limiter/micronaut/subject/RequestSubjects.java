// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.limiter.core.Subject;
import io.limiter.micronaut.address.ForwardedHeader;
import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.config.CallerConfiguration.AddressConfiguration;
import io.limiter.micronaut.exception.InvalidCallException.MissingSubjectException;
import io.micronaut.http.HttpRequest;
import jakarta.inject.Singleton;
import java.security.Principal;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * Determines subjects: from the request alone, or from a value that code names. A subclass that
 * overrides one of both overrides the other, too.
 */
@Singleton
public class RequestSubjects {

  private static final String ADDRESS = "ip";
  private static final String USER = "user";
  private static final String HEADER = "header";
  private static final String HEADER_ADDRESS = "header-ip";
  private static final String RESOLVER = "resolver";
  private static final String ARGUMENT = "argument";

  /** The request attribute that holds the client's address. */
  private static final String FOUND = "io.limiter.address";

  private final ClientAddress address;
  private final int ipv6Prefix;

  public RequestSubjects(ClientAddress address, AddressConfiguration configuration) {
    this.address = address;
    this.ipv6Prefix = configuration.ipv6Prefix();
  }

  /**
   * The subject of this request.
   *
   * @throws MissingSubjectException if the request has none, and such requests are denied
   * @throws IllegalArgumentException if the source needs the method's arguments
   */
  public Subject resolve(SubjectSource source, HttpRequest<?> request) {
    return switch (source.kind()) {
      case ADDRESS -> new Subject(ADDRESS, address(request));
      case EVERYBODY -> Subject.global();
      case SUBMITTER, USER ->
          present(request.getUserPrincipal().map(Principal::getName))
              .map(name -> new Subject(USER, name))
              .orElseGet(() -> anonymous(source, request));
      case HEADER -> {
        SubjectSource.Header header = (SubjectSource.Header) source;
        List<String> lines = request.getHeaders().getAll(header.name());
        if (lines.size() > 1) { // one may be a proxy's and another the client's, who would choose
          throw new MissingSubjectException(
              "The request has %s lines of the header %s, which counts calls: send one"
                  .formatted(lines.size(), header.name()));
        }
        yield present(lines.stream().findFirst())
            .flatMap(value -> ofHeader(header, value))
            .orElseGet(() -> anonymous(source, request));
      }
      case RESOLVER -> {
        SubjectSource.Resolver resolver = (SubjectSource.Resolver) source;
        yield present(asked(resolver, resolver.bean().get().resolve(request)))
            .map(value -> ofResolver(resolver, value))
            .orElseGet(() -> anonymous(source, request));
      }
      case EXPRESSION ->
          throw new IllegalArgumentException("A request alone does not determine " + source);
    };
  }

  /** The subject of a call outside of any request; empty if the source needs one. */
  public Optional<Subject> resolveOutsideOfRequest(SubjectSource source) {
    return switch (source.kind()) {
      case EVERYBODY, SUBMITTER -> Optional.of(Subject.global());
      case RESOLVER -> {
        SubjectSource.Resolver resolver = (SubjectSource.Resolver) source;
        yield present(asked(resolver, resolver.bean().get().resolveOutsideOfRequest()))
            .map(value -> ofResolver(resolver, value));
      }
      case ADDRESS, USER, HEADER, EXPRESSION -> Optional.empty();
    };
  }

  /**
   * The subject of a call with this value.
   *
   * @param value the address, the name of the user, the value of the header or of the expression,
   *     or what the resolver gives; ignored where all calls are counted together
   * @throws IllegalArgumentException if no call has this value
   */
  public Subject named(SubjectSource source, String value) {
    if (value.isBlank() && source.kind() != SubjectSource.Kind.EVERYBODY) {
      throw new IllegalArgumentException(
          "The value of %s is empty, but a subject needs a value: specify one"
              .formatted(source.written()));
    }
    return switch (source.kind()) {
      case ADDRESS -> new Subject(ADDRESS, address.counted(value));
      case EVERYBODY -> Subject.global();
      case SUBMITTER, USER -> new Subject(USER, value);
      case HEADER -> {
        SubjectSource.Header header = (SubjectSource.Header) source;
        String network = "/" + ipv6Prefix; // an operator may name what was shown
        yield ofHeader(
                header,
                header.address() && value.endsWith(network)
                    ? value.substring(0, value.length() - network.length())
                    : value)
            .orElseThrow(
                () ->
                    new IllegalArgumentException(
                        "The value of %s is not an IP address: use one such as 192.0.2.1 or 2001:db8::1"
                            .formatted(source.written())));
      }
      case EXPRESSION -> {
        int ordinal = ((SubjectSource.Expression) source).ordinal();
        yield new Subject(ordinal == 0 ? ARGUMENT : ARGUMENT + '.' + (ordinal + 1), value);
      }
      case RESOLVER -> ofResolver((SubjectSource.Resolver) source, value);
    };
  }

  /**
   * The subject of a call without one, from this address. It is separate from subjects that are
   * counted by address anyway, and from anonymous subjects of other limits.
   *
   * @throws IllegalArgumentException if no client has this address
   */
  public Subject anonymous(SubjectSource source, String from) {
    return anonymousAt(source, address.counted(from));
  }

  /** The value by which {@link #named} makes a subject. */
  public static String valueOf(Subject subject) {
    return Set.of(HEADER, HEADER_ADDRESS, RESOLVER).contains(subject.kind())
        ? subject.value().substring(subject.value().indexOf('\n') + 1)
        : subject.value();
  }

  // Names of header fields and classes contain no line break, so values of different sources cannot
  // collide.
  private Optional<Subject> ofHeader(SubjectSource.Header header, String value) {
    if (!header.address()) {
      return Optional.of(new Subject(HEADER, String.join("\n", header.name(), value)));
    }
    return Optional.ofNullable(ForwardedHeader.single(value))
        .map(
            read ->
                new Subject(
                    HEADER_ADDRESS, String.join("\n", header.name(), read.network(ipv6Prefix))));
  }

  private static Subject ofResolver(SubjectSource.Resolver resolver, String value) {
    return new Subject(RESOLVER, String.join("\n", resolver.type().getName(), value));
  }

  /** A bean of the application may return null despite the annotations. */
  private static Optional<String> asked(SubjectSource.Resolver resolver, Optional<String> answer) {
    return Objects.requireNonNull(
        answer,
        () ->
            "%s returned null: let it return Optional.empty() where there is no subject"
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
          "%s returned no address: let it return one for every request, such as that of the connection"
              .formatted(address.getClass().getName()));
    }
    request.setAttribute(FOUND, found);
    return found;
  }

  private static Optional<String> present(Optional<String> value) {
    return value.filter(text -> !text.isBlank());
  }

  private Subject anonymous(SubjectSource source, HttpRequest<?> request) {
    if (source.anonymous() == Anonymous.REJECT) {
      throw new MissingSubjectException(
          "The request has no %s to count, and such requests are denied"
              .formatted(missing(source)));
    }
    return anonymousAt(source, address(request));
  }

  private static Subject anonymousAt(SubjectSource source, String counted) {
    return new Subject(Subject.ANONYMOUS, missing(source) + '\n' + counted);
  }

  /** What a request without a subject of this source lacks. */
  private static String missing(SubjectSource source) {
    return switch (source.kind()) {
      case HEADER -> {
        SubjectSource.Header header = (SubjectSource.Header) source;
        yield (header.address() ? HEADER_ADDRESS : HEADER) + ' ' + header.name();
      }
      case RESOLVER -> RESOLVER + ' ' + ((SubjectSource.Resolver) source).type().getName();
      case ADDRESS, EVERYBODY, SUBMITTER, USER, EXPRESSION -> USER;
    };
  }
}
