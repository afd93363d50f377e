// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.InputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Each place alone limits, in an application in which nothing else is limited: Micronaut registers
 * repeatable annotations once for all, with the first bean that has one of its own.
 */
class LimitedAloneTest {

  private static final String APPLICATION =
      """
      package alone;

      import io.limiter.micronaut.annotation.*;
      import io.limiter.micronaut.exception.RateLimitExceededException;
      import io.micronaut.aop.*;
      import io.micronaut.context.ApplicationContext;
      import io.micronaut.context.annotation.*;
      import io.micronaut.http.HttpRequest;
      import io.micronaut.http.context.ServerRequestContext;
      import io.micronaut.runtime.context.scope.Refreshable;
      import io.micronaut.runtime.http.scope.RequestScope;
      import jakarta.inject.Singleton;
      import java.lang.annotation.*;
      import java.util.function.Supplier;

      public class Alone {
        public static int admitted() {
          try (ApplicationContext context = ApplicationContext.run()) {
            Service service = context.getBean(Service.class);
            Supplier<Integer> calls = () -> admitted(service);
            return ServerRequestContext.with(HttpRequest.GET("/"), calls);
          }
        }

        private static int admitted(Service service) {
          for (int calls = 0; calls < 3; calls++) {
            try {
              service.call();
            } catch (RateLimitExceededException denied) {
              return calls;
            }
          }
          return 3;
        }
      }

      @RateRule(count = 1)
      @Retention(RetentionPolicy.RUNTIME)
      @interface Composed {}

      @Introduction
      @Retention(RetentionPolicy.RUNTIME)
      @interface Introduced {}

      @Singleton
      @InterceptorBean(Introduced.class)
      class Introducer implements MethodInterceptor<Object, Object> {
        public Object intercept(MethodInvocationContext<Object, Object> context) {
          return null;
        }
      }

      """;

  @TempDir private Path directory;

  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          a method | @Singleton class Service { @RateRule(count = 1) void call() {} }
          an introduced method | @Introduced interface Service { @RateRule(count = 1) void call(); }
          a factory's method | class Service { public void call() {} } @Factory class Made { @Singleton @RateRule(count = 1) Service service() { return new Service(); } }
          a method of a factory's bean for a request | class Service { @RateRule(count = 1) public void call() {} } @Factory class Made { @RequestScope Service service() { return new Service(); } }
          a method of a refreshable bean of a factory | class Service { @RateRule(count = 1) public void call() {} } @Factory class Made { @Refreshable Service service() { return new Service(); } }
          another annotation there | class Service { @Composed public void call() {} } @Factory class Made { @Refreshable Service service() { return new Service(); } }
          """)
  void itLimits(String place, String source) throws Exception {
    assertThat(Compilation.withMicronaut("alone/Alone.java", APPLICATION + source, directory))
        .isEmpty();
    try (InputStream logging = getClass().getResourceAsStream("/logback-test.xml")) {
      Files.copy(logging, directory.resolve("logback-test.xml"));
    }
    List<URL> path = new ArrayList<>(List.of(directory.toUri().toURL()));
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
      if (!entry.endsWith("test-classes")) { // with limited beans of other tests
        path.add(Path.of(entry).toUri().toURL());
      }
    }
    ClassLoader tests = Thread.currentThread().getContextClassLoader();
    try (URLClassLoader own =
        new URLClassLoader(path.toArray(URL[]::new), ClassLoader.getPlatformClassLoader())) {
      Thread.currentThread().setContextClassLoader(own);
      assertThat(own.loadClass("alone.Alone").getMethod("admitted").invoke(null)).isEqualTo(1);
    } finally {
      Thread.currentThread().setContextClassLoader(tests);
    }
  }
}
