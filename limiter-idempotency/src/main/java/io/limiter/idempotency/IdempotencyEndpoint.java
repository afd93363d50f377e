// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.limiter.core.Subject;
import io.limiter.micronaut.subject.RequestSubjects;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Introspected;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.exceptions.HttpStatusException;
import io.micronaut.management.endpoint.annotation.Endpoint;
import io.micronaut.management.endpoint.annotation.Write;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The endpoint {@code idempotency}: forgets a submission, so that it may be made again, such as
 * after an operator has found out that the method of a killed process has not run.
 */
@Endpoint(id = IdempotencyEndpoint.ID, defaultEnabled = false, defaultSensitive = true)
@Requires(classes = Endpoint.class)
final class IdempotencyEndpoint {

  static final String ID = "idempotency";

  private final IdempotentRoutes routes;
  private final RequestSubjects subjects;
  private final SubmissionService submissions;

  IdempotencyEndpoint(
      IdempotentRoutes routes, RequestSubjects subjects, SubmissionService submissions) {
    this.routes = routes;
    this.subjects = subjects;
    this.submissions = submissions;
  }

  /**
   * A submission.
   *
   * @param route as in the log and in meters: a method, or the path of a setting
   * @param owner the user, or the value of the header or of the resolver
   * @param address in place of the owner: that of an anonymous caller
   * @param key the Idempotency-Key
   */
  @Introspected
  record ForgottenBody(
      String route, @Nullable String owner, @Nullable String address, String key) {}

  /** Forgets a submission. The end of one that runs is not kept. */
  @Write
  CompletionStage<Map<String, Boolean>> forget(@Body ForgottenBody body) {
    Terms terms =
        routes
            .named(body.route())
            .orElseThrow(
                () ->
                    new HttpStatusException(
                        HttpStatus.NOT_FOUND,
                        "route = %s: no such route has keys; the meter limiter.idempotency has the names"
                            .formatted(body.route())));
    if ((body.owner() == null) == (body.address() == null)) {
      throw new HttpStatusException(
          HttpStatus.BAD_REQUEST, "name either the owner of the key or an address");
    }
    Subject subject;
    try {
      subject =
          body.owner() != null
              ? subjects.named(terms.owner(), body.owner())
              : subjects.anonymous(terms.owner(), body.address());
    } catch (IllegalArgumentException unusable) {
      throw new HttpStatusException(HttpStatus.BAD_REQUEST, String.valueOf(unusable.getMessage()));
    }
    return submissions
        .forget(SubmissionService.key(subject, terms.scope(), body.key()))
        .thenApply(forgotten -> Map.of("forgotten", true));
  }
}
