// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.spi.ILoggingEvent;
import io.limiter.core.testing.RecordedLog;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.Limited;
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
import io.micronaut.inject.qualifiers.Qualifiers;
import io.micronaut.runtime.http.scope.RequestScope;
import io.micronaut.runtime.server.EmbeddedServer;
import jakarta.inject.Named;
import jakarta.inject.Singleton;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Limits that stand where nothing is woven are named after the start. */
class UnwovenLimitsTest {

  private static final String SPEC = "UnwovenLimitsTest";
  private static final String MARKED = "UnwovenLimitsTest.marked";
  private static final String FACTORIES = "UnwovenLimitsTest.factories";

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

    // Micronaut 5 refuses to compile it in a class that it weaves.
    @RateRule(count = 1, time = 60)
    static String everywhere() {
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
  void methodsThatAreNotNamedAreLimited() {
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
                      .anyMatch(line -> line.contains("not woven them: 6 (")));
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
              place -> assertThat(place).startsWith("$Made.composed (the bean is made by"),
              place -> assertThat(place).startsWith("$Made.everywhere (a static method"),
              place -> assertThat(place).startsWith("$Made.limiter (the bean is made by"),
              place -> assertThat(place).startsWith("$Made.rule (the bean is made by"),
              place -> assertThat(place).startsWith("$MadeForARequest.hidden (it is not woven"));
    }
  }

  @Limited
  @Retention(RetentionPolicy.RUNTIME)
  @interface MarkedOnly {}

  @Singleton
  @Requires(property = "spec.name", value = MARKED)
  static class Marked {
    @MarkedOnly
    void marked() {}

    @Once
    void limited() {}
  }

  @Singleton
  @MarkedOnly
  @Requires(property = "spec.name", value = MARKED)
  static class Exempt {
    @NoRateLimit
    void exempt() {}
  }

  @Test
  void aWovenMethodWithoutALimitIsNamed() {
    try (RecordedLog log = RecordedLog.of(AnnotationPlanSource.class)) {
      Starts.inMemory(MARKED).close();

      assertThat(log.events())
          .extracting(ILoggingEvent::getFormattedMessage)
          .containsExactly(
              Marked.class.getName()
                  + ".marked() is marked as limited, but has no limit, so its calls are not limited: use one of @RateLimiter, @RateRule, @ConcurrencyLimit, @PreventDuplicate");
    }
  }

  @RateRule(count = 1, limitType = LimitType.GLOBAL)
  interface LimitedApi {
    void call();
  }

  @RateRule(count = 1, limitType = LimitType.GLOBAL)
  static class OfLimitedClass {
    public void call() {}
  }

  static class OfLimitedApi implements LimitedApi {
    @Override
    public void call() {}
  }

  static class OfLimitedSuperclass extends OfLimitedClass {
    @Override
    public void call() {}
  }

  interface Declared {
    void call();
  }

  static class BehindDeclared implements Declared {
    @Override
    @RateRule(count = 1, limitType = LimitType.GLOBAL)
    public void call() {}
  }

  static class ByStaticMethod {
    public void call() {}
  }

  static class NothingPublic {
    void call() {}
  }

  static class OfLimitedFactory {
    public void call() {}
  }

  @Factory
  @Requires(property = "spec.name", value = FACTORIES)
  static class LimitedAnywhere {
    @Singleton
    @Named("OfLimitedClass")
    OfLimitedClass ofLimitedClass() {
      return new OfLimitedClass();
    }

    @Singleton
    @Named("OfLimitedApi")
    OfLimitedApi ofLimitedApi() {
      return new OfLimitedApi();
    }

    @Singleton
    @Named("OfLimitedSuperclass")
    OfLimitedSuperclass ofLimitedSuperclass() {
      return new OfLimitedSuperclass();
    }

    @Singleton
    Declared declared() {
      return new BehindDeclared();
    }

    @Singleton
    @RateRule(count = 1, limitType = LimitType.GLOBAL)
    static ByStaticMethod byStaticMethod() {
      return new ByStaticMethod();
    }

    @Singleton
    @RateRule(count = 1, limitType = LimitType.GLOBAL)
    NothingPublic nothingPublic() {
      return new NothingPublic();
    }
  }

  @Factory
  @RateRule(count = 1, limitType = LimitType.GLOBAL)
  @Requires(property = "spec.name", value = FACTORIES)
  static class LimitedFactory {
    @Prototype
    OfLimitedFactory ofLimitedFactory() {
      return new OfLimitedFactory();
    }
  }

  @Test
  void limitsOfAFactorysBeanHoldOrAreNamed() {
    try (ApplicationContext context = Starts.inMemory(FACTORIES)) {
      OfLimitedClass ofClass = made(context, OfLimitedClass.class);
      OfLimitedApi ofApi = made(context, OfLimitedApi.class);
      OfLimitedSuperclass ofSuperclass = made(context, OfLimitedSuperclass.class);
      ByStaticMethod byStatic = context.getBean(ByStaticMethod.class);
      Declared declared = context.getBean(Declared.class);
      OfLimitedFactory ofFactory = context.getBean(OfLimitedFactory.class);
      NothingPublic hidden = context.getBean(NothingPublic.class);
      for (Runnable call :
          List.<Runnable>of(ofClass::call, ofApi::call, ofSuperclass::call, byStatic::call)) {
        call.run();
        assertThatThrownBy(call::run).isInstanceOf(RateLimitExceededException.class);
      }
      for (int i = 0; i < 2; i++) {
        declared.call();
        hidden.call();
        ofFactory.call();
      }
      assertThatThrownBy(() -> context.getBean(OfLimitedFactory.class))
          .as("the second one that the limited factory makes")
          .hasRootCauseInstanceOf(RateLimitExceededException.class);

      assertThat(context.getBean(UnwovenLimits.class).find())
          .extracting(text -> text.substring(SPEC.length() + text.indexOf(SPEC)))
          .satisfiesExactly(
              place -> assertThat(place).startsWith("$BehindDeclared.call (the bean is made by"),
              place -> assertThat(place).startsWith("$LimitedFactory (a limit on a factory limits"),
              place -> assertThat(place).startsWith("$NothingPublic (the limit of its factory's"));
    }
  }

  /** The bean of the factory, since a limited class is a bean of its own, too. */
  private static <T> T made(ApplicationContext context, Class<T> type) {
    return context.getBean(type, Qualifiers.byName(type.getSimpleName()));
  }
}
