// SPDX-License-Identifier: Apache-2.0
package io.limiter.processor;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Function;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Where the compiler reports a mistake of {@link MistakesTableTest}, and how often. */
@Tag("matrix")
class MistakesTest {

  @TempDir private Path output;

  @Test
  void theErrorNamesTheTypesOfTheParameters() throws IOException {
    requireSame(
        "@RateRule(count = 0) <T, N extends Number> void call(int a, String[] b, long[][] c, List<String> d, Map.Entry<String, T> e, T f, N g, N[] h, String... i) {}",
        "call(int,java.lang.String[],long[][],java.util.List,java.util.Map$Entry,java.lang.Object,java.lang.Number,java.lang.Number[],java.lang.String[])",
        Compilation::mistakeAtStart);
  }

  @ParameterizedTest
  @ValueSource(strings = {"IP", "USER_ID"})
  void aScheduledMethodHasNoRequestToCount(String type) throws IOException {
    requireSame(
        "@Scheduled(fixedDelay = \"1d\", initialDelay = \"1d\") @RateRule(limitType = LimitType.%s) void call() {}"
            .formatted(type),
        "@Scheduled = limitType = %s".formatted(type),
        Compilation::mistakeBesideStart);
  }

  private void requireSame(String method, String part, Function<Compilation, String> start)
      throws IOException {
    String source = "@Singleton class Bean {\n" + method + "\n}";
    Path plain = Files.createDirectory(output.resolve("plain"));
    String atStart = start.apply(Compilation.without(plain, source));
    assertThat(atStart).startsWith("compiled.Bean.call(").contains(part);
    assertThat(Compilation.of(output, source).errors())
        .singleElement()
        .satisfies(
            error -> {
              assertThat(error.message()).isEqualTo(atStart);
              assertThat(error.line()).isEqualTo(method);
            });
  }

  @Test
  void aLimitOnAStaticMethodIsAnError() {
    assertThat(
            Compilation.of(
                    output,
                    """
                    @Singleton class Bean {
                      void other() {}
                      @RateRule static void call(int number) {}
                    }
                    """)
                .errors())
        .filteredOn(error -> !error.message().equals(Compilation.STATIC_ON_5))
        .singleElement()
        .satisfies(
            error -> {
              assertThat(error.message())
                  .isEqualTo(
                      "compiled.Bean.call(int): @RateRule: a static method, or one of a companion object, is never limited: make it a method of the bean");
              assertThat(error.line()).startsWith("@RateRule static void call");
            });
  }

  @Test
  void aMistakeOnAClassIsReportedThereOnce() {
    assertThat(
            Compilation.of(
                    output,
                    """
                    @Singleton
                    @RateRule(count = 0)
                    class Bean {
                      void one() {}
                      void other() {}
                    }
                    """)
                .errors())
        .singleElement()
        .satisfies(
            error -> {
              assertThat(error.message()).contains("@RateRule.count = 0: set it to 1 or more");
              assertThat(error.line()).isIn("@Singleton", "class Bean {");
            });
  }

  @Test
  void aMistakeInAComposedAnnotationIsReportedWhereItIsUsed() {
    assertThat(
            Compilation.of(
                    output,
                    """
                    @Singleton class Bean {
                      @Sms void call() {}
                    }
                    @RateRule(count = -1)
                    @Retention(RetentionPolicy.RUNTIME)
                    @interface Sms { String name() default ""; }
                    """)
                .errors())
        .singleElement()
        .satisfies(
            error -> {
              assertThat(error.message()).contains("@RateRule.count = -1");
              assertThat(error.line()).isEqualTo("@Sms void call() {}");
            });
  }

  @Test
  void aMistakeThatIsInheritedIsReportedAtTheOverridingMethod() {
    assertThat(
            Compilation.of(
                    output,
                    """
                    interface Api {
                      @RateRule(counts = Counts.SUCCESSES) Future<String> call();
                    }
                    @Singleton class Bean implements Api {
                      @Override public Future<String> call() { return null; }
                    }
                    @Singleton class Good implements Api {
                      @Override public CompletableFuture<String> call() { return null; }
                    }
                    """)
                .errors())
        .singleElement()
        .satisfies(
            error -> {
              assertThat(error.message()).startsWith("compiled.Bean.call()");
              assertThat(error.line()).startsWith("@Override public Future<String>");
            });
  }

  /** Micronaut itself reports these, so the limiter does not. */
  @Test
  void namesAndSyntaxOfExpressionsAreCheckedByMicronaut() {
    String bean =
        """
        @Singleton class Bean {
          @RateRule(subject = "#{%s}") void call(String phone) {}
        }
        """;
    assertThat(Compilation.of(output, bean.formatted("fone")).errors())
        .singleElement()
        .satisfies(error -> assertThat(error.message()).contains("fone"));
    assertThat(Compilation.of(output, bean.formatted("phone.size()")).errors())
        .singleElement()
        .satisfies(error -> assertThat(error.message()).contains("size"));
    assertThat(Compilation.of(output, bean.formatted("phone")).errors()).isEmpty();
  }
}
