// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.core.rule.Rule;
import io.limiter.micronaut.plan.LimitPlan;
import io.micronaut.core.annotation.Internal;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;

/**
 * Reports subjects that come near a limit, once for each rule and period: until the end of the
 * window, or until the rule would be replenished without further calls.
 */
@Internal
@Singleton
public final class LimitWarnings {

  /**
   * The most subjects and rules whose warnings are remembered, some 200 bytes each. Beyond that the
   * oldest is forgotten, so that its subject may be reported again.
   */
  static final int MAX_REMEMBERED = 20_000;

  /**
   * A subject has come near the limit of a rule.
   *
   * @param policy the policy of the rule
   * @param method the method that was called
   * @param charge what the call was charged, which names the subject
   * @param rule the state of the rule after the call
   */
  public record Warning(String policy, String method, Charge charge, RuleVerdict rule) {}

  /**
   * Receives each warning. Runs on the thread to which the decision returns, often an event loop:
   * it must not block or throw.
   */
  public interface WarningListener {

    /** A subject has come near a limit. */
    void warned(Warning warning);
  }

  /** A subject under a limit key, and the name of a rule. */
  private record Warned(String tag, String rule) {}

  private final List<WarningListener> listeners;
  private final LongSupplier nanos;

  /** When the periods end for which subjects were reported; oldest report first. */
  private final Map<Warned, Long> ends = new LinkedHashMap<>();

  @Inject
  LimitWarnings(List<WarningListener> listeners) {
    this(listeners, System::nanoTime);
  }

  /**
   * @param nanos a monotonic clock in nanoseconds
   */
  LimitWarnings(List<WarningListener> listeners, LongSupplier nanos) {
    this.listeners = List.copyOf(listeners);
    this.nanos = nanos;
  }

  /** A call was decided by a plan that {@linkplain LimitPlan#warns warns}. */
  void decided(LimitPlan plan, LimitRequest asked, Verdict verdict) {
    List<RuleVerdict> rules = verdict.rules();
    for (int r = 0; r < rules.size(); r++) {
      RuleVerdict rule = rules.get(r);
      if (rule.nearLimit()) {
        report(plan, charge(asked, rule.rule()), rule);
      }
    }
  }

  /** The rules of a plan have different names, and keep them under other counts. */
  private static Charge charge(LimitRequest asked, Rule near) {
    for (Charge charge : asked.charges()) {
      for (Rule rule : charge.stack().rules()) {
        if (rule.name().equals(near.name())) {
          return charge;
        }
      }
    }
    throw new IllegalStateException("No charge of the call has the rule " + near);
  }

  private void report(LimitPlan plan, Charge charge, RuleVerdict rule) {
    if (!begins(new Warned(charge.key().tag(), rule.rule().name()), rule)) {
      return;
    }
    Warning warning = new Warning(plan.policyOf(rule.rule()).name(), plan.method(), charge, rule);
    for (WarningListener listener : listeners) {
      listener.warned(warning);
    }
  }

  private boolean begins(Warned warned, RuleVerdict rule) {
    long now = nanos.getAsLong();
    synchronized (ends) {
      Long end = ends.get(warned);
      if (end != null && end - now > 0) {
        return false;
      }
      ends.remove(warned); // to be the youngest
      ends.put(warned, now + rule.resetAfter().toNanos());
      if (ends.size() > MAX_REMEMBERED) {
        ends.remove(ends.keySet().iterator().next());
      }
      return true;
    }
  }
}
