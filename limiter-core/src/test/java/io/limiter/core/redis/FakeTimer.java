// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.netty.util.Timeout;
import io.netty.util.Timer;
import io.netty.util.TimerTask;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/** A timer driven by the test. It keeps one deadline, the last. */
final class FakeTimer implements Timer {

  private TimerTask task;
  private Duration delay;
  private boolean waiting;
  private int started;

  @Override
  public Timeout newTimeout(TimerTask newTask, long newDelay, TimeUnit unit) {
    task = newTask;
    delay = Duration.of(newDelay, unit.toChronoUnit());
    waiting = true;
    started++;
    return new Waiting();
  }

  Duration delay() {
    return delay;
  }

  boolean isWaiting() {
    return waiting;
  }

  int started() {
    return started;
  }

  /** The deadline passes. */
  void fire() {
    waiting = false;
    try {
      task.run(new Waiting());
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  @Override
  public Set<Timeout> stop() {
    return Set.of();
  }

  private final class Waiting implements Timeout {

    @Override
    public Timer timer() {
      return FakeTimer.this;
    }

    @Override
    public TimerTask task() {
      return task;
    }

    @Override
    public boolean isExpired() {
      return !waiting;
    }

    @Override
    public boolean isCancelled() {
      return !waiting;
    }

    @Override
    public boolean cancel() {
      boolean was = waiting;
      waiting = false;
      return was;
    }
  }
}
