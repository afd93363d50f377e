// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.path;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.server.netty.handler.accesslog.element.AccessLogFormatParser;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** The server's access log has the same line for a denial as for a 429 of the application. */
class AccessLogTest {

  private static final String SPEC = "AccessLogTest";
  private static final String FORMAT = "%m %U %s";

  private static final Logger ACCESS = (Logger) LoggerFactory.getLogger("HTTP_ACCESS_LOGGER");

  private final Queue<String> lines = new ConcurrentLinkedQueue<>();
  private final AppenderBase<ILoggingEvent> appender =
      new AppenderBase<>() {
        @Override
        protected void append(ILoggingEvent event) {
          lines.add(event.getFormattedMessage());
        }
      };

  /**
   * Micronaut reads jars for it: here, and not on the first event loop that accepts a connection.
   */
  @BeforeAll
  static void load() {
    assertThat(new AccessLogFormatParser(FORMAT)).isNotNull();
  }

  @BeforeEach
  void read() {
    appender.start();
    ACCESS.setLevel(Level.INFO);
    ACCESS.addAppender(appender);
  }

  @AfterEach
  void close() {
    ACCESS.detachAppender(appender);
    ACCESS.setLevel(null);
  }

  @Controller("/access")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get("/limited")
    @RateRule(count = 1)
    String limited() {
      return "ok";
    }

    @Get("/own")
    HttpResponse<String> own() {
      return HttpResponse.status(HttpStatus.TOO_MANY_REQUESTS);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aDenialIsOneLineAsAResponseOfTheApplication(boolean gate) {
    try (HttpService server =
        HttpService.start(
            SPEC,
            HttpService.settings(
                "limiter.gate.enabled", gate,
                "micronaut.server.netty.access-logger.enabled", true,
                "micronaut.server.netty.access-logger.log-format", FORMAT))) {
      server.get("/access/limited");
      server.get("/access/limited");
      server.get("/access/own");

      await().until(() -> lines.size() >= 3);
      assertThat(List.copyOf(lines))
          .containsExactly(
              "GET " + path("/access/limited 200"),
              "GET " + path("/access/limited 429"),
              "GET " + path("/access/own 429"));
    }
  }
}
