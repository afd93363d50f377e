// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.StateKey;
import io.limiter.core.redis.RedisScripts;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.util.LogThrottle;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The overrides that hold on this instance, as they were last read from an {@link OverrideTable}.
 * Without overrides, a decision costs one additional field read.
 */
@Singleton
@OverridesConfiguration.Enabled
final class OverridesInForce {

  /** The most stacks of one subject that are kept; others are created at each call. */
  private static final int MAX_STACKS = 16;

  private static final Logger LOG = LoggerFactory.getLogger(OverridesInForce.class);

  private final Function<StateKey, String> tags;
  private volatile Map<String, InForce> inForce = Map.of();

  @Inject
  OverridesInForce(@Nullable RedisScripts redis) {
    this(redis == null ? StateKey::tag : redis::tag);
  }

  /**
   * @param tags finds the tag of the subject of a state key, see {@link OverrideTable#tag}
   */
  OverridesInForce(Function<StateKey, String> tags) {
    this.tags = tags;
  }

  /**
   * An override with the System.nanoTime() at which it ends, and the stacks that it has changed.
   */
  private record InForce(
      SubjectOverride override, long endNanos, Map<RuleStack, RuleStack> stacks) {

    boolean holds(long nowNanos) {
      return endNanos - nowNanos > 0;
    }

    RuleStack change(RuleStack stack, Map<String, String> codeNames) {
      RuleStack known = stacks.get(stack);
      if (known == null) {
        known = changed(stack, codeNames);
        if (stacks.size() < MAX_STACKS) {
          stacks.put(stack, known);
        }
      }
      return known;
    }

    private RuleStack changed(RuleStack stack, Map<String, String> codeNames) {
      try {
        return override.change(stack, codeNames);
      } catch (IllegalArgumentException impossible) {
        // It was put there by other means, or for rules that have changed since.
        LOG.warn(
            "An override of the policy '{}' is ignored: {}",
            LogThrottle.oneLine(override.policy(), Rule.MAX_NAME), // as stored
            impossible.getMessage());
        return stack;
      }
    }
  }

  /** Replaces the overrides that hold. */
  void use(List<SubjectOverride> overrides) {
    long nowNanos = System.nanoTime();
    Map<String, InForce> before = inForce;
    Map<String, InForce> next = new HashMap<>();
    for (SubjectOverride override : overrides) {
      InForce known = before.get(override.tag());
      Map<RuleStack, RuleStack> stacks =
          known != null && known.override.counts().equals(override.counts())
              ? known.stacks
              : new ConcurrentHashMap<>();
      next.put(override.tag(), new InForce(override, nowNanos + override.left().toNanos(), stacks));
    }
    inForce = next;
  }

  /** The overrides that hold now. */
  List<SubjectOverride> all() {
    long nowNanos = System.nanoTime();
    return inForce.values().stream()
        .filter(each -> each.holds(nowNanos))
        .map(each -> each.override.withLeft(Duration.ofNanos(each.endNanos - nowNanos)))
        .toList();
  }

  /** The charges that apply to a request; null if they are its own. */
  @Nullable List<Charge> changed(LimitRequest request) {
    Map<String, InForce> overrides = inForce;
    if (overrides.isEmpty()) {
      return null;
    }
    List<Charge> charges = request.charges();
    List<Charge> changed = null;
    long nowNanos = System.nanoTime();
    for (int c = 0; c < charges.size(); c++) {
      Charge charge = charges.get(c);
      InForce found = overrides.get(tags.apply(charge.key()));
      if (found == null || !found.holds(nowNanos)) {
        if (changed != null) {
          changed.add(charge);
        }
        continue;
      }
      if (changed == null) {
        changed = new ArrayList<>(charges.subList(0, c));
      }
      if (!found.override.unlimited()) {
        RuleStack stack = found.change(charge.stack(), request.policy().codeNames());
        changed.add(
            new Charge(charge.limit(), charge.key(), stack, charge.cost(), charge.observed()));
      }
    }
    return changed;
  }
}
