// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import java.util.Set;

/**
 * The policies of annotated methods, by their names, for code that reads or changes their counts.
 *
 * <pre>{@code
 * limiter.peek(policies.get("login").forSubject("alice"));
 * limiter.reset(policies.get("login").forSubject("alice"));
 * }</pre>
 *
 * <p>While {@code limiter.enabled} is false there are no policies: every name gives one that admits
 * all calls. A bean of the application takes the place of the limiter's own.
 */
public interface LimitPolicies {

  /**
   * Returns a policy.
   *
   * @param name its name in the annotation; if that gives none, the method's class, name and
   *     parameter types, as in {@code com.example.Codes.send(java.lang.String)}
   * @throws IllegalArgumentException if no policy has this name; the message lists the nearest ones
   */
  LimitedPolicy get(String name);

  /** The names of all policies, sorted. */
  Set<String> names();

  /**
   * Reads the configuration again, as a {@code RefreshEvent} does, and applies it if it is valid.
   * Counters keep their values, unless the algorithm, a window or the number of rules changes,
   * which is a warning. Takes milliseconds: do not call it on an event loop.
   *
   * @return whether it was applied; otherwise the mistake was logged, and nothing has changed
   */
  boolean refresh();
}
