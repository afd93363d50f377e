// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.micronaut.core.annotation.Internal;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * What a feature shows: in the health of the limiter, at the endpoint {@code limits}, and as
 * meters. Each bean of this type is asked, by any thread.
 */
@Internal
public interface EndpointPart {

  /** Adds its details to the health of the limiter. */
  default void health(Map<String, Object> details) {}

  /** Adds to the view of all policies at the endpoint {@code limits}. */
  default void all(Map<String, Object> view) {}

  /** Adds to the view of a policy at the endpoint {@code limits}. */
  default void policy(LimitedPolicy policy, Map<String, Object> view) {}

  /** Adds its meters. Called once, when the store exists. */
  default void meters(Meters meters) {}

  /** Adds meters without a library for them. Tags are names and values in turn. */
  interface Meters {

    /** Adds a number that may fall. */
    void gauge(String name, String description, LongSupplier now, String... tags);

    /** Adds a number that counts from the start of the process on. */
    void count(String name, String description, LongSupplier now, String... tags);
  }
}
