// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.context.event.StartupEvent;
import jakarta.inject.Singleton;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Names, once at the start, the methods that count their callers only by what these choose
 * themselves: whoever sends another header or argument with each call is limited by nothing.
 * Whether anybody can is for the application to know, such as where a filter has looked at the
 * header before.
 */
@Singleton
final class ChosenSubjects implements ApplicationEventListener<StartupEvent> {

  private static final Logger LOG = LoggerFactory.getLogger(ChosenSubjects.class);

  /** Methods that the message lists. */
  private static final int MAX_LISTED = 20;

  private final LimitPlans plans;

  ChosenSubjects(LimitPlans plans) {
    this.plans = plans;
  }

  @Override
  public void onApplicationEvent(StartupEvent started) {
    List<String> methods = plans.countedByChoice();
    if (!methods.isEmpty()) {
      LOG.info(
          "{} methods count their callers only by a header or an argument: whoever sends another with each call is limited by nothing, unless something else checks it. A rule with limitType = IP or GLOBAL beside it closes that. They are {}{}",
          methods.size(),
          String.join(", ", methods.subList(0, Math.min(methods.size(), MAX_LISTED))),
          methods.size() > MAX_LISTED ? ", …" : "");
    }
  }
}
