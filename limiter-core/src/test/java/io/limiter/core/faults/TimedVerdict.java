// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import io.limiter.core.Verdict;
import io.limiter.core.testing.Pauses;
import java.time.Duration;
import java.util.Optional;

/**
 * One call of a load, by the caller's own clock ({@link System#nanoTime}).
 *
 * @param subject the subject of the call
 * @param verdict empty if the call failed instead
 */
record TimedVerdict(String subject, long sent, long answered, Optional<Verdict> verdict) {

  /** Without the pauses of this machine. */
  Duration latency() {
    return Pauses.without(sent, answered);
  }
}
