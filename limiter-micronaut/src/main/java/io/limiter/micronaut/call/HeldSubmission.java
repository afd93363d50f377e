// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.core.Reservation;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.thread.LimiterTimer;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A submission that is taken for a short time while its method runs. */
abstract class HeldSubmission extends Held {

  private static final Logger LOG = LoggerFactory.getLogger(HeldSubmission.class);

  private final LogThrottle lost;

  /**
   * @param lost bounds the messages about lost ones
   * @param claim how long it is taken without a renewal
   * @param longest how long its result would be kept: no method runs for as long
   */
  HeldSubmission(LimiterTimer timer, LogThrottle lost, Duration claim, Duration longest) {
    super(timer, claim, longest, () -> {});
    this.lost = lost;
  }

  /** It was not taken any more when it was renewed or when its method ended. */
  @Override
  void reportLost() {
    if (lost.count() == 0) {
      return;
    }
    LOG.warn(
        "A method has outlived its claim, so its answer is not kept, and its submission may have run twice: Redis was away for longer than the claim, this process was paused, or the key was reset. A longer claim (@Idempotent.claim, @Duplicate.claim) avoids that");
  }

  /** The duplicate guard of a call: taken for its claim, and kept for its time afterwards. */
  static final class HeldGuard extends HeldSubmission {

    private final Reservation reservation;
    private final Duration time;

    private HeldGuard(
        LimiterTimer timer, LogThrottle lost, Reservation reservation, RuleStack guard) {
      super(timer, lost, guard.claim(), guard.rules().get(0).window());
      this.reservation = reservation;
      this.time = guard.rules().get(0).window();
    }

    /** Renews the guard from now on. */
    static HeldGuard of(
        LimiterTimer timer, LogThrottle lost, Reservation reservation, RuleStack guard) {
      HeldGuard held = new HeldGuard(timer, lost, reservation, guard);
      held.schedule();
      return held;
    }

    @Override
    CompletionStage<Boolean> extend(Duration longer) {
      return reservation.hold(longer).thenApply(units -> units > 0);
    }

    /** Keeps the submission of a call that is over. */
    CompletionStage<Long> keep() {
      return reservation
          .hold(time)
          .thenApply(
              units -> {
                if (units == 0) {
                  reportLost();
                }
                return units;
              });
    }
  }
}
