// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.limiter.micronaut.definition.MemberSet;
import io.limiter.micronaut.definition.PolicyDefinition;
import io.micronaut.core.annotation.Internal;
import java.util.function.Function;

/** The changes that settings make to policies, for all callers or for those of one tier. */
@Internal
@FunctionalInterface
public interface PolicyChanges {

  /** No settings, as for the compiler. */
  PolicyChanges NONE = (policy, nameOf) -> PolicyDefinition.of(policy.name(), "");

  /**
   * The change of a policy.
   *
   * @param policy the policy as annotated, whose rules variables may name
   * @param nameOf the name of a rule by its members
   */
  PolicyDefinition of(PolicyDefinition policy, Function<MemberSet, String> nameOf);
}
