// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.Policy;
import io.limiter.core.rule.Rule;
import io.limiter.core.util.NearestNames;
import io.limiter.micronaut.config.LimitSettings;
import io.limiter.micronaut.config.LimiterConfiguration.GateConfiguration;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.config.PolicySettings;
import io.limiter.micronaut.config.PolicySettings.PolicySetting;
import io.limiter.micronaut.config.SettingsRefresh;
import io.limiter.micronaut.event.EventPublisher;
import io.limiter.micronaut.plan.LimitPlans;
import io.limiter.micronaut.thread.CallerThreads;
import io.limiter.micronaut.thread.Continuations;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.context.event.StartupEvent;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.runtime.context.scope.refresh.RefreshEvent;
import jakarta.inject.Singleton;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
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

  /**
   * Stops the start if there are settings for a policy that does not exist: the intended policy
   * would silently lack them, which might only show while Redis is away. A policy from code is
   * known if it is a bean.
   */
  @Singleton
  static final class ConfiguredPolicies implements ApplicationEventListener<StartupEvent> {

    /** The settings of a policy that comes from code, such as a failure counter. */
    private static final Set<String> OF_CODE = Set.of("fallback", "deadline", "deny-cache");

    /** Maximum number of names that a message lists. */
    private static final int MAX_LISTED = 20;

    private final PoliciesConfiguration configured;
    private final LimitPlans plans;
    private final GateConfiguration gate;
    private final ApplicationContext context;

    ConfiguredPolicies(
        PoliciesConfiguration configured,
        LimitPlans plans,
        GateConfiguration gate,
        ApplicationContext context) {
      this.configured = configured;
      this.gate = gate;
      this.plans = plans;
      this.context = context;
    }

    @Override
    public void onApplicationEvent(StartupEvent started) {
      check(configured.current(), plans.policyNames(), plans::ruleNames);
      plans.limitRoutes();
    }

    /**
     * Requires that there is a policy, and a rule, for each setting, and a gate for each route.
     *
     * @param settings those by which the plans are made
     * @param policies the names of the policies that are planned
     * @param rules the names of the rules of a policy
     */
    void check(LimitSettings settings, Set<String> policies, Function<String, Set<String>> rules) {
      check(settings.policies(), policies, rules);
      settings
          .tiers()
          .tiers()
          .values()
          .forEach(
              own ->
                  own.forEach(
                      (policy, tier) -> {
                        if (!policies.contains(policy) && !plans.policyNames().contains(policy)) {
                          throw unknown(policy, tier.setting(), allNames());
                        }
                        if (tier.rules().isEmpty()) {
                          requireRules(policy, PolicySettings.NONE.in(tier), rules.apply(policy));
                        }
                      }));
      if (!settings.routes().isEmpty() && !gate.decides()) {
        throw settings
            .routes()
            .get(0)
            .path()
            .mistake(
                "only the gate limits paths, and limiter.gate.enabled is false: enable it, or remove the routes");
      }
    }

    private void check(
        Map<String, PolicySettings> settings,
        Set<String> policies,
        Function<String, Set<String>> rules) {
      Map<String, PolicySettings> unknown = new TreeMap<>(settings);
      unknown.keySet().removeAll(policies);
      if (!unknown.isEmpty()) {
        Set<String> known = allNames();
        unknown.keySet().removeAll(known);
        unknown.forEach(
            (policy, some) -> {
              throw unknown(policy, some.all().get(0), known);
            });
      }
      settings.forEach(
          (policy, some) -> {
            if (!policies.contains(policy) && !plans.policyNames().contains(policy)) {
              rejectForCode(some);
            }
            if (some.enabled() && !some.changedRules().isEmpty()) {
              requireRules(policy, some, rules.apply(policy));
            }
          });
    }

    private static ConfigurationException unknown(
        String policy, PolicySetting setting, Set<String> known) {
      List<String> nearest = NearestNames.of(known, policy);
      return setting.mistake(
          "no policy is named '%s': %suse one of %s, give a @RateLimiter this name, give it rules here, or, for a policy from code, make it a bean of type %s"
              .formatted(
                  policy,
                  nearest.isEmpty() ? "" : "did you mean " + nearest.get(0) + "? Else ",
                  listed(known),
                  Policy.class.getName()));
    }

    /** Rejects settings that a policy from code cannot have: that code itself decides them. */
    private static void rejectForCode(PolicySettings settings) {
      for (PolicySetting setting : settings.all()) {
        String member = setting.key().substring(setting.key().lastIndexOf('.') + 1);
        if (!OF_CODE.contains(member)) {
          throw setting.mistake(
              member.equals("observe")
                  ? "only policies of annotated methods are observed by configuration, and this one comes from code: remove it, and use request.observe() there"
                  : "this policy comes from code, which only fallback, deadline and deny-cache can change: remove it");
        }
      }
    }

    /** Each setting of a single rule must be that of some rule. */
    private static void requireRules(String policy, PolicySettings settings, Set<String> rules) {
      settings
          .changedRules()
          .forEach(
              (rule, setting) -> {
                if (rules.stream().noneMatch(name -> PolicySettings.isSameRule(rule, name))) {
                  throw setting.mistake(
                      rules.isEmpty()
                          ? "the policy '%s' has no rules of its own that a single setting could change: give it a list of rules"
                              .formatted(policy)
                          : "the policy '%s' has no rule '%s': use one of %s"
                              .formatted(policy, rule, String.join(", ", rules)));
                }
              });
    }

    /**
     * All names, including those of factories' beans, which are planned late, and of policies that
     * are beans. It inspects every bean, so it is used only if a name is doubtful.
     */
    private Set<String> allNames() {
      plans.planAll(context);
      Set<String> names = plans.policyNames();
      context.getBeansOfType(Policy.class).forEach(policy -> names.add(policy.name()));
      return names;
    }

    /** A policy without its own name has that of its method, which is long. */
    private static String listed(Set<String> names) {
      Set<String> given =
          names.stream().filter(name -> name.indexOf('(') < 0).collect(Collectors.toSet());
      return given.isEmpty()
          ? "the methods' (class.name(parameter types), as no policy has been given another)"
          : given.stream().sorted().limit(MAX_LISTED).collect(Collectors.joining(", "));
    }
  }
}
