// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.util.List;
import org.slf4j.LoggerFactory;

/** Messages of a logger and those below it, kept from the console. */
public final class RecordedLog implements AutoCloseable {

  private final Logger logger;
  private final Level before;
  private final ListAppender<ILoggingEvent> events = new ListAppender<>();

  private RecordedLog(String name, Level level) {
    this.logger = (Logger) LoggerFactory.getLogger(name);
    this.before = logger.getLevel();
    events.start();
    logger.setLevel(level);
    logger.setAdditive(false);
    logger.addAppender(events);
  }

  /** Messages at WARN or worse. */
  public static RecordedLog of(String name) {
    return new RecordedLog(name, Level.WARN);
  }

  /** Messages at WARN or worse. */
  public static RecordedLog of(Class<?> name) {
    return of(name.getName());
  }

  /** All messages but traces. */
  public static RecordedLog ofDebug(String name) {
    return new RecordedLog(name, Level.DEBUG);
  }

  /** Messages at INFO or worse. */
  public static RecordedLog ofInfo(String name) {
    return new RecordedLog(name, Level.INFO);
  }

  /** Messages at INFO or worse. */
  public static RecordedLog ofInfo(Class<?> name) {
    return ofInfo(name.getName());
  }

  /** The logger, for code that is given one. */
  public Logger logger() {
    return logger;
  }

  public List<ILoggingEvent> events() {
    return List.copyOf(events.list);
  }

  public List<String> messages() {
    return events().stream().map(ILoggingEvent::getFormattedMessage).toList();
  }

  /** Messages, each after its level. */
  public List<String> lines() {
    return events().stream()
        .map(event -> event.getLevel() + " " + event.getFormattedMessage())
        .toList();
  }

  /** Forgets what was logged so far. */
  public void clear() {
    events.list.clear();
  }

  @Override
  public void close() {
    logger.detachAppender(events);
    logger.setAdditive(true);
    logger.setLevel(before);
  }
}
