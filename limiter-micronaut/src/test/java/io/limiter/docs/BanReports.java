// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.event.LimiterEvent;
import io.micronaut.context.annotation.Requires;
import io.micronaut.runtime.event.annotation.EventListener;
import jakarta.inject.Singleton;
import java.time.Duration;

@Singleton
@Requires(beans = BanReports.Security.class)
class BanReports {

  private final Security security;

  BanReports(Security security) {
    this.security = security;
  }

  /** Stands for a part of the application. */
  interface Security {
    void report(String policy, String subject, Duration ban);
  }

  @EventListener
  void onBan(LimiterEvent.CallerBanned banned) {
    security.report(banned.policy(), banned.subject(), banned.ban());
  }
}
