// SPDX-License-Identifier: Apache-2.0
package io.limiter.processor;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** What configuration, beans and other classes may make right is no error. */
@Tag("matrix")
class ValidUsagesTest {

  @TempDir private Path output;

  @ParameterizedTest
  @ValueSource(
      strings = {
        "@RateRule void call() {}",
        "@RateRule(count = 20_000) void call() {}", // limiter.max-count may be raised
        "@RateLimiter(value = \"${policy}\", key = \"${key}\", header = \"${header}\", cost = \"${cost}\", code = \"${code}\", message = \"${message}\", rules = @RateRule(name = \"${name:a b}\")) void call() {}",
        "@RateRule(name = \"${a}\", time = 1) @RateRule(name = \"${b}\", time = 2) void call() {}",
        "@RateRule(time = 7, timeUnit = TimeUnit.DAYS, fixedWindow = @FixedWindow(zone = \"${zone}\", anchor = \"${anchor}\")) void call() {}",
        "@RateRule(fixedWindow = @FixedWindow(calendar = CalendarPeriod.MONTH, zone = \"${zone}\")) void call() {}",
        "@RateLimiter(subject = \"#{who}\", rules = @RateRule(fixedWindow = @FixedWindow(calendar = CalendarPeriod.MONTH, anchor = \"#{day}\"))) void call(String who, int day) {}",
        "@RateRule(fixedWindow = @FixedWindow(calendar = CalendarPeriod.YEAR, anchor = \"billing-day\")) void call() {}",
        "@RateLimiter(condition = \"outsiders\", rules = @RateRule) void call() {}",
        "@RateLimiter(condition = \"#{!draft}\", rules = @RateRule) void call(boolean draft) {}",
        "@RateLimiter(countIf = \"misses\", rules = @RateRule) void call() {}",
        "@RateLimiter(countIf = \"#{status == 404 and !draft}\", rules = @RateRule) void call(boolean draft) {}",
        "@RateLimiter(message = \"{sms.too-many}\", rules = @RateRule) void call() {}",
        "@RateLimiter(resolver = Tenant.class, rules = @RateRule) @RateLimiter(resolver = Owner.class, cost = \"2\", rules = @RateRule) void call() {}",
        "@RateLimiter(cost = \"5\", resultCost = Rows.class, rules = @RateRule) List<String> call() { return List.of(); }",
        "@RateLimiter(cost = \"5\", resultCost = Rows.class, stream = @StreamBudget(step = 10, end = StreamEnd.CUT), rules = @RateRule) reactor.core.publisher.Flux<String> call() { return null; }",
        "@RateRule(custom = @Custom(Fading.class)) @RateRule(custom = @Custom(value = Other.class, parameters = 2)) void call() {}",
        "@RateLimiter(cost = \"#{rows}\", subject = \"#{name}\", rules = @RateRule, preventDuplicate = true, duplicate = @Duplicate(key = \"#{name}\")) void call(int rows, String name) {}",
        "@PreventDuplicate(by = DuplicateBy.ARGUMENTS) void call(Order order, List<Order> more, Map<String, Object> rest, int[] numbers, Verdict verdict) {}",
        "@PreventDuplicate(by = DuplicateBy.ARGUMENTS) <T> void call(T any, Plain notIntrospectedHere) {}",
        "@PreventDuplicate void call(java.io.InputStream in) {}",
        "@Scheduled(fixedDelay = \"1d\") @RateRule(limitType = LimitType.GLOBAL) void call() {}",
        "@Scheduled(fixedDelay = \"1d\") @RateLimiter(condition = \"insideOfRequests\", rules = @RateRule) void call() {}",
        "@Scheduled(fixedDelay = \"1d\") @RateLimiter(resolver = Tenant.class, rules = @RateRule) void call() {}",
        "@RateRule(counts = Counts.FAILURES) CompletableFuture<String> call() { return null; }",
        "@RateLimiter(value = \"orders\", limitType = LimitType.USER_ID, anonymousRules = @RateRule(count = 2), rules = @RateRule(count = 3), ban = @Ban(violations = 3)) void call() {}",
        "@RateRule @ConcurrencyLimit(3) @PreventDuplicate void call(String name) {}",
        "@RateLimiter(lease = \"100ms\", rules = @RateRule(count = 1000)) void call() {}",
        "@RateLimiter(lease = \"${leases.search}\", rules = @RateRule(time = 1)) void call() {}",
        "@RateRule(count = 2, time = 1, leakyBucket = @LeakyBucket(queue = 10)) void call() {}",
      })
  void compiles(String method) {
    String source =
        """
        @Singleton class Bean {
          %s
          static String helper() { return ""; }
        }
        interface Tenant extends SubjectResolver {}
        interface Owner extends SubjectResolver {}
        interface Rows extends ResultCost {}
        interface Fading extends io.limiter.core.rule.CustomAlgorithm {}
        interface Other extends io.limiter.core.rule.CustomAlgorithm {}
        @Introspected record Order(String customer, List<Order> parts) {}
        class Plain {}
        """;
    assertThat(Compilation.of(output, source.formatted(method)).errors()).isEmpty();
    LoggerContext logs = (LoggerContext) LoggerFactory.getILoggerFactory();
    assertThat(logs.getLoggerList())
        .extracting(Logger::getName)
        .as("a compiler mostly has no SLF4J provider, and a log would report that")
        .noneMatch(name -> name.startsWith("io.limiter."));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        """
        @Controller("/a") @RateRule @RateLimiter(key = "shop", rules = @RateRule(count = 50))
        class Shop {
          @Get("/b") @NoRateLimit String b() { return ""; }
          @Get("/c") @RateRule(count = 2, time = 1) String c() { return ""; }
          @io.micronaut.http.annotation.Error Future<String> failed(RuntimeException e) { return null; }
          static void main(String[] arguments) {}
        }
        """,
        """
        @Controller("/a")
        class Login {
          @Get("/b")
          @RateLimiter(beforeSecurity = true, failedOn = 401, rules = @RateRule(count = 5, time = 900, counts = Counts.FAILURES))
          String b() { return ""; }
        }
        """,
        """
        @Factory
        class Beans {
          @Singleton @RateLimiter(key = "made", rules = @RateRule(algorithm = Algorithm.CONCURRENCY_LIMIT)) Made made() { return new Made(); }
        }
        class Made { public void call() {} }
        """,
        """
        interface Api { @Get("/x") @RateLimiter(beforeSecurity = true, rules = @RateRule) String x(); }
        @Controller class Answers implements Api { @Override public String x() { return ""; } }
        """,
        """
        abstract class Submissions<T> {
          @PreventDuplicate(by = DuplicateBy.ARGUMENTS) void submit(T what) {}
        }
        @Singleton class Orders extends Submissions<Map<String, Object>> {}
        """,
        """
        @RateRule(count = 1, time = 60, subject = "#{phone}")
        @RateRule(count = 1_000, time = 1, timeUnit = TimeUnit.HOURS, limitType = LimitType.GLOBAL)
        @Inherited @Retention(RetentionPolicy.RUNTIME) @interface SmsCode {}
        @Singleton class Sender { @SmsCode void send(String phone) {} }
        """
      })
  void compilesAsAWhole(String source) {
    assertThat(Compilation.of(output, source).errors()).isEmpty();
  }
}
