// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.Policy;
import io.limiter.core.util.NearestNames;
import io.limiter.micronaut.config.FixedSettings;
import io.limiter.micronaut.config.LimitSettings;
import io.limiter.micronaut.config.LimiterConfiguration.GateConfiguration;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.config.SettingSources;
import io.limiter.micronaut.config.SettingsRefresh;
import io.limiter.micronaut.definition.MemberSet;
import io.limiter.micronaut.definition.Origin;
import io.limiter.micronaut.definition.PolicyDefinition;
import io.limiter.micronaut.definition.PolicyMember;
import io.limiter.micronaut.plan.PlanGeneration;
import io.limiter.micronaut.plan.PlanListener;
import io.limiter.micronaut.plan.PlanRegistry;
import io.limiter.micronaut.thread.CallerThreads;
import io.limiter.micronaut.thread.Continuations;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.env.Environment;
import io.micronaut.context.env.PropertySource;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.context.event.StartupEvent;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.order.Ordered;
import io.micronaut.runtime.context.scope.refresh.RefreshEvent;
import jakarta.inject.Singleton;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks the settings of policies, at the start and whenever they are refreshed.
 *
 * <p>It stops the start if there are settings for a policy that does not exist: the intended policy
 * would silently lack them, which might only show while Redis is away. A policy from code is known
 * if it is a bean.
 */
@Singleton
final class ConfiguredPolicies implements ApplicationEventListener<StartupEvent>, Ordered {

  /** The settings of a policy that comes from code, such as a failure counter. */
  private static final Set<String> OF_CODE = Set.of("fallback", "deadline", "deny-cache");

  /** Maximum number of names that a message lists. */
  private static final int MAX_LISTED = 20;

  private final PoliciesConfiguration configured;
  private final PlanRegistry plans;
  private final GateConfiguration gate;
  private final ApplicationContext context;

  ConfiguredPolicies(
      PoliciesConfiguration configured,
      PlanRegistry plans,
      GateConfiguration gate,
      ApplicationContext context) {
    this.configured = configured;
    this.gate = gate;
    this.plans = plans;
    this.context = context;
  }

  @Override
  public int getOrder() {
    return SettingsRefresh.CHECK_ORDER;
  }

  @Override
  public void onApplicationEvent(StartupEvent started) {
    LimitSettings settings = configured.current();
    plans.planExceptionHandlers();
    Set<String> names = check(settings, plans.current());
    plans.limitRoutes();
    configured.prepare(settings, names).run();
  }

  /**
   * Requires that there is a policy, and a rule, for each setting, and a gate for each route.
   *
   * @param settings those by which the plans are made
   * @return the names of all policies that settings may change
   */
  Set<String> check(LimitSettings settings, PlanGeneration planned) {
    List<PolicyDefinition> written = new ArrayList<>();
    settings.policies().forEach(policy -> written.add(settings.of(policy)));
    for (String tier : settings.tiers()) {
      settings.policiesIn(tier).forEach(policy -> written.add(settings.of(tier, policy)));
    }
    Set<String> names = planned.policyNames();
    Set<String> ofCode = new TreeSet<>();
    if (!settings.unusedVariables().isEmpty()
        || !planned.unused().isEmpty()
        || !written.stream().map(PolicyDefinition::name).allMatch(names::contains)) {
      // A name is doubtful. Only now, since this inspects every bean: those of factories, which are
      // planned late, and the policies that are beans.
      plans.planAll(planned);
      names.addAll(planned.policyNames());
      names.removeAll(planned.unused());
      context.getBeansOfType(Policy.class).forEach(policy -> ofCode.add(policy.name()));
      ofCode.removeAll(names);
      names.addAll(ofCode);
      names.addAll(planned.unused());
    }
    for (PolicyDefinition policy : written) {
      if (!names.contains(policy.name())) {
        throw unknown(policy, names);
      }
      if (ofCode.contains(policy.name())) {
        rejectForCode(policy);
      } else if (!policy.members().isFalse(PolicyMember.ENABLED)) {
        policy.changes().forEach((rule, some) -> requireRule(policy.name(), rule, some, planned));
      }
    }
    names.forEach(policy -> settings.of(policy)); // so that their variables are known
    if (!settings.routes().isEmpty() && !gate.enabled()) {
      throw settings
          .routes()
          .get(0)
          .path()
          .mistake(
              "only the gate limits paths, and limiter.gate.enabled is false: enable it, or remove the routes");
    }
    return names;
  }

  private static ConfigurationException unknown(PolicyDefinition settings, Set<String> known) {
    List<String> nearest = NearestNames.of(known, settings.name());
    return settings.settings().stream()
        .findFirst()
        .orElseGet(() -> new Origin(settings.members().place(), "unlimited", "settings"))
        .mistake(
            "no policy is named '%s': %suse one of %s, set this name on a @RateLimiter, define its rules or duplicate.enabled here, or, for a policy from code, make it a bean of type %s"
                .formatted(
                    settings.name(),
                    nearest.isEmpty() ? "" : "did you mean " + nearest.get(0) + "? Else ",
                    listed(known),
                    Policy.class.getName()));
  }

  /** Rejects settings that a policy from code cannot have: that code itself decides them. */
  private static void rejectForCode(PolicyDefinition settings) {
    for (Origin setting : settings.settings()) {
      String member = setting.key().substring(setting.key().lastIndexOf('.') + 1);
      if (!OF_CODE.contains(member)) {
        throw setting.mistake(
            member.equals(PolicyMember.OBSERVE.path())
                ? "only policies of annotated methods are observed by configuration, and this one comes from code: remove it, and use request.observe() there"
                : "this policy comes from code, which only fallback, deadline and deny-cache can change: remove it");
      }
    }
  }

  /** Each setting of a single rule must be that of some rule. */
  private static void requireRule(
      String policy, String rule, MemberSet some, PlanGeneration planned) {
    Set<String> names = planned.ruleNames(policy);
    if (!names.contains(rule)) {
      throw some.origins()
          .iterator()
          .next()
          .mistake(
              names.isEmpty()
                  ? "the policy '%s' has no rules of its own that a single setting could change: set a list of rules"
                      .formatted(policy)
                  : "the policy '%s' has no rule '%s': use one of %s"
                      .formatted(policy, rule, String.join(", ", names)));
    }
  }

  /** A policy without its own name has that of its method, which is long. */
  private static String listed(Set<String> names) {
    Set<String> given =
        names.stream().filter(name -> name.indexOf('(') < 0).collect(Collectors.toSet());
    return given.isEmpty()
        ? "the default names, class.name(parameter types), since no policy has a name of its own"
        : given.stream().sorted().limit(MAX_LISTED).collect(Collectors.joining(", "));
  }

  /**
   * Uses changed settings of policies without a restart, all of them or none. Existing counts
   * continue under the new rules, unless the shape of the rules changes. A call in flight ends
   * under the plan with which it began.
   */
  @Singleton
  static final class PoliciesRefresh
      implements ApplicationEventListener<RefreshEvent>, SettingsRefresh {

    private static final Logger LOG = LoggerFactory.getLogger(PoliciesRefresh.class);

    private final FixedSettings fixed;
    private final PoliciesConfiguration configuration;
    private final ConfiguredPolicies policies;
    private final PlanRegistry plans;
    private final List<PlanListener> listeners;
    private volatile Map<String, String> shared = Map.of();
    private volatile Map<String, String> own = Map.of();
    private final CallerThreads threads;
    private final Continuations executor;

    PoliciesRefresh(
        FixedSettings fixed,
        PoliciesConfiguration configuration,
        ConfiguredPolicies policies,
        PlanRegistry plans,
        List<PlanListener> listeners,
        CallerThreads threads,
        Continuations executor) {
      this.fixed = fixed;
      this.configuration = configuration;
      this.policies = policies;
      this.plans = plans;
      this.listeners = listeners;
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
    public synchronized Optional<String> refresh() {
      return refresh(SettingSources::whole, shared, own);
    }

    @Override
    public synchronized Optional<String> refresh(Map<String, String> all) {
      return refresh(SettingSources::of, all, own);
    }

    @Override
    public synchronized Optional<String> set(String name, String value) {
      Map<String, String> more = new HashMap<>(own);
      more.put(name, value);
      return refresh(SettingSources::of, shared, more);
    }

    private Optional<String> refresh(
        BiFunction<Environment, List<PropertySource>, SettingSources> reader,
        Map<String, String> all,
        Map<String, String> mine) {
      try {
        SettingSources sources =
            reader.apply(policies.context.getEnvironment(), configuration.current().sources());
        fixed.check(sources);
        LimitSettings read = configuration.read(sources, all, mine);
        PlanGeneration before = plans.current();
        plans.replan(read, planned -> configuration.prepare(read, policies.check(read, planned)));
        shared = Map.copyOf(all);
        own = Map.copyOf(mine);
        listeners.forEach(listener -> listener.changed(before, plans.current()));
        fixed.logChangedSinceStart();
        LOG.info("The limits of the refreshed configuration are in effect");
        return Optional.empty();
      } catch (RuntimeException mistake) {
        LOG.error(
            "The refreshed configuration is invalid, so all limits remain unchanged: {}",
            mistake.getMessage(),
            mistake);
        return Optional.of(Objects.requireNonNullElse(mistake.getMessage(), mistake.toString()));
      }
    }
  }
}
