// SPDX-License-Identifier: Apache-2.0
package io.limiter.processor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What stops the start whatever the configuration is an error of the compiler, in the same words.
 */
@Tag("matrix")
class MistakesTest {

  @TempDir private Path output;

  /** The annotations and the method of a bean, and a part of the error. */
  static Stream<Arguments> mistakes() {
    return Stream.of(
        arguments(
            "@RateRule(count = 0) void call() {}", "@RateRule.count = 0: set it to 1 or more"),
        arguments(
            "@RateRule(count = 0) <T, N extends Number> void call(int a, String[] b, long[][] c, List<String> d, Map.Entry<String, T> e, T f, N g, N[] h, String... i) {}",
            "call(int,java.lang.String[],long[][],java.util.List,java.util.Map$Entry,java.lang.Object,java.lang.Number,java.lang.Number[],java.lang.String[])"),
        arguments(
            "@RateLimiter(resultCost = Rows.class, rules = @RateRule) int call() { return 0; } @Singleton static class Rows implements ResultCost { public long of(Object result) { return 0; } }",
            "@RateLimiter.resultCost = compiled.Bean$Rows: a call takes its units before"),
        arguments(
            "@RateLimiter(countIf = \"#{status == 404}\", failedOn = 401, rules = @RateRule) void call() {}",
            "@RateLimiter.failedOn = [401]: countIf selects the calls that count: remove one of them"),
        arguments(
            "@RateLimiter(cost = \"5\", stream = @StreamBudget(step = 5), rules = @RateRule) reactor.core.publisher.Flux<String> call() { return null; }",
            "@RateLimiter.stream = @StreamBudget: it has no effect without a resultCost: add one, or remove it"),
        arguments(
            "@RateLimiter(condition = \"#{x}\", rules = @RateRule(time = 1)) @RateLimiter(key = \"a\", cost = \"2\", rules = @RateRule(time = 2)) @RateLimiter(key = \"a\", cost = \"#{y}\", rules = @RateRule(time = 3)) void call(boolean x, int y) {}",
            "other rules of this method count the same subject with cost = 2"),
        arguments(
            "@RateRule(time = 367, timeUnit = TimeUnit.DAYS) void call() {}",
            "@RateRule.time = 367 DAYS: set it to 1 ms to 366 days"),
        arguments(
            "@RateRule(count = 1_000_001) void call() {}",
            "@RateRule.count = 1000001: an exact log stores every call: set it to at most 1000000"),
        arguments(
            "@ConcurrencyLimit(10_001) void call() {}",
            "@ConcurrencyLimit.value = 10001: each call in flight is stored separately"),
        arguments(
            "@RateRule(name = \"fair\", time = 1) @RateRule(name = \"fair\", time = 2) void call() {}",
            "another rule of this method has this name"),
        arguments(
            "@RateRule(time = 1) @RateRule(time = 2) @RateRule(time = 3) @RateRule(time = 4) @RateRule(time = 5) @RateRule(time = 6) @RateRule(time = 7) @RateRule(time = 8) @RateRule(time = 9) void call() {}",
            "9 rules in one stack: use 1 to 8"),
        arguments(
            "@RateRule(algorithm = Algorithm.TOKEN_BUCKET, tokenBucket = @TokenBucket(refill = 5)) void call() {}",
            "tokenBucket already defines how the rule counts: remove one of them"),
        arguments(
            "@RateRule(count = 2, time = 1, leakyBucket = @LeakyBucket(queue = 0)) void call() {}",
            "@RateRule.leakyBucket.queue = 0"),
        arguments(
            "@RateRule(count = 20, tokenBucket = @TokenBucket(refill = 21)) void call() {}",
            "@RateRule.tokenBucket.refill = 21: set it to 1 to 20, which is all that the bucket holds"),
        arguments(
            "@RateLimiter(cost = \"#{rows}\", rules = @RateRule) void call(String rows) {}",
            "{rows}: the parameter 'rows' is no number, so each call would be a bad request"),
        arguments(
            "@RateLimiter(cost = \"#{ rows }\", rules = @RateRule) void call(List<Integer> rows) {}",
            "the parameter 'rows' is no number"),
        arguments(
            "@RateLimiter(subject = \"#{order}\", rules = @RateRule) void call(@Body Map<String, Object> order) {}",
            "{order}: the parameter 'order' is no text or number, so each call would be a bad request"),
        arguments(
            "@RateRule(subject = \"#{names}\") void call(String[] names) {}",
            "the parameter 'names' is no text or number"),
        arguments(
            "@RateRule(leakyBucket = @LeakyBucket(queue = 5), counts = Counts.FAILURES) void call() {}",
            "a leaky bucket assigns each call its turn on arrival"),
        arguments(
            "@RateRule(leakyBucket = @LeakyBucket(queue = 5)) @RateRule(leakyBucket = @LeakyBucket(queue = 5), limitType = LimitType.GLOBAL) void call() {}",
            "a call can wait under one rule only"),
        arguments(
            "@RateLimiter(preventDuplicate = true, duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS)) void call(String name, java.io.InputStream in) {}",
            "the parameter 'in' cannot be digested because of java.io.InputStream"),
        arguments(
            "@PreventDuplicate(by = DuplicateBy.ARGUMENTS) void call(List<HttpRequest<?>> in) {}",
            "the parameter 'in' cannot be digested because of io.micronaut.http.HttpRequest"),
        arguments(
            "@PreventDuplicate(by = DuplicateBy.ARGUMENTS) void call() {}",
            "the method has no arguments: use DuplicateBy.CALLER"),
        arguments(
            "@RateRule(counts = Counts.FAILURES) Future<String> call() { return null; }",
            "the method returns java.util.concurrent.Future<java.lang.String>, which does not show when a call ends"),
        arguments(
            "@RateLimiter(subject = \"#{phone}\", header = \"X-Key\", rules = @RateRule) void call(String phone) {}",
            "subject already defines who is counted: remove one of them"),
        arguments("@RateRule(header = \"X Key\") void call() {}", "no header can have this name"),
        arguments(
            "@RateRule(subject = \"phone\") void call(String phone) {}",
            "it is the same for every call: write an expression"),
        arguments(
            "@RateLimiter(cost = \"many\", rules = @RateRule) void call() {}",
            "@RateLimiter.cost = many: set it to 1 to 1000000"),
        arguments(
            "@RateLimiter(message = \"Wait {seconds}\", rules = @RateRule) void call() {}",
            "unknown argument {seconds}"),
        arguments(
            "@RateLimiter(beforeSecurity = true, rules = @RateRule) void call() {}",
            "security protects only routes, and this method is not a route: remove it"),
        arguments(
            "@RateLimiter(early = true, rules = @RateRule) void call() {}",
            "only routes have a body, and this method is not a route: remove it"),
        arguments(
            "@RateLimiter(lease = \"soon\", rules = @RateRule) void call() {}",
            "@RateLimiter.lease = soon: set it to 10 ms to 10 s, such as 100ms, or to 0s for none"),
        arguments(
            "@RateLimiter(lease = \"5ms\", rules = @RateRule) void call() {}",
            "@RateLimiter.lease = 5ms: set it to 10 ms to 10 s"),
        arguments(
            "@RateLimiter(lease = \"5s\", rules = @RateRule(time = 2)) void call() {}",
            "@RateLimiter.lease = 5s: The rule '10-per-2s' has a lease of PT5S: use PT0.01S to PT2S"),
        arguments(
            "@RateLimiter(lease = \"100ms\", rules = @RateRule) @ConcurrencyLimit(3) void call() {}",
            "@RateLimiter.lease = 100ms: the rule '3-in-flight' allows no lease"),
        arguments(
            "@RateLimiter(lease = \"100ms\", rules = @RateRule(counts = Counts.FAILURES)) void call() {}",
            "@RateLimiter.lease = 100ms: The rule '10-per-60s' counts FAILURES and has a lease"),
        arguments(
            "@RateLimiter(warnAt = 80, rules = @RateRule) void call() {}",
            "@RateLimiter.warnAt = 80.0: set it to a share above 0 to 1, such as 0.8"),
        arguments(
            "@NoRateLimit @RateRule void call() {}",
            "one contradicts the other: remove one of them"),
        arguments(
            "@RateRule(time = 7, fixedWindow = @FixedWindow(calendar = CalendarPeriod.MONTH)) void call() {}",
            "@RateRule.time = 7 SECONDS: the window is a month: remove it"),
        arguments(
            "@RateRule(time = 7, timeUnit = TimeUnit.HOURS, fixedWindow = @FixedWindow(aligned = true)) void call() {}",
            "which does not divide a day"));
  }

  @ParameterizedTest
  @MethodSource("mistakes")
  void theErrorIsThatOfTheStartAtTheMethod(String method, String part) throws IOException {
    requireSame(method, part, Compilation::mistakeAtStart);
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
                      "compiled.Bean.call(int): @RateRule = a static method: a static method, or one of a companion object, is never limited: make it a method of the bean");
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
