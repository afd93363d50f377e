// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.refresh;

import io.limiter.micronaut.config.SettingsRefresh;
import io.micronaut.context.annotation.Replaces;
import io.micronaut.context.env.Environment;
import io.micronaut.context.event.ApplicationEventPublisher;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.exceptions.HttpStatusException;
import io.micronaut.management.endpoint.annotation.Endpoint;
import io.micronaut.management.endpoint.annotation.Write;
import io.micronaut.management.endpoint.refresh.RefreshEndpoint;
import io.micronaut.runtime.context.scope.refresh.RefreshEvent;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The endpoint {@code refresh}, one call after the other: the environment empties and refills its
 * sources without a lock, and two refreshes at once do so in each other's way. It runs on threads
 * that may block, so it responds when the limits are in effect. Where Micronaut finds no change,
 * limits are read all the same: another refresh may have taken it. An endpoint of the application
 * replaces this one, too; the name leaves that one alone.
 */
@Endpoint("refresh")
@Replaces(bean = RefreshEndpoint.class, named = "RefreshEndpoint")
final class WholeRefreshEndpoint extends RefreshEndpoint {

  private static final long PATIENCE_SECONDS = 30;

  private final SettingsRefresh settings;
  private final ReentrantLock turn = new ReentrantLock();

  WholeRefreshEndpoint(
      Environment environment,
      ApplicationEventPublisher<RefreshEvent> events,
      SettingsRefresh settings) {
    super(environment, events);
    this.settings = settings;
  }

  @Override
  @Write
  @ExecuteOn(TaskExecutors.BLOCKING)
  public String[] refresh(@Nullable Boolean force) {
    if (!await()) {
      throw new HttpStatusException(
          HttpStatus.SERVICE_UNAVAILABLE, "Another refresh has not ended: try again later");
    }
    try {
      String[] changed = super.refresh(force);
      if (changed.length == 0 && !Boolean.TRUE.equals(force)) {
        var unused = settings.refresh();
      }
      return changed;
    } finally {
      turn.unlock();
    }
  }

  private boolean await() {
    try {
      return turn.tryLock(PATIENCE_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }
}
