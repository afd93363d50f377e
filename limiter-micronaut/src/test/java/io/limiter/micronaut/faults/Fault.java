// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.faults;

import io.limiter.core.faults.FaultBench;
import java.time.Duration;

/** What makes a Redis silent. */
enum Fault {
  /** SIGSTOP: its connections stay open. */
  STOPPED(FaultBench.HEALED) {
    @Override
    void begin(LimitedService service) {
      service.redis.suspend();
    }

    @Override
    void end(LimitedService service) {
      service.redis.resume();
    }
  },

  /**
   * No packet comes back, on connections that are opened meanwhile either: those are given up after
   * three seconds.
   */
  BLACK_HOLE(FaultBench.HEALED.plusSeconds(3)) {
    @Override
    void begin(LimitedService service) {
      service.proxy.blackHole();
    }

    @Override
    void end(LimitedService service) {
      service.proxy.pass();
    }
  };

  /** Time after its end within which Redis decides again. */
  final Duration healed;

  Fault(Duration healed) {
    this.healed = healed;
  }

  abstract void begin(LimitedService service);

  abstract void end(LimitedService service);
}
