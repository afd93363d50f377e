// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.core.rule.SlidingWindowLog;
import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.exception.DenialText;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.type.Argument;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The treatment of the calls of one method that its limits deny: an exception; or the method is
 * called with the verdict, where it has a parameter for that; or they pass, where the policy is
 * only observed. Then the log counts them at most once in ten seconds, without naming a subject.
 */
@Internal
public final class DenialPlan {

  /** Stands for the policy of a call that nothing limits; a policy needs a rule. */
  private static final Verdict UNLIMITED =
      Verdict.free(Policy.of("unlimited", SlidingWindowLog.of(1, Duration.ofSeconds(1))));

  private final String policy;
  private final boolean observed;
  private final boolean takesVerdict;
  private final LogThrottle throttle = new LogThrottle();

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

  /** The verdict on a call that nothing limits: it is allowed, and has no rules. */
  public static Verdict unlimited() {
    return UNLIMITED;
  }

  /** Whether one of these parameters of a method takes the verdict on its call. */
  public static boolean takeVerdict(Argument<?>[] arguments) {
    return Arrays.stream(arguments).anyMatch(DenialPlan::takesVerdict);
  }

  /** Whether this parameter takes the verdict on a call: whatever else is passed there. */
  public static boolean takesVerdict(Argument<?> argument) {
    return argument.getType() == Verdict.class;
  }

  /** Passes the verdict to the parameters that take it. */
  public static void passVerdict(
      Argument<?>[] arguments, @Nullable Object[] values, Verdict verdict) {
    for (int i = 0; i < arguments.length; i++) {
      if (takesVerdict(arguments[i])) {
        values[i] = verdict;
      }
    }
  }

  boolean takesVerdict() {
    return takesVerdict;
  }

  boolean observed() {
    return observed;
  }

  /** Counts a call of a policy that is only observed, if the policy would deny it. */
  void observe(Verdict verdict) {
    if (wouldDeny(verdict)) {
      report();
    }
  }

  private static boolean wouldDeny(Verdict verdict) {
    return !verdict.allowed()
        || verdict.rules().stream().anyMatch(RuleVerdict::violated)
        || verdict.duplicate().filter(RuleVerdict::violated).isPresent();
  }

  private void report() {
    long calls = throttle.count();
    if (calls > 0) {
      Observed.LOG.info(
          "The policy '{}' is only observed. Calls that it would have denied since the last message: {}",
          policy,
          calls);
    }
  }

  /**
   * The text that answers a denied call: that of the rule with the longest retry-after.
   *
   * @param texts by the names of rules
   * @param duplicates the guard, which has a text of its own
   */
  static DenialText text(
      Verdict verdict, Map<String, DenialText> texts, Optional<DuplicateGuard> duplicates) {
    if (verdict.outcome() == Outcome.BANNED) {
      return DenialText.NONE;
    }
    if (verdict.outcome() == Outcome.DUPLICATE) {
      return duplicates.isPresent() ? duplicates.get().text() : DenialText.NONE;
    }
    Optional<RuleVerdict> denying = texts.isEmpty() ? Optional.empty() : verdict.denying();
    return denying.isPresent()
        ? texts.getOrDefault(denying.get().rule().name(), DenialText.NONE)
        : DenialText.NONE;
  }

  /** Creates the log when it is first needed, which is never while a limit is compiled. */
  private static final class Observed {

    static final Logger LOG = LoggerFactory.getLogger(DenialPlan.class);
  }
}
