// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.rule.Rule;
import io.limiter.micronaut.config.LimitSettings;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.config.SettingsRefresh;
import io.limiter.micronaut.event.EventPublisher;
import io.limiter.micronaut.plan.LimitPlans;
import io.limiter.micronaut.thread.CallerThreads;
import io.limiter.micronaut.thread.Continuations;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.runtime.context.scope.refresh.RefreshEvent;
import jakarta.inject.Singleton;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Uses changed settings of policies without a restart, all of them or none. Counters go on: what
 * was counted by the old rules counts by the new ones. A call in flight ends by the plan that it
 * began with.
 */
@Singleton
final class PoliciesRefresh implements ApplicationEventListener<RefreshEvent>, SettingsRefresh {

  private static final Logger LOG = LoggerFactory.getLogger(PoliciesRefresh.class);

  private final PoliciesConfiguration configuration;
  private final ConfiguredPolicies policies;
  private final LimitPlans plans;
  private final StartNotes notes;
  private final EventPublisher events;
  private volatile Map<String, String> shared = Map.of();
  private volatile Map<String, String> own = Map.of();
  private final CallerThreads threads;
  private final Continuations executor;

  PoliciesRefresh(
      PoliciesConfiguration configuration,
      ConfiguredPolicies policies,
      LimitPlans plans,
      StartNotes notes,
      EventPublisher events,
      CallerThreads threads,
      Continuations executor) {
    this.configuration = configuration;
    this.policies = policies;
    this.plans = plans;
    this.notes = notes;
    this.events = events;
    this.threads = threads;
    this.executor = executor;
  }

  /** Returns once the new settings are in use, unless it is called on an event loop. */
  @Override
  public void onApplicationEvent(RefreshEvent event) {
    if (threads.mustNotBlock()) {
      executor.run(this::refresh);
    } else {
      var unused = refresh();
    }
  }

  @Override
  public synchronized boolean refresh() {
    return refresh(shared);
  }

  @Override
  public synchronized boolean refresh(Map<String, String> all) {
    return refresh(all, own);
  }

  @Override
  public synchronized boolean set(String name, String value) {
    Map<String, String> more = new HashMap<>(own);
    more.put(name, value);
    return refresh(shared, more);
  }

  private boolean refresh(Map<String, String> all, Map<String, String> mine) {
    try {
      LimitSettings read = configuration.read(all, mine);
      Map<String, List<Rule>> before = plans.rules();
      plans.replan(read, (names, rules) -> policies.check(read, names, rules));
      configuration.use(read);
      shared = Map.copyOf(all);
      own = Map.copyOf(mine);
      notes.settings(read);
      publish(before, plans.rules());
      LOG.info("The limits are those of the refreshed configuration");
      return true;
    } catch (RuntimeException mistake) {
      LOG.error(
          "The refreshed configuration makes no sense, so all limits stay as they are: {}",
          mistake.getMessage(),
          mistake);
      return false;
    }
  }

  private void publish(Map<String, List<Rule>> before, Map<String, List<Rule>> after) {
    Stream.concat(before.keySet().stream(), after.keySet().stream())
        .distinct()
        .sorted()
        .forEach(
            policy -> {
              List<Rule> old = before.getOrDefault(policy, List.of());
              List<Rule> now = after.getOrDefault(policy, List.of());
              if (!old.equals(now)) {
                events.policyChanged(policy, "The configuration was refreshed", old, now);
              }
            });
  }
}
