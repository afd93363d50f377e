// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Verdict;
import io.limiter.core.rule.CalendarPeriod;
import io.limiter.core.testing.RecordedLog;
import io.limiter.micronaut.annotation.CountCondition;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.FixedWindow;
import io.limiter.micronaut.annotation.LimitCondition;
import io.limiter.micronaut.annotation.PeriodAnchor;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.ResultCost;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.limiter.micronaut.annotation.Tiers;
import io.limiter.micronaut.denial.Denial;
import io.limiter.micronaut.denial.DenialBody;
import io.limiter.micronaut.event.LimiterEvent;
import io.limiter.micronaut.http.RateLimitFormat;
import io.limiter.micronaut.testing.StatedCallers;
import io.micronaut.context.MessageSource;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Introspected;
import io.micronaut.core.order.Ordered;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MutableHttpHeaders;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.context.ServerRequestContext;
import io.micronaut.http.server.util.locale.HttpLocaleResolver;
import io.micronaut.runtime.event.annotation.EventListener;
import jakarta.inject.Named;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.time.LocalDate;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import org.assertj.core.api.SoftAssertions;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Each bean of an application, failing in each way: what follows is what its contract states,
 * whether it throws an exception or an error.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class BrokenBeansTest {

  private static final String SPEC = "BrokenBeansTest";
  private static final String BEAN = "X-Broken";
  private static final String HOW = "X-How";

  private final TestServer server =
      TestServer.start(
          SPEC,
          Map.of(
              "test.stated-callers",
              true,
              "limiter.block.addresses",
              "203.0.113.9",
              "limiter.tiers.more.tiered.rules.1-per-60s.count",
              100));
  private int callers;

  @AfterAll
  void close() {
    server.close();
  }

  private enum How {
    EXCEPTION,
    ASSERTION,
    NO_CLASS,
    STACK,
    CHECKED,
    NULL
  }

  @ParameterizedTest
  @CsvSource({
    "condition, limited, 200, 429",
    "tiers, tiered, 200, 429",
    "tiers-later, tiered, 200, 429",
    "tiers-caller, tiered, 200, 429",
    "body, limited, 200, 429",
    "body-encoding, limited, 200, 429",
    "format, limited, 200, 429",
    "messages, limited, 200, 429",
    "locale, limited, 200, 429",
    "listener, limited, 200, 429",
    "cost, cost, 200, 429",
    "count, count, 200, 429",
    "resolver, resolver, 500, 500",
    "anchor, anchor, 500, 500",
  })
  void aBeanThatFailsHasTheStatedEffect(String bean, String route, int first, int second) {
    SoftAssertions softly = new SoftAssertions();
    for (How how : How.values()) {
      String[] headers = headers(bean, how);
      softly
          .assertThat(IntStream.range(0, 2).mapToObj(i -> server.get("/beans/" + route, headers)))
          .as("%s %s", bean, how)
          .extracting(HttpResponse::statusCode)
          .containsExactly(first, second);
    }
    softly.assertAll();
  }

  /** Otherwise a caller could avoid its limit with such a body. */
  @Test
  void aCallWhoseArgumentCannotBeReadCounts() {
    SoftAssertions softly = new SoftAssertions();
    for (How how : How.values()) {
      if (how != How.NULL) {
        String[] headers = headers("argument", how);
        softly
            .assertThat(
                IntStream.range(0, 2)
                    .mapToObj(i -> server.post("/beans/argument", "{\"n\":1}", headers)))
            .as("%s", how)
            .extracting(HttpResponse::statusCode)
            .containsExactly(500, 429);
      }
    }
    softly.assertAll();
  }

  @ParameterizedTest
  @CsvSource({"messages", "locale"})
  void aBlockedCallerStaysBlocked(String bean) {
    SoftAssertions softly = new SoftAssertions();
    for (How how : How.values()) {
      String[] headers = headers(bean, how);
      headers[1] = "203.0.113.9";
      softly
          .assertThat(server.get("/beans/limited", headers).statusCode())
          .as("%s %s", bean, how)
          .isEqualTo(403);
    }
    softly.assertAll();
  }

  /** The process cannot go on as if nothing had happened. */
  @Test
  void anErrorOfTheProcessIsThrown() {
    String[] headers = {StatedCallers.ADDRESS, "process", BEAN, "condition", HOW, "OUT_OF_MEMORY"};

    try (RecordedLog log = RecordedLog.of("io.limiter.micronaut")) {
      assertThat(server.get("/beans/limited", headers).statusCode()).isEqualTo(500);
      assertThat(log.messages()).isEmpty();
    }
  }

  private String[] headers(String bean, How how) {
    return new String[] {StatedCallers.ADDRESS, "broken-" + callers++, BEAN, bean, HOW, how.name()};
  }

  /** Fails as the current request states, if it is the turn of this bean. */
  private static <T> T pass(String bean, T otherwise) {
    HttpRequest<?> request = ServerRequestContext.currentRequest().orElse(null);
    return request == null ? otherwise : pass(request, bean, otherwise);
  }

  private static <T> T pass(HttpRequest<?> request, String bean, T otherwise) {
    if (!bean.equals(request.getHeaders().get(BEAN))) {
      return otherwise;
    }
    return switch (request.getHeaders().get(HOW)) {
      case "ASSERTION" -> throw new AssertionError("broken");
      case "NO_CLASS" -> throw new NoClassDefFoundError("broken");
      case "STACK" -> throw new StackOverflowError("broken");
      case "OUT_OF_MEMORY" -> throw new OutOfMemoryError("broken");
      case "CHECKED" -> throw BrokenBeansTest.<RuntimeException>sneaky(new IOException("broken"));
      case "NULL" -> null;
      default -> throw new IllegalStateException("broken");
    };
  }

  @SuppressWarnings("unchecked")
  private static <T extends Throwable> T sneaky(Throwable failure) throws T {
    throw (T) failure;
  }

  @Controller("/beans")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get("/limited")
    @RateLimiter(condition = "outsiders", rules = @RateRule(count = 1, time = 60))
    String limited() {
      return "ok";
    }

    @Get("/tiered")
    @RateLimiter(value = "tiered", rules = @RateRule(count = 1, time = 60))
    String tiered() {
      return "ok";
    }

    @Get("/cost")
    @RateLimiter(cost = "2", resultCost = Cost.class, rules = @RateRule(count = 2, time = 60))
    String cost() {
      return "ok";
    }

    @Get("/count")
    @RateLimiter(countIf = "misses", rules = @RateRule(count = 1, time = 60))
    String count() {
      return "ok";
    }

    @Get("/resolver")
    @RateLimiter(resolver = Tenant.class, rules = @RateRule(count = 1, time = 60))
    String resolver() {
      return "ok";
    }

    @Get("/anchor")
    @RateLimiter(
        rules =
            @RateRule(
                count = 1,
                fixedWindow = @FixedWindow(calendar = CalendarPeriod.MONTH, anchor = "days")))
    String anchor() {
      return "ok";
    }

    @Post("/argument")
    @RateLimiter(
        rules = @RateRule(count = 1, time = 60),
        preventDuplicate = true,
        duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    String argument(@Body Argument argument) {
      return "ok";
    }
  }

  @Introspected
  public static class Argument {
    private int n;

    public void setN(int n) {
      this.n = n;
    }

    public int getN() {
      return pass("argument", n);
    }
  }

  @Singleton
  @Named("outsiders")
  @Requires(property = "spec.name", value = SPEC)
  static class Outsiders implements LimitCondition {
    @Override
    public boolean limits(HttpRequest<?> request) {
      return pass(request, "condition", true);
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class PaidPlans implements Tiers {
    @Override
    public CompletionStage<String> of(HttpRequest<?> request) {
      if ("tiers-later".equals(request.getHeaders().get(BEAN))) {
        return CompletableFuture.supplyAsync(() -> pass(request, "tiers-later", "more"));
      }
      return pass(request, "tiers", CompletableFuture.completedFuture("free"));
    }

    @Override
    public Optional<String> caller(HttpRequest<?> request) {
      return pass(request, "tiers-caller", Optional.of(request.getHeaders().get(HOW)));
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Cost implements ResultCost {
    @Override
    public long of(Object result) {
      return pass("cost", 1L);
    }
  }

  @Singleton
  @Named("misses")
  @Requires(property = "spec.name", value = SPEC)
  static class Misses implements CountCondition {
    @Override
    public boolean counts(int status, Object result) {
      return pass("count", false);
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Tenant implements SubjectResolver {
    @Override
    public Optional<String> resolve(HttpRequest<?> request) {
      return pass(request, "resolver", Optional.of("tenant"));
    }
  }

  @Singleton
  @Named("days")
  @Requires(property = "spec.name", value = SPEC)
  static class Days implements PeriodAnchor {
    @Override
    public LocalDate anchor(String subject, Optional<HttpRequest<?>> request) {
      return pass("anchor", LocalDate.EPOCH);
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class OwnBody implements DenialBody {
    @Override
    public MutableHttpResponse<?> write(Denial denial, MutableHttpResponse<?> response) {
      return pass(denial.request(), "body", response).body(new Content(denial.request()));
    }
  }

  @Introspected
  public static class Content {
    private final HttpRequest<?> request;

    Content(HttpRequest<?> request) {
      this.request = request;
    }

    public String getText() {
      return pass(request, "body-encoding", "denied");
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class OwnFormat implements RateLimitFormat {
    @Override
    public void write(Verdict verdict, MutableHttpHeaders headers, boolean deniedBehind) {
      pass("format", "");
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class OwnMessages implements MessageSource {
    @Override
    public Optional<String> getRawMessage(String code, MessageContext context) {
      return pass("messages", Optional.empty());
    }

    @Override
    public String interpolate(String template, MessageContext context) {
      return template;
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class OwnLocales implements HttpLocaleResolver {
    @Override
    public Optional<Locale> resolve(HttpRequest<?> request) {
      return pass(request, "locale", Optional.of(Locale.ENGLISH));
    }

    @Override
    public Locale resolveOrDefault(HttpRequest<?> request) {
      return pass(request, "locale", Locale.ENGLISH);
    }

    @Override
    public int getOrder() {
      return Ordered.HIGHEST_PRECEDENCE;
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Listener {
    @EventListener
    void denied(LimiterEvent.CallDenied denied) {
      throw new AssertionError("listener");
    }
  }
}
