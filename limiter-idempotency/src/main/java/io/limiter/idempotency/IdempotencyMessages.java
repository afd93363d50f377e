// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.limiter.micronaut.denial.ProblemTypes;
import io.limiter.micronaut.denial.ShippedMessages;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.server.util.locale.HttpLocaleResolutionConfiguration;
import jakarta.inject.Singleton;
import java.util.Map;
import java.util.Optional;

/** The messages of rejected submissions, and their problem types. */
@Singleton
@Requires(classes = HttpLocaleResolutionConfiguration.class)
final class IdempotencyMessages extends ShippedMessages {

  IdempotencyMessages(HttpLocaleResolutionConfiguration configuration) {
    super(
        "io.limiter.idempotency.messages",
        IdempotencyMessages.class.getClassLoader(),
        configuration);
  }

  /**
   * The problems of draft-ietf-httpapi-idempotency-key-header: a link for all, which differ in
   * their titles. The draft has none for a malformed key, which is rejected as a missing one.
   */
  @Singleton
  record Types(IdempotencyConfiguration settings) implements ProblemTypes {

    private static final Map<String, String> TITLES =
        Map.of(
            "idempotency_key_missing", "Idempotency-Key is missing",
            "idempotency_key_malformed", "Idempotency-Key is malformed",
            "idempotency_key_anonymous", "Idempotency-Key needs a user",
            "idempotency_key_reused", "Idempotency-Key is already used",
            "idempotency_key_in_use", "A request is outstanding for this Idempotency-Key");

    @Override
    public Optional<Problem> of(String code) {
      return Optional.ofNullable(TITLES.get(code))
          .map(title -> new Problem(settings.problemType(), title));
    }
  }
}
