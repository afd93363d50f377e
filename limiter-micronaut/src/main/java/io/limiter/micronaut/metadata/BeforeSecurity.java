// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.micronaut.plan.Condition;
import io.limiter.micronaut.plan.DuplicateGuard;
import io.limiter.micronaut.plan.PlannedCharge;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.context.exceptions.ConfigurationException;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Determines whether the calls of a method are decided before security. All its limits are one
 * decision, so one annotation applies to all of them, and none may depend on anything that is known
 * only later.
 */
final class BeforeSecurity {

  private static final String MEMBER = "beforeSecurity";
  private static final String APART =
      "count the address or a header, or put this limit on a method that the route calls";

  private Optional<AnnotationMembers> requestedBy = Optional.empty();

  void add(AnnotationMembers limiter) {
    if (requestedBy.isEmpty() && limiter.isTrue(MEMBER)) {
      requestedBy = Optional.of(limiter);
    }
  }

  /** Whether an annotation asks for it, even by mistake. */
  boolean isRequested() {
    return requestedBy.isPresent();
  }

  /**
   * @param gate whether the gate decides; only the gate runs before security
   * @throws ConfigurationException if it was requested but is not possible
   */
  boolean holds(
      @Nullable LimitedMethod method,
      List<PlannedCharge> quotas,
      Optional<DuplicateGuard> guard,
      boolean gate) {
    if (requestedBy.isEmpty()) {
      return false;
    }
    if (method == null || !method.isRoute()) {
      throw mistake("security protects only routes, and this method is not a route: remove it");
    }
    if (!gate) {
      throw mistake(
          "with limiter.gate.enabled = false all calls are decided around the method, after security: enable the gate, or remove it");
    }
    Stream.concat(
            quotas.stream().map(PlannedCharge::source),
            guard.stream().map(DuplicateGuard::submitter))
        .forEach(this::requireKnown);
    if (quotas.stream().anyMatch(quota -> quota.cost().needsArguments())) {
      throw mistake(
          "the cost depends on the arguments, which are bound after security: give a number");
    }
    if (quotas.stream().anyMatch(PlannedCharge::isConditionalByArguments)
        || guard.flatMap(DuplicateGuard::condition).filter(Condition::needsArguments).isPresent()) {
      throw mistake(
          "the condition depends on the arguments, which are bound after security: name a bean of type LimitCondition");
    }
    if (guard.filter(each -> each.submission().needsArguments()).isPresent()) {
      throw mistake(
          "duplicates are found by the arguments, which are bound after security: write duplicate = @Duplicate(by = DuplicateBy.CALLER), or IDEMPOTENCY_KEY");
    }
    return true;
  }

  private void requireKnown(SubjectSource source) {
    if (source instanceof SubjectSource.User) {
      throw mistake(
          "%s counts the user, who is known only after security: %s"
              .formatted(source.written(), APART));
    }
    if (source instanceof SubjectSource.Submitter) {
      throw mistake(
          "where all calls are counted together, duplicates are found by the user, who is known only after security: put preventDuplicate on a @RateLimiter that counts the address or a header");
    }
    if (source.needsArguments()) {
      throw mistake(
          "%s needs the arguments, which are bound after security: %s"
              .formatted(source.written(), APART));
    }
  }

  private ConfigurationException mistake(String remedy) {
    return requestedBy.orElseThrow().error(MEMBER, true, remedy);
  }
}
