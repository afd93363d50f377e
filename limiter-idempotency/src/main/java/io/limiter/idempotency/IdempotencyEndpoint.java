// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.limiter.core.Subject;
import io.limiter.micronaut.subject.RequestSubjects;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.type.Argument;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.exceptions.HttpStatusException;
import io.micronaut.json.JsonMapper;
import io.micronaut.management.endpoint.annotation.Endpoint;
import io.micronaut.management.endpoint.annotation.Write;
import java.io.IOException;
import java.util.Map;
import java.util.Set;
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

  private static final Argument<Map<String, Object>> OBJECT =
      Argument.mapOf(String.class, Object.class);

  private static final Set<String> MEMBERS = Set.of("route", "owner", "address", "key");

  private static final String EXAMPLE =
      "{\"route\": \"/payments\", \"owner\": \"ada\", \"key\": \"5fd1a2b0\"}";

  private final IdempotentRoutes routes;
  private final RequestSubjects subjects;
  private final SubmissionService submissions;
  private final JsonMapper mapper;

  IdempotencyEndpoint(
      IdempotentRoutes routes,
      RequestSubjects subjects,
      SubmissionService submissions,
      JsonMapper mapper) {
    this.routes = routes;
    this.subjects = subjects;
    this.submissions = submissions;
    this.mapper = mapper;
  }

  /**
   * A submission.
   *
   * @param route as in the log and in meters: a method, or the path of a setting
   * @param owner the user, or the value of the header or of the resolver
   * @param address in place of the owner: that of an anonymous caller
   * @param key the Idempotency-Key
   */
  private record ForgottenBody(
      String route, @Nullable String owner, @Nullable String address, String key) {}

  /** Reads a body. A mapper such as that of micronaut-serde would not know a class of a library. */
  private ForgottenBody read(@Nullable String text) {
    Map<String, Object> members;
    try {
      members = text == null || text.isBlank() ? null : mapper.readValue(text, OBJECT);
    } catch (IOException | RuntimeException unreadable) {
      members = null;
    }
    if (members == null
        || !MEMBERS.containsAll(members.keySet())
        || !(members.get("route") instanceof String route)
        || !(members.get("key") instanceof String key)
        || !isText(members.get("owner"))
        || !isText(members.get("address"))) {
      throw new HttpStatusException(
          HttpStatus.BAD_REQUEST,
          "The body is no JSON object with route, key, and owner or address: send one such as "
              + EXAMPLE);
    }
    return new ForgottenBody(
        route, (String) members.get("owner"), (String) members.get("address"), key);
  }

  private static boolean isText(@Nullable Object value) {
    return value == null || value instanceof String;
  }

  /** Forgets a submission. The end of one that runs is not kept. */
  @Write
  CompletionStage<Map<String, Boolean>> forget(@Nullable @Body String text) {
    ForgottenBody body = read(text);
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
