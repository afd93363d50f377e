// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.event.EventPublisher;
import io.limiter.micronaut.event.LimiterEvent;
import io.micronaut.context.annotation.Requires;
import jakarta.inject.Singleton;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reports each change that is made through the endpoint: as a line, and as an event. */
@Singleton
@Requires(beans = LimitsEndpoint.class)
final class AuditLog {

  /** Receives a line for each change. */
  static final String AUDIT = "io.limiter.audit";

  private static final Logger LOG = LoggerFactory.getLogger(AUDIT);

  /** The most characters of one text of a line. */
  private static final int MAX_TEXT = 1_000;

  private final EventPublisher events;

  AuditLog(EventPublisher events) {
    this.events = events;
  }

  void report(LimiterEvent.Audit change) {
    LOG.info(
        "who={} change={} policy={} subject={} before={} after={}",
        quoted(change.who()),
        change.change(),
        quoted(change.policy()),
        quoted(change.subject()),
        quoted(change.before()),
        quoted(change.after()));
    events.audit(change);
  }

  private static String quoted(String text) {
    return '"' + LogThrottle.oneLine(text, MAX_TEXT).replace('"', '\'') + '"';
  }
}
