// SPDX-License-Identifier: Apache-2.0
package io.limiter.overload;

import io.limiter.micronaut.denial.ProblemTypes;
import io.limiter.micronaut.denial.Rejections;
import io.limiter.micronaut.denial.ShippedMessages;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpHeaders;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.server.exceptions.ExceptionHandler;
import io.micronaut.http.server.util.locale.HttpLocaleResolutionConfiguration;
import jakarta.inject.Singleton;
import java.util.Optional;

/** The message of rejected requests, and their problem type. */
@Singleton
@Requires(classes = HttpLocaleResolutionConfiguration.class)
final class OverloadMessages extends ShippedMessages {

  OverloadMessages(HttpLocaleResolutionConfiguration configuration) {
    super("io.limiter.overload.messages", OverloadMessages.class.getClassLoader(), configuration);
  }

  /** The problem type of draft-ietf-httpapi-ratelimit-headers. */
  @Singleton
  static final class Types implements ProblemTypes {

    private static final Optional<Problem> REDUCED =
        Optional.of(
            new Problem(
                "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
                "Temporary Reduced Capacity"));

    @Override
    public Optional<Problem> of(String code) {
      return code.equals(OverloadFilter.CODE) ? REDUCED : Optional.empty();
    }
  }

  /** Answers a request whose route was rejected by {@link LocalConcurrency}. */
  @Singleton
  record Handler(Rejections rejections)
      implements ExceptionHandler<OverloadedException, HttpResponse<?>> {

    @Override
    @SuppressWarnings("rawtypes") // as in the interface
    public HttpResponse<?> handle(HttpRequest request, OverloadedException overloaded) {
      return rejections
          .reject(request, HttpStatus.SERVICE_UNAVAILABLE, OverloadFilter.CODE)
          .header(HttpHeaders.RETRY_AFTER, Long.toString(overloaded.retryAfter().toSeconds()));
    }
  }
}
