// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.limiter.micronaut.annotation.NoRateLimit;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.behaviour.LoggedWarnings;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Prototype;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.context.ServerRequestContext;
import io.micronaut.runtime.http.scope.RequestScope;
import io.micronaut.runtime.server.EmbeddedServer;
import jakarta.inject.Singleton;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Limits that stand where nothing is woven are named after the start. */
class UnwovenLimitsTest {

  private static final String SPEC = "UnwovenLimitsTest";

  @RateRule(count = 1, time = 60)
  @Retention(RetentionPolicy.RUNTIME)
  @interface Once {}

  static class Made {
    @RateRule(count = 1, time = 60)
    String rule() {
      return "ok";
    }

    @RateLimiter(rules = {@RateRule(count = 1, time = 60), @RateRule(count = 2, time = 3600)})
    String limiter() {
      return "ok";
    }

    @Once
    String composed() {
      return "ok";
    }

    String free() {
      return "ok";
    }
  }

  interface Api {
    @RateRule(count = 1, time = 60)
    String inherited();
  }

  static class MadeApi implements Api {
    @Override
    public String inherited() {
      return "ok";
    }
  }

  /** Limited as a whole, by its factory. */
  static class LimitedByFactory {
    public String any() {
      return "ok";
    }
  }

  static class MadeForARequest {
    @RateRule(count = 1, time = 60)
    public String call() {
      return "ok";
    }

    @RateRule(count = 1, time = 60)
    String hidden() {
      return "ok";
    }
  }

  @Factory
  @Requires(property = "spec.name", value = SPEC)
  static class Makers {
    @Singleton
    Made made() {
      return new Made();
    }

    @Prototype
    MadeApi madeApi() {
      return new MadeApi();
    }

    @Singleton
    @RateRule(count = 1, time = 60)
    LimitedByFactory limitedByFactory() {
      return new LimitedByFactory();
    }

    @RequestScope
    MadeForARequest madeForARequest() {
      return new MadeForARequest();
    }
  }

  static class Parent<T> {
    @RateRule(count = 1, time = 60)
    String inherited(T of) {
      return "ok";
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Bean extends Parent<String> implements Api {
    @RateRule(count = 1, time = 60)
    static String everywhere() {
      return "ok";
    }

    @Once
    String own() {
      return "ok";
    }

    @Override
    public String inherited() {
      return "ok";
    }

    @Override
    @NoRateLimit
    String inherited(String of) {
      return "ok";
    }
  }

  /** What the test below relies on: where nothing is named, limits hold. */
  @Test
  void whatIsNotNamedIsLimited() {
    try (ApplicationContext context =
        ApplicationContext.run(EmbeddedServer.class, Map.of("spec.name", SPEC))
            .getApplicationContext()) {
      LimitedByFactory byFactory = context.getBean(LimitedByFactory.class);
      Bean bean = context.getBean(Bean.class);
      MadeForARequest ofRequest = context.getBean(MadeForARequest.class);
      ServerRequestContext.with(
          HttpRequest.GET("/"),
          () -> {
            for (Runnable call : List.<Runnable>of(byFactory::any, bean::own, ofRequest::call)) {
              call.run();
              assertThatThrownBy(call::run).isInstanceOf(RateLimitExceededException.class);
            }
          });
    }
  }

  @Test
  void aWarningIsLoggedAfterTheStart() {
    try (LoggedWarnings warnings = LoggedWarnings.begin();
        ApplicationContext context = Starts.inMemory(SPEC)) {
      await()
          .untilAsserted(
              () ->
                  assertThat(warnings.excess())
                      .anyMatch(line -> line.contains("Limits in 6 places have no effect")));
      assertThat(context.isRunning()).isTrue();
    }
  }

  @Test
  void theyAreNamedWithTheRemedy() {
    try (ApplicationContext context = Starts.inMemory(SPEC)) {
      List<String> places = context.getBean(UnwovenLimits.class).find();

      assertThat(places)
          .extracting(text -> text.substring(SPEC.length() + text.indexOf(SPEC)))
          .satisfiesExactly(
              place -> assertThat(place).startsWith("$Api.inherited (the bean is made by"),
              place -> assertThat(place).startsWith("$Bean.everywhere (a static method"),
              place -> assertThat(place).startsWith("$Made.composed (the bean is made by"),
              place -> assertThat(place).startsWith("$Made.limiter (the bean is made by"),
              place -> assertThat(place).startsWith("$Made.rule (the bean is made by"),
              place -> assertThat(place).startsWith("$MadeForARequest.hidden (it is not woven"));
    }
  }
}
