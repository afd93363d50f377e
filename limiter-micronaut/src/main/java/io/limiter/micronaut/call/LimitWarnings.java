// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import static java.util.concurrent.TimeUnit.MICROSECONDS;
import static java.util.concurrent.TimeUnit.MILLISECONDS;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.core.rule.Rule;
import io.limiter.micronaut.plan.LimitPlan;
import io.micronaut.core.annotation.Internal;
import jakarta.inject.Singleton;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

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

  /**
   * When the periods end for which subjects were reported, in microseconds on the clock of the
   * store; oldest report first.
   */
  private final Map<Warned, Long> ends = new LinkedHashMap<>();

  LimitWarnings(List<WarningListener> listeners) {
    this.listeners = List.copyOf(listeners);
  }

  /** A call was decided by a plan that {@linkplain LimitPlan#warns warns}. */
  void decided(LimitPlan plan, LimitRequest asked, Verdict verdict) {
    for (RuleVerdict rule : verdict.rules()) {
      if (rule.nearLimit()) {
        Charge charge = charge(asked, rule.rule());
        if (begins(new Warned(charge.key().tag(), rule.rule().name()), verdict, rule)) {
          report(new Warning(plan.policyOf(rule.rule()).name(), plan.method(), charge, rule));
        }
      }
    }
  }

  /** Forgets what was reported: for a test, whose clock begins again. */
  public void forget() {
    synchronized (ends) {
      ends.clear();
    }
  }

  /** The charge of a rule: those of a plan have different names, and keep them with an override. */
  private static Charge charge(LimitRequest asked, Rule near) {
    for (Charge charge : asked.charges()) {
      for (Rule rule : charge.stack().rules()) {
        if (rule.name().equals(near.name())) {
          return charge;
        }
      }
    }
    return asked.charge(0); // a store of the application may have rules of its own
  }

  private void report(Warning warning) {
    for (WarningListener listener : listeners) {
      listener.warned(warning);
    }
  }

  /** Whether it is the first time in its period. */
  private boolean begins(Warned warned, Verdict verdict, RuleVerdict rule) {
    long decided = verdict.decidedAtMicros();
    long now = decided > 0 ? decided : MILLISECONDS.toMicros(System.currentTimeMillis());
    synchronized (ends) {
      Long end = ends.get(warned);
      if (end != null && now < end) {
        return false;
      }
      ends.remove(warned); // to be the youngest
      ends.put(warned, now + MICROSECONDS.convert(rule.resetAfter()));
      if (ends.size() > MAX_REMEMBERED) {
        ends.remove(ends.keySet().iterator().next());
      }
      return true;
    }
  }
}
