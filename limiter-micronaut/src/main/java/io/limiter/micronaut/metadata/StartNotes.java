// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.micronaut.annotation.Tiers;
import io.limiter.micronaut.config.CallerConfiguration.BlockConfiguration;
import io.limiter.micronaut.config.CallerConfiguration.ExemptConfiguration;
import io.limiter.micronaut.config.LimitSettings;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.config.TierSettings;
import io.limiter.micronaut.plan.LimitPlans;
import io.micronaut.context.BeanContext;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.context.event.StartupEvent;
import io.micronaut.core.reflect.ClassUtils;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs what settings change, and, once at the start, what annotations leave open: which methods
 * count only values that clients choose, so that a client that sends another header or argument
 * with each call is never limited; and what the default of a duplicate guard compares. Either may
 * be intended, for example where a filter has verified the header before.
 */
@Singleton
final class StartNotes implements ApplicationEventListener<StartupEvent> {

  private static final Logger LOG = LoggerFactory.getLogger(StartNotes.class);

  /** Why a limit that counts only what clients choose may not hold. */
  static final String COUNTED_BY_CHOICE =
      "a client that sends another value with each call is not limited, unless the value is verified elsewhere. A rule with limitType = IP or GLOBAL in addition prevents that";

  private static final String SECURITY = "io.micronaut.security.authentication.Authentication";

  private final LimitPlans plans;
  private final PoliciesConfiguration settings;
  private final BeanContext beans;
  private volatile Set<String> disabled = Set.of();

  StartNotes(LimitPlans plans, PoliciesConfiguration settings, BeanContext beans) {
    this.plans = plans;
    this.settings = settings;
    this.beans = beans;
  }

  /** Logs where numbers come from, and what is off since the last time. */
  void settings(LimitSettings read) {
    Set<String> off = new TreeSet<>();
    read.policies()
        .forEach(
            (policy, own) -> {
              own.all().forEach(setting -> LOG.debug("Policy '{}': {}", policy, setting));
              if (!own.enabled() && off.add(policy) && !disabled.contains(policy)) {
                LOG.warn(
                    "The policy '{}' is disabled by configuration: it limits no call and denies no duplicate",
                    policy);
              }
            });
    disabled = off;
  }

  /** Logs settings that have no effect. */
  private void withoutEffect(LimitSettings read) {
    if (!read.tiers().tiers().isEmpty() && !beans.containsBean(Tiers.class)) {
      LOG.warn(
          "{} has rules of tiers, and no bean of type {} determines the tier of a caller: all callers have the default tier",
          TierSettings.PREFIX,
          Tiers.class.getName());
    }
    boolean users =
        read.exempt().filter(lists -> !lists.users().isEmpty()).isPresent()
            || read.block().filter(lists -> !lists.users().isEmpty()).isPresent();
    if (users && !ClassUtils.isPresent(SECURITY, getClass().getClassLoader())) {
      LOG.warn(
          "{}.users or {}.users has names, and there is no micronaut-security that authenticates users: they have an effect only where a filter of the application sets the principal of a request",
          ExemptConfiguration.PREFIX,
          BlockConfiguration.PREFIX);
    }
  }

  @Override
  public void onApplicationEvent(StartupEvent started) {
    settings(settings.current());
    withoutEffect(settings.current());
    List<String> methods = plans.countedByChoice();
    if (!methods.isEmpty()) {
      LOG.info(
          "{} methods count only by a header or an argument: {}. The methods are {}",
          methods.size(),
          COUNTED_BY_CHOICE,
          LimitPlans.listed(methods));
    }
    List<String> guards = plans.duplicatesByDefault();
    if (!guards.isEmpty()) {
      LOG.info(
          "{} methods use the default for comparing submissions; set by or key of @Duplicate to change that. The default chose {}",
          guards.size(),
          LimitPlans.listed(guards));
    }
  }
}
