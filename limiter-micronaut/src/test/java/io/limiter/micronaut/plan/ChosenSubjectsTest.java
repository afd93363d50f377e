// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/**
 * Whoever may say who he is may say another each time: a start names where that is all there is.
 */
class ChosenSubjectsTest {

  private final ListAppender<ILoggingEvent> logged = new ListAppender<>();
  private final Logger logger = (Logger) LoggerFactory.getLogger(ChosenSubjects.class);

  @Controller("/chosen")
  @Requires(property = "spec.name", value = "ChosenSubjectsTest")
  static class Chosen {
    @Get("/header")
    @RateLimiter(header = "X-Api-Key", rules = @RateRule)
    void byHeader() {}

    @Get("/argument{?phone}")
    @RateLimiter(subject = "#{phone}", rules = @RateRule)
    void byArgument(String phone) {}

    @Get("/paired")
    @RateLimiter(
        header = "X-Api-Key",
        rules = {@RateRule, @RateRule(count = 100, limitType = LimitType.IP)})
    void paired() {}

    @Get("/address")
    @RateRule
    void byAddress() {}
  }

  @BeforeEach
  void listen() {
    logged.start();
    logger.addAppender(logged);
    logger.setLevel(Level.INFO);
  }

  @AfterEach
  void stop() {
    logger.setLevel(null);
    logger.detachAppender(logged);
  }

  @Test
  void aStartNamesTheMethodsThatCountByNothingElse() {
    assertThat(said(Map.of("spec.name", "ChosenSubjectsTest")))
        .singleElement()
        .satisfies(
            line -> {
              assertThat(line.getLevel()).isEqualTo(Level.INFO);
              assertThat(line.getFormattedMessage())
                  .startsWith("2 methods ")
                  .contains("byHeader()", "byArgument(", "limitType = IP or GLOBAL")
                  .doesNotContain("paired", "byAddress");
            });
  }

  @Test
  void whereThereIsNoneItSaysNothing() {
    assertThat(said(Map.of("spec.name", "ChosenSubjectsTest.none"))).isEmpty();
  }

  private List<ILoggingEvent> said(Map<String, Object> settings) {
    try (ApplicationContext context = ApplicationContext.run(settings)) {
      assertThat(context.isRunning()).isTrue();
    }
    return logged.list;
  }
}
