// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import io.limiter.core.LimitRequest;
import io.limiter.micronaut.plan.LimitedPolicy;
import io.micronaut.core.annotation.Introspected;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The members of a body that names subjects of a policy.
 *
 * @param subject of a policy that counts one kind
 * @param header values by the names of header fields
 * @param argument values by expressions
 * @param resolver values by the types of resolvers
 * @param digest one of the top talkers
 * @param method one of those that the policy limits separately
 * @param tier whose rules are meant
 */
@Introspected
record SubjectBody(
    @Nullable Object subject,
    @Nullable String address,
    @Nullable String user,
    Map<String, String> header,
    Map<String, String> argument,
    Map<String, String> resolver,
    @Nullable String anonymous,
    @Nullable Boolean everyone,
    @Nullable String digest,
    @Nullable Object submission,
    @Nullable String method,
    @Nullable String tier) {

  static final String EXAMPLE = "{\"user\": \"ada\"}";

  /**
   * The subjects that a body names, as a request to the store.
   *
   * @param request of one call of these subjects
   * @param clear the subjects in clear
   * @param tier whose rules the request has; empty if the policy is the same in all tiers
   */
  record NamedSubject(LimitRequest request, String clear, Optional<String> tier) {}

  /** The callers that it names in clear. */
  Stream<String> callers() {
    return Stream.of(
            Stream.ofNullable(user),
            Stream.ofNullable(subject).map(Object::toString),
            header.values().stream(),
            argument.values().stream(),
            resolver.values().stream())
        .flatMap(some -> some);
  }

  /**
   * The subjects that it names.
   *
   * @param policy that of the tier
   * @throws IllegalArgumentException if the policy does not count one of them
   * @throws io.limiter.micronaut.exception.InvalidCallException if the submission is not a valid
   *     key
   */
  NamedSubject named(LimitedPolicy policy, PolicyStatistics statistics) {
    LimitedPolicy asked = method == null ? policy : policy.method(method);
    if (submission != null) {
      asked = asked.withSubmission(submission);
    }
    Map<String, LimitRequest> requests = requests(asked, statistics);
    LimitRequest request =
        requests.values().stream()
            .reduce(LimitRequest::and)
            .orElseThrow(
                () ->
                    BodyReader.mistake(
                        "The body names no subject: specify one of subject, address, user, header, argument, resolver, anonymous, everyone, digest, such as "
                            + EXAMPLE));
    if (submission != null && request.duplicate().isEmpty()) {
      throw BodyReader.mistake(
          "The body names a submission, but none of its subjects submits: name the subject whose submissions the policy '%s' compares"
              .formatted(policy.name()));
    }
    return new NamedSubject(
        request,
        String.join(", ", requests.keySet()),
        asked.tiers().isEmpty() ? Optional.empty() : asked.tier());
  }

  /** A request for each subject, by its name in clear. */
  private Map<String, LimitRequest> requests(LimitedPolicy policy, PolicyStatistics statistics) {
    Map<String, LimitRequest> requests = new LinkedHashMap<>();
    if (subject != null) {
      requests.put(subject.toString(), policy.forSubject(subject));
    }
    if (address != null) {
      requests.put("address " + address, policy.forAddress(address));
    }
    if (user != null) {
      requests.put("user " + user, policy.forUser(user));
    }
    header.forEach(
        (name, value) ->
            requests.put("header " + name + ' ' + value, policy.forHeader(name, value)));
    argument.forEach(
        (name, value) ->
            requests.put("argument " + name + ' ' + value, policy.forArgument(name, value)));
    resolver.forEach(
        (name, value) ->
            requests.put("resolver " + name + ' ' + value, policy.forResolved(name, value)));
    if (anonymous != null) {
      requests.put("anonymous " + anonymous, policy.forAnonymous(anonymous));
    }
    if (Boolean.TRUE.equals(everyone)) {
      requests.put("everyone", policy.forEveryone());
    }
    if (digest != null) {
      PolicyStatistics.Talker talker = talker(digest, policy, statistics);
      requests.put(
          talker.clear().orElse("digest " + digest),
          policy.forKey(talker.key(), talker.limit(), talker.source(), talker.anonymous()));
    }
    return requests;
  }

  private static PolicyStatistics.Talker talker(
      String digest, LimitedPolicy policy, PolicyStatistics statistics) {
    return statistics
        .find(policy.name(), digest)
        .orElseThrow(
            () ->
                BodyReader.mistake(
                    "The digest '%s' is not among the top talkers of the policy '%s' on this instance: take it from there, or name the subject"
                        .formatted(BodyReader.quoted(digest), policy.name())));
  }
}
