// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.micronaut.plan.LimitPlans;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.context.event.StartupEvent;
import jakarta.inject.Singleton;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs, once at the start, what annotations leave open: which methods count only values that
 * clients choose, so that a client that sends another header or argument with each call is never
 * limited; and what the default of a duplicate guard compares. Either may be intended, for example
 * where a filter has verified the header before.
 */
@Singleton
final class StartNotes implements ApplicationEventListener<StartupEvent> {

  private static final Logger LOG = LoggerFactory.getLogger(StartNotes.class);

  private final LimitPlans plans;

  StartNotes(LimitPlans plans) {
    this.plans = plans;
  }

  @Override
  public void onApplicationEvent(StartupEvent started) {
    List<String> methods = plans.countedByChoice();
    if (!methods.isEmpty()) {
      LOG.info(
          "{} methods count only by a header or an argument: a client that sends another value with each call is not limited, unless the value is verified elsewhere. A rule with limitType = IP or GLOBAL in addition prevents that. The methods are {}",
          methods.size(),
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
