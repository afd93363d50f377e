// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * Signals other than TERM and KILL, and an end within a time limit, which Java's processes lack.
 */
final class ProcessSignals {

  private static final Duration END = Duration.ofSeconds(5);

  private ProcessSignals() {}

  /** Through a shell, whose kill is built in: a minimal machine may have no other. */
  static void send(Process process, String name) {
    try {
      Process kill =
          new ProcessBuilder("sh", "-c", "kill -" + name + " " + process.pid()).inheritIO().start();
      if (kill.waitFor() != 0) {
        throw new IllegalStateException("kill -" + name + " " + process.pid() + " failed");
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  /** Waits for the requested end, and forces it if it does not come. */
  static void awaitEnd(Process process) {
    if (!endsWithin(process, END)) {
      process.destroyForcibly();
    }
  }

  static boolean endsWithin(Process process, Duration time) {
    try {
      return process.waitFor(time.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
      return true;
    }
  }
}
