// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import org.slf4j.LoggerFactory;

/** Keeps a logger quiet where a test makes it say the same thing thousands of times. */
final class MutedLog implements AutoCloseable {

  private final Logger logger;

  private MutedLog(Logger logger) {
    this.logger = logger;
    logger.setLevel(Level.OFF);
  }

  static MutedLog of(String name) {
    return new MutedLog((Logger) LoggerFactory.getLogger(name));
  }

  @Override
  public void close() {
    logger.setLevel(null);
  }
}
