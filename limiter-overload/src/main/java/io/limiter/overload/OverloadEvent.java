// SPDX-License-Identifier: Apache-2.0
package io.limiter.overload;

/**
 * This instance begins or ends to reject calls, as an application event of Micronaut. A listener is
 * called on a thread that may block, in order for each name.
 */
public sealed interface OverloadEvent {

  /** {@code http} for requests, else the name of a {@link LocalConcurrency}. */
  String name();

  /**
   * A call was rejected, or would have been, for the first time since the last end.
   *
   * @param name {@code http} for requests, else the name of a {@link LocalConcurrency}
   * @param limit the calls that may be in flight now
   */
  record OverloadBegan(String name, int limit) implements OverloadEvent {}

  /**
   * No call was rejected for ten seconds.
   *
   * @param name {@code http} for requests, else the name of a {@link LocalConcurrency}
   * @param shed the calls that were rejected since the begin, or would have been
   */
  record OverloadEnded(String name, long shed) implements OverloadEvent {}
}
