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
 * Logs, once at the start, what annotations leave open: which methods count their callers only by
 * what these choose themselves, so that another header or argument with each call is never limited;
 * and what the default of duplicateBy compares. Whether that is right is for the application to
 * know, such as where a filter has looked at the header before.
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
          "{} methods count their callers only by a header or an argument: whoever sends another with each call is limited by nothing, unless something else checks it. A rule with limitType = IP or GLOBAL beside it closes that. They are {}",
          methods.size(),
          LimitPlans.listed(methods));
    }
    List<String> guards = plans.duplicatesByDefault();
    if (!guards.isEmpty()) {
      LOG.info(
          "{} methods leave it to the default of duplicateBy what makes two submissions equal; duplicateBy or duplicateKey says otherwise. It chose {}",
          guards.size(),
          LimitPlans.listed(guards));
    }
  }
}
