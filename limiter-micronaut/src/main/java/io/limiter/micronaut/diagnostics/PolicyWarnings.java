// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.diagnostics;

import io.limiter.core.util.NearestNames;
import io.limiter.micronaut.annotation.Tiers;
import io.limiter.micronaut.config.CallerConfiguration.BlockConfiguration;
import io.limiter.micronaut.config.CallerConfiguration.ExemptConfiguration;
import io.limiter.micronaut.config.LimitKeys;
import io.limiter.micronaut.config.LimitSettings;
import io.limiter.micronaut.config.LimiterConfiguration.GateConfiguration;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.config.SettingsRefresh;
import io.limiter.micronaut.definition.PolicyDefinition;
import io.limiter.micronaut.definition.PolicyMember;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlanGeneration;
import io.limiter.micronaut.plan.PlanListener;
import io.limiter.micronaut.plan.PlanRegistry;
import io.micronaut.context.BeanContext;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.context.event.StartupEvent;
import io.micronaut.core.order.Ordered;
import io.micronaut.core.reflect.ClassUtils;
import jakarta.inject.Singleton;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Warns of policies and settings that are valid but may have no effect, at the start and after a
 * refresh, each once.
 *
 * <p>At the start it also logs what annotations leave open: which methods count only values that
 * clients choose, so that a client that sends another header or argument with each call is never
 * limited; and what the default of a duplicate guard compares. Either may be intended, for example
 * where a filter has verified the header before.
 */
@Singleton
final class PolicyWarnings
    implements ApplicationEventListener<StartupEvent>, PlanListener, Ordered {

  private static final Logger LOG = LoggerFactory.getLogger(PolicyWarnings.class);

  private static final String SECURITY = "io.micronaut.security.authentication.Authentication";

  /** The most warnings of one reading: one mistake can concern each of ten thousand routes. */
  private static final int MAX_WARNINGS = 100;

  private final PoliciesConfiguration configured;
  private final PlanRegistry plans;
  private final GateConfiguration gate;
  private final BeanContext context;

  /** The warnings that held the last time. */
  private volatile Set<String> logged = Set.of();

  PolicyWarnings(
      PoliciesConfiguration configured,
      PlanRegistry plans,
      GateConfiguration gate,
      BeanContext context) {
    this.configured = configured;
    this.plans = plans;
    this.gate = gate;
    this.context = context;
  }

  /** After the check of the settings, which limits routes. */
  @Override
  public int getOrder() {
    return SettingsRefresh.CHECK_ORDER + 1;
  }

  @Override
  public void onApplicationEvent(StartupEvent started) {
    log();
    logLeftOpen();
  }

  @Override
  public void changed(PlanGeneration before, PlanGeneration now) {
    log();
  }

  /** Logs where numbers come from, and the warnings that did not hold the last time. */
  private void log() {
    LimitSettings read = configured.current();
    Set<String> warnings = new LinkedHashSet<>();
    Set<String> policies = plans.current().policyNames();
    for (String policy : policies) {
      PolicyDefinition own = read.of(policy);
      if (LOG.isDebugEnabled()) {
        own.settings().forEach(setting -> LOG.debug("Policy '{}': {}", policy, setting));
      }
      if (own.members().isFalse(PolicyMember.ENABLED)) {
        warnings.add(
            "The policy '%s' is disabled by configuration: it limits no call and denies no duplicate"
                .formatted(policy));
      }
    }
    if (LOG.isDebugEnabled() && gate.enabled()) {
      plans.current().places().forEach((at, place) -> LOG.debug("{}: decided in {}", at, place));
    }
    Set<String> closed = plans.current().closed(); // its denials are no failure that would show it
    if (!closed.isEmpty()) {
      warnings.add("Policies have a rule with the count 0, so they admit no call: " + closed);
    }
    warnings.addAll(plans.current().doubts());
    warnings.addAll(plans.unmatchedRoutes());
    Set<String> unused = plans.current().unused();
    policies.removeAll(unused);
    for (String policy : unused) {
      warnings.add(
          "The policy '%s' limits no call: it has rules in the configuration, and neither an annotation nor a route names it%s"
              .formatted(policy, meant(policies, policy)));
    }
    addWithoutEffect(read, warnings);
    Set<String> known = new TreeSet<>(); // the variables that would have an effect
    for (String variable : read.unusedVariables()) {
      if (known.isEmpty()) {
        policies.forEach(
            policy ->
                known.addAll(
                    PoliciesConfiguration.variables(policy, plans.current().ruleNames(policy))));
      }
      warnings.add(
          "The environment variable %s has no effect: it matches no policy, rule or list index of an annotation or a file%s"
              .formatted(variable, meant(variable, policies, known)));
    }
    List<String> added = warnings.stream().filter(warning -> !logged.contains(warning)).toList();
    added.stream().limit(MAX_WARNINGS).forEach(LOG::warn);
    if (added.size() > MAX_WARNINGS) {
      LOG.warn(
          "{} more warnings about policies and routes are not listed", added.size() - MAX_WARNINGS);
    }
    logged = warnings;
  }

  private static String meant(Set<String> known, String name) {
    return NearestNames.of(known, name).stream()
        .findFirst()
        .map(nearest -> "; did you mean " + nearest + '?')
        .orElse("");
  }

  /** The variable that is meant: one with another name of the policy, or else of the member. */
  private static String meant(String variable, Set<String> policies, Set<String> known) {
    Map<String, String> corrected = new TreeMap<>();
    for (String policy : policies) {
      String prefix = PoliciesConfiguration.variable(policy);
      Matcher written =
          Pattern.compile("[^_]*_".repeat(prefix.split("_").length)).matcher(variable);
      if (written.lookingAt()) {
        int changes = NearestNames.changes(prefix, written.group());
        if (changes == 0) {
          return meant(
              known.stream().filter(name -> name.startsWith(prefix)).collect(Collectors.toSet()),
              variable);
        }
        if (changes <= NearestNames.MOST_CHANGES) {
          corrected.put(prefix + variable.substring(written.end()), policy);
        }
      }
    }
    return meant(corrected.isEmpty() ? known : corrected.keySet(), variable);
  }

  private void addWithoutEffect(LimitSettings read, Set<String> warnings) {
    if (!read.tiers().isEmpty() && !context.containsBean(Tiers.class)) {
      warnings.add(
          "%s has rules of tiers, but no bean of type %s determines the tier of a caller: all callers have the default tier"
              .formatted(LimitKeys.TIERS, Tiers.class.getName()));
    }
    boolean users =
        Stream.of(
                read.exempt().map(ExemptConfiguration::users),
                read.block().map(BlockConfiguration::users))
            .anyMatch(named -> named.isPresent() && !named.get().isEmpty());
    if (users && !ClassUtils.isPresent(SECURITY, getClass().getClassLoader())) {
      warnings.add(
          "%s.users or %s.users has names, but micronaut-security is absent: the names have no effect unless a filter of the application sets the principal of a request"
              .formatted(ExemptConfiguration.PREFIX, BlockConfiguration.PREFIX));
    }
  }

  /** Logs what annotations leave open. */
  private void logLeftOpen() {
    List<String> methods = plans.current().methods(LimitPlan::isCountedByChoice);
    if (!methods.isEmpty()) {
      LOG.info(
          "Methods that count only by a header or an argument: {} ({}); {}",
          methods.size(),
          PlanRegistry.listed(methods),
          LimitPlan.COUNTED_BY_CHOICE);
    }
    List<String> guards = plans.current().duplicatesByDefault();
    if (!guards.isEmpty()) {
      LOG.info(
          "Methods that compare submissions by the default of @Duplicate: {} ({}). Its members by and key change that",
          guards.size(),
          PlanRegistry.listed(guards));
    }
  }
}
