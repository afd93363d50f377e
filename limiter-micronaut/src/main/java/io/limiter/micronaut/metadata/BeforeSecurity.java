// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.micronaut.plan.DuplicateGuard;
import io.limiter.micronaut.plan.PlannedCharge;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.http.annotation.HttpMethodMapping;
import io.micronaut.inject.ExecutableMethod;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Whether the calls of a method are decided before security. All its limits are one decision, so
 * they are as soon as one annotation says so; and none of them may need what comes later.
 */
final class BeforeSecurity {

  private static final String MEMBER = "beforeSecurity";
  private static final String APART =
      "count the address or a header, or put this limit on a method that the route calls";

  private Optional<AnnotationMembers> said = Optional.empty();

  void add(AnnotationMembers limiter) {
    if (said.isEmpty() && limiter.isTrue(MEMBER)) {
      said = Optional.of(limiter);
    }
  }

  /** Whether an annotation says so, be it a mistake. */
  boolean isSaid() {
    return said.isPresent();
  }

  /**
   * @param gate whether the gate decides; nobody else is before security
   * @throws ConfigurationException if it was said, and cannot be
   */
  boolean holds(
      ExecutableMethod<?, ?> method,
      List<PlannedCharge> quotas,
      Optional<DuplicateGuard> guard,
      boolean gate) {
    if (said.isEmpty()) {
      return false;
    }
    if (!method.hasStereotype(HttpMethodMapping.class)) {
      throw mistake("only a route is called behind security, and this method is none: remove it");
    }
    if (!gate) {
      throw mistake(
          "with limiter.gate.enabled = false all is decided around the method, when security is over: switch the gate on, or remove it");
    }
    Stream.concat(
            quotas.stream().map(PlannedCharge::source),
            guard.stream().map(DuplicateGuard::submitter))
        .forEach(this::requireKnown);
    if (quotas.stream().anyMatch(quota -> quota.cost().needsArguments())) {
      throw mistake(
          "a cost is told by the arguments, which are bound behind security: give a number");
    }
    if (guard.filter(each -> each.submission().needsArguments()).isPresent()) {
      throw mistake(
          "the arguments tell duplicates, and are bound behind security: use duplicateBy = CALLER or IDEMPOTENCY_KEY");
    }
    return true;
  }

  private void requireKnown(SubjectSource source) {
    if (source instanceof SubjectSource.User) {
      throw mistake(
          "%s counts the user, whom only security tells: %s".formatted(source.written(), APART));
    }
    if (source instanceof SubjectSource.Submitter) {
      throw mistake(
          "duplicates are told apart by the user where everybody is counted together, and only security tells him: let preventDuplicate stand on a @RateLimiter that counts the address or a header");
    }
    if (source.needsArguments()) {
      throw mistake(
          "%s needs the arguments, which are bound behind security: %s"
              .formatted(source.written(), APART));
    }
  }

  private ConfigurationException mistake(String remedy) {
    return said.orElseThrow().error(MEMBER, true, remedy);
  }
}
