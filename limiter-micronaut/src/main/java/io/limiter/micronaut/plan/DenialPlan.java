// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.micronaut.core.annotation.Internal;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What becomes of the calls of one method that its limits refuse: an exception says so; or the
 * method is called and told, where it has a parameter for the verdict; or they pass, where the
 * policy is only observed. Then the log tells how many it would have refused, at most once in ten
 * seconds, and not whom.
 */
@Internal
public final class DenialPlan {

  private static final Logger LOG = LoggerFactory.getLogger(DenialPlan.class);
  private static final long INTERVAL_NANOS = Duration.ofSeconds(10).toNanos();

  private final String policy;
  private final boolean observed;
  private final boolean takesVerdict;
  private final AtomicLong unreported = new AtomicLong();
  private final AtomicLong nextReport = new AtomicLong(System.nanoTime());

  /**
   * @param policy the policy's name
   * @param observed whether it is only observed
   * @param takesVerdict whether the method has a parameter for the verdict
   */
  public DenialPlan(String policy, boolean observed, boolean takesVerdict) {
    this.policy = policy;
    this.observed = observed;
    this.takesVerdict = takesVerdict;
  }

  boolean takesVerdict() {
    return takesVerdict;
  }

  boolean observed() {
    return observed;
  }

  /** Whether a call may enter the method on this verdict. */
  boolean admit(Verdict verdict) {
    if (observed && wouldRefuse(verdict)) {
      report();
    }
    return verdict.allowed() || observed || takesVerdict;
  }

  private static boolean wouldRefuse(Verdict verdict) {
    return !verdict.allowed()
        || verdict.rules().stream().anyMatch(RuleVerdict::violated)
        || verdict.duplicate().filter(RuleVerdict::violated).isPresent();
  }

  private void report() {
    unreported.incrementAndGet();
    long now = System.nanoTime();
    long due = nextReport.get();
    if (now - due >= 0 && nextReport.compareAndSet(due, now + INTERVAL_NANOS)) {
      LOG.info(
          "The policy '{}' is only observed. Calls that it would have refused since the last message: {}",
          policy,
          unreported.getAndSet(0));
    }
  }
}
