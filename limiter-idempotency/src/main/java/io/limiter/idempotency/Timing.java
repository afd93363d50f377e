// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import java.util.concurrent.Future;

/** The clock and the timer of claims. Tests have their own. */
interface Timing {

  /** A monotonic clock in nanoseconds, which is not near its overflow. */
  long nanos();

  /** Runs a task once, after a delay in nanoseconds, on a thread that the task must not block. */
  Future<?> schedule(Runnable task, long nanos);
}
