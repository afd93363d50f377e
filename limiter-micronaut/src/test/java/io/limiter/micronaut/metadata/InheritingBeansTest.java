// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.limiter.micronaut.testing.MicronautVersion;
import io.micronaut.aop.InterceptorBean;
import io.micronaut.aop.Introduction;
import io.micronaut.aop.MethodInterceptor;
import io.micronaut.aop.MethodInvocationContext;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.client.annotation.Client;
import io.micronaut.runtime.context.scope.Refreshable;
import io.micronaut.runtime.server.EmbeddedServer;
import jakarta.inject.Singleton;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Two beans that inherit one limited method count apart, however they inherit it. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class InheritingBeansTest {

  private static final String SPEC = "InheritingBeansTest";

  @AutoClose
  private final ApplicationContext context =
      ApplicationContext.run(EmbeddedServer.class, Map.of("spec.name", SPEC))
          .getApplicationContext();

  @ParameterizedTest
  @CsvSource({
    "FirstClass, SecondClass",
    "FirstBelow, SecondBelow",
    "FirstIntroduced, SecondIntroduced",
    "FirstAbstract, SecondAbstract",
    "FirstClient, SecondClient",
    "FirstLimitedClient, SecondLimitedClient",
    "FirstMade, SecondMade",
    "FirstRefreshable, SecondRefreshable",
    "FirstMadeApi, SecondMadeApi"
  })
  void eachBeanCountsByItself(String first, String second) throws ClassNotFoundException {
    for (String name : new String[] {first, second}) {
      Class<?> type = Class.forName(getClass().getName() + '$' + name);
      Plain bean = (Plain) context.getBean(type);

      assertThat(admitted(bean, Plain::call)).as("%s.call()", name).isEqualTo(2);
      if (!name.endsWith("LimitedClient")) {
        assertThat(admitted(bean, Plain::byDefault)).as("%s.byDefault()", name).isEqualTo(2);
      }
    }
  }

  private static int admitted(Plain bean, Function<Plain, String> method) {
    for (int calls = 0; calls < 4; calls++) {
      try {
        assertThat(method.apply(bean)).isEqualTo("ok");
      } catch (RateLimitExceededException denied) {
        return calls;
      }
    }
    return 4;
  }

  /** Micronaut 5 weaves them. */
  @Test
  void defaultMethodsThatALimitedInterfaceDoesNotLimitAreNamed() {
    Plain client = context.getBean(FirstLimitedClient.class);

    assertThat(admitted(client, Plain::byDefault)).isEqualTo(MicronautVersion.either(4, 2));
    assertThat(context.getBean(UnwovenLimits.class).find())
        .isEqualTo(
            MicronautVersion.either(
                List.of(
                    Plain.class.getName()
                        + ".byDefault (a limit on an interface does not apply to its default methods: put a limit on the method)"),
                List.of()));
  }

  @Introduction
  @Retention(RetentionPolicy.RUNTIME)
  @interface Introduced {}

  @Singleton
  @InterceptorBean(Introduced.class)
  @Requires(property = "spec.name", value = SPEC)
  static class Introducer implements MethodInterceptor<Object, Object> {
    @Override
    public Object intercept(MethodInvocationContext<Object, Object> context) {
      return context.getExecutableMethod().isAbstract() ? "ok" : context.proceed();
    }
  }

  @Controller
  @Requires(property = "spec.name", value = SPEC)
  static class Server {
    @Get("/call")
    String call() {
      return "ok";
    }
  }

  interface Plain {
    @Get("/call")
    String call();

    default String byDefault() {
      return "ok";
    }
  }

  interface Api extends Plain {
    @Override
    @RateRule(count = 2, limitType = LimitType.GLOBAL)
    String call();

    @Override
    @RateRule(count = 2, limitType = LimitType.GLOBAL)
    default String byDefault() {
      return "ok";
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class FirstClass implements Api {
    @Override
    public String call() {
      return "ok";
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class SecondClass implements Api {
    @Override
    public String call() {
      return "ok";
    }
  }

  abstract static class Above implements Api {
    @Override
    public String call() {
      return "ok";
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class FirstBelow extends Above {}

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class SecondBelow extends Above {}

  @Introduced
  @Requires(property = "spec.name", value = SPEC)
  interface FirstIntroduced extends Api {}

  @Introduced
  @Requires(property = "spec.name", value = SPEC)
  interface SecondIntroduced extends Api {}

  @Introduced
  @Requires(property = "spec.name", value = SPEC)
  abstract static class FirstAbstract implements Api {}

  @Introduced
  @Requires(property = "spec.name", value = SPEC)
  abstract static class SecondAbstract implements Api {}

  @Client("/")
  @Requires(property = "spec.name", value = SPEC)
  interface FirstClient extends Api {}

  @Client("/")
  @Requires(property = "spec.name", value = SPEC)
  interface SecondClient extends Api {}

  @Client("/")
  @RateRule(count = 2, limitType = LimitType.GLOBAL)
  @Requires(property = "spec.name", value = SPEC)
  interface FirstLimitedClient extends Plain {}

  @Client("/")
  @RateRule(count = 2, limitType = LimitType.GLOBAL)
  @Requires(property = "spec.name", value = SPEC)
  interface SecondLimitedClient extends Plain {}

  static class Made implements Plain {
    @Override
    public String call() {
      return "ok";
    }
  }

  static class FirstMade extends Made {}

  static class SecondMade extends Made {}

  static class MadeWithLimits extends Above {}

  static class FirstRefreshable extends MadeWithLimits {}

  static class SecondRefreshable extends MadeWithLimits {}

  interface FirstMadeApi extends Plain {}

  interface SecondMadeApi extends Plain {}

  @Factory
  @Requires(property = "spec.name", value = SPEC)
  static class Makers {
    @Singleton
    @RateRule(count = 2, limitType = LimitType.GLOBAL)
    FirstMade firstMade() {
      return new FirstMade();
    }

    @Singleton
    @RateRule(count = 2, limitType = LimitType.GLOBAL)
    SecondMade secondMade() {
      return new SecondMade();
    }

    @Refreshable
    FirstRefreshable firstRefreshable() {
      return new FirstRefreshable();
    }

    @Refreshable
    SecondRefreshable secondRefreshable() {
      return new SecondRefreshable();
    }

    @Singleton
    @RateRule(count = 2, limitType = LimitType.GLOBAL)
    FirstMadeApi firstMadeApi() {
      return () -> "ok";
    }

    @Singleton
    @RateRule(count = 2, limitType = LimitType.GLOBAL)
    SecondMadeApi secondMadeApi() {
      return () -> "ok";
    }
  }
}
