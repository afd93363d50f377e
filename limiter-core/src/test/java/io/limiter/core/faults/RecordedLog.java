// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import org.slf4j.LoggerFactory;

/** Messages of a logger and those below it at WARN or worse, kept from the console. */
final class RecordedLog implements AutoCloseable {

  private final Logger logger;
  private final ListAppender<ILoggingEvent> events = new ListAppender<>();

  private RecordedLog(Logger logger) {
    this.logger = logger;
    events.start();
    logger.setLevel(Level.WARN);
    logger.setAdditive(false);
    logger.addAppender(events);
  }

  static RecordedLog of(String name) {
    return new RecordedLog((Logger) LoggerFactory.getLogger(name));
  }

  List<String> messages() {
    return List.copyOf(events.list).stream().map(ILoggingEvent::getFormattedMessage).toList();
  }

  @Override
  public void close() {
    logger.detachAppender(events);
    logger.setAdditive(true);
    logger.setLevel(null);
  }
}
