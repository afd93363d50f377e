// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.LoggerFactory;

/**
 * All that anybody logs as a warning or an error meanwhile, with loggers heard, but not printed,
 * that other tests silence.
 */
public final class LoggedWarnings implements AutoCloseable {

  /** They say that Redis is away, each once in a while: so it shall be. */
  private static final List<String> EXPECTED =
      List.of(
          "io.limiter.core.outage.FallbackStore",
          "io.limiter.core.redis.Breaker",
          "io.limiter.core.redis.connection.SilenceWatch");

  private final Queue<ILoggingEvent> events = new ConcurrentLinkedQueue<>();
  private final Map<Logger, Level> silenced =
      ((LoggerContext) LoggerFactory.getILoggerFactory())
          .getLoggerList().stream()
              .filter(logger -> logger.getLevel() == Level.OFF)
              .collect(Collectors.toMap(logger -> logger, Logger::getLevel));
  private final AppenderBase<ILoggingEvent> appender =
      new AppenderBase<>() {
        @Override
        protected void append(ILoggingEvent event) {
          if (event.getLevel().isGreaterOrEqual(Level.WARN)) {
            events.add(event);
          }
        }
      };

  private LoggedWarnings() {}

  public static LoggedWarnings begin() {
    LoggedWarnings warnings = new LoggedWarnings();
    warnings.appender.start();
    root().addAppender(warnings.appender);
    for (Logger logger : warnings.silenced.keySet()) {
      logger.addAppender(warnings.appender);
      logger.setAdditive(false);
      logger.setLevel(null);
    }
    return warnings;
  }

  /** What is more than a short word that Redis is away: other loggers, and stack traces. */
  public List<String> excess() {
    return excess("");
  }

  /** The exceptions that became a 500. Micronaut says only here what they are. */
  List<String> unhandled() {
    return excess("io.micronaut.http.server.RouteExecutor");
  }

  /** The excess of us, of Lettuce, and of the event loops. */
  List<String> excessOfOurs() {
    return Stream.of("io.limiter.", "io.lettuce.", "io.netty.", "reactor.")
        .flatMap(loggers -> excess(loggers).stream())
        .toList();
  }

  private List<String> excess(String loggers) {
    return events.stream()
        .filter(event -> event.getLoggerName().startsWith(loggers))
        .filter(
            event -> !EXPECTED.contains(event.getLoggerName()) || event.getThrowableProxy() != null)
        .map(
            event ->
                "%s %s: %s (%s)"
                    .formatted(
                        event.getLevel(),
                        event.getLoggerName(),
                        event.getFormattedMessage(),
                        event.getThrowableProxy() == null
                            ? ""
                            : event.getThrowableProxy().getClassName()
                                + ": "
                                + event.getThrowableProxy().getMessage()))
        .toList();
  }

  private static Logger root() {
    return (Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
  }

  @Override
  public void close() {
    root().detachAppender(appender);
    silenced.forEach(
        (logger, level) -> {
          logger.setLevel(level);
          logger.setAdditive(true);
          logger.detachAppender(appender);
        });
  }
}
