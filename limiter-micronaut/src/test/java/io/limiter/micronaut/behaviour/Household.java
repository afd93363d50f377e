// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import org.jspecify.annotations.Nullable;

/** A bean that an expression asks: what stands before a dot is the household. */
@Singleton
@Requires(property = "spec.name", value = SubjectsTest.SubjectRoutes.SPEC)
class Household {

  public @Nullable String of(@Nullable String who) {
    return who == null ? null : who.substring(0, who.indexOf('.'));
  }
}
