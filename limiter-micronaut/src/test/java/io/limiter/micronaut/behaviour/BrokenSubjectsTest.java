// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.limiter.micronaut.subject.ClientAddress;
import io.micronaut.context.annotation.Replaces;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.convert.ConversionContext;
import io.micronaut.core.convert.TypeConverter;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Error;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The application's own code that determines the subject fails: no call is admitted uncounted,
 * nothing is counted, and what was thrown reaches the application's handlers as if the method had
 * thrown it.
 */
class BrokenSubjectsTest {

  static final String SPEC = "BrokenSubjectsTest";

  @AutoClose private final TestServer server = TestServer.start(SPEC);
  private final BrokenSubjectRoutes routes = server.bean(BrokenSubjectRoutes.class);

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/broken/resolver",
        "/broken/resolver/stage",
        "/broken/resolver/with-address",
        "/broken/resolver/by-argument",
        "/broken/resolver/duplicate",
        "/broken/address",
        "/broken/expression",
        "/broken/expression/stage",
        "/broken/expression/duplicate-key"
      })
  void anExceptionOfASubjectIsLeftToTheApplication(String path) {
    for (int i = 0; i < 3; i++) {
      assertFailed(path + "?how=thrown", 418, "handled: no tenant");
      assertFailed(path + "?how=checked", 500, "");
      assertFailed(path + "?how=error", 500, "");
    }
    assertThat(server.get(path + "?how=well").statusCode()).isEqualTo(200);
    assertThat(routes.entered).hasValue(1);
  }

  @Test
  void aResolverThatGivesNullIsNamedWithTheRemedy() {
    assertFailed(
        "/broken/resolver?how=null",
        Tenant.class.getName()
            + " returned null: let it return Optional.empty() where there is no subject");
  }

  @ParameterizedTest
  @ValueSource(strings = {"null", "blank"})
  void aMissingAddressIsReportedWithTheRemedy(String how) {
    assertFailed(
        "/broken/address?how=" + how,
        Address.class.getName()
            + " returned no address: let it return one for every request, such as that of the connection");
  }

  /** An expression may call Java's own methods on what the caller sent. */
  @ParameterizedTest
  @CsvSource({"ab,200", "a,400"})
  void invalidInputIsABadRequest(String text, int status) {
    assertThat(server.get("/broken/cut?text=" + text).statusCode()).isEqualTo(status);
  }

  private void assertFailed(String path, String logged) {
    try (LoggedWarnings warnings = LoggedWarnings.begin()) {
      assertFailed(path, 500, "");
      assertThat(warnings.unhandled())
          .singleElement(InstanceOfAssertFactories.STRING)
          .contains(logged);
    }
  }

  private void assertFailed(String path, int status, String message) {
    java.net.http.HttpResponse<String> answer = server.get(path);

    assertThat(answer.statusCode()).as(path).isEqualTo(status);
    assertThat(answer.body()).contains(message);
    assertThat(answer.headers().map()).doesNotContainKeys("ratelimit", "retry-after");
    assertThat(routes.entered).hasValue(0);
    assertThat(server.keys().all()).isEmpty();
  }

  /** Fails as the request states. */
  private static String fail(String how) {
    return switch (how) {
      case "thrown" -> throw new TenantException("no tenant");
      case "checked" -> throw BrokenSubjectsTest.<RuntimeException>sneaky(new IOException("disk"));
      case "error" -> throw new AssertionError("no tenant");
      case "null" -> null;
      case "blank" -> " ";
      default -> "acme";
    };
  }

  @SuppressWarnings("unchecked")
  private static <T extends Throwable> T sneaky(Throwable failure) throws T {
    throw (T) failure;
  }

  private static String how(HttpRequest<?> request) {
    return request.getParameters().get("how", String.class, "well");
  }

  static final class TenantException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    TenantException(String message) {
      super(message);
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Tenant implements SubjectResolver {
    @Override
    public Optional<String> resolve(HttpRequest<?> request) {
      String tenant = fail(how(request));
      return tenant == null ? null : Optional.of(tenant);
    }
  }

  @Singleton
  @Replaces(ClientAddress.class)
  @Requires(property = "spec.name", value = SPEC)
  static class Address implements ClientAddress {
    @Override
    public String of(HttpRequest<?> request) {
      return request.getPath().endsWith("/broken/address") ? fail(how(request)) : "198.51.100.7";
    }
  }

  /** Asked by expressions. */
  public record Order(String how) {
    public String owner() {
      return fail(how);
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Orders implements TypeConverter<CharSequence, Order> {
    @Override
    public Optional<Order> convert(CharSequence how, Class<Order> type, ConversionContext context) {
      return Optional.of(new Order(how.toString()));
    }
  }

  /** Limited by code that fails, each in another way. */
  @Controller("/broken")
  @Requires(property = "spec.name", value = BrokenSubjectsTest.SPEC)
  static class BrokenSubjectRoutes {

    final AtomicInteger entered = new AtomicInteger();

    @Get("/resolver")
    @RateLimiter(resolver = BrokenSubjectsTest.Tenant.class, rules = @RateRule(count = 9))
    String resolver() {
      return entered();
    }

    @Get("/resolver/stage")
    @RateLimiter(resolver = BrokenSubjectsTest.Tenant.class, rules = @RateRule(count = 9))
    CompletionStage<String> stage() {
      return CompletableFuture.completedFuture(entered());
    }

    /** The rule that could count does not either. */
    @Get("/resolver/with-address")
    @RateLimiter(limitType = LimitType.IP, rules = @RateRule(count = 9))
    @RateLimiter(resolver = BrokenSubjectsTest.Tenant.class, rules = @RateRule(count = 9))
    String withAddress() {
      return entered();
    }

    @Get("/resolver/by-argument")
    @RateLimiter(subject = "#{how}", rules = @RateRule(count = 9))
    @RateLimiter(resolver = BrokenSubjectsTest.Tenant.class, rules = @RateRule(count = 9))
    String byArgument(@QueryValue String how) {
      return entered();
    }

    @Get("/resolver/duplicate")
    @RateLimiter(resolver = BrokenSubjectsTest.Tenant.class, preventDuplicate = true)
    String duplicate() {
      return entered();
    }

    @Get("/address")
    @RateRule(count = 9)
    String address() {
      return entered();
    }

    @Get("/expression")
    @RateLimiter(subject = "#{order.owner()}", rules = @RateRule(count = 9))
    String expression(@QueryValue("how") BrokenSubjectsTest.Order order) {
      return entered();
    }

    @Get("/expression/stage")
    @RateLimiter(subject = "#{order.owner()}", rules = @RateRule(count = 9))
    CompletionStage<String> expressionStage(@QueryValue("how") BrokenSubjectsTest.Order order) {
      return CompletableFuture.completedFuture(entered());
    }

    @Get("/expression/duplicate-key")
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(key = "#{order.owner()}"))
    String duplicateKey(@QueryValue("how") BrokenSubjectsTest.Order order) {
      return entered();
    }

    @Get("/cut")
    @RateLimiter(subject = "#{text.substring(1, 2)}", rules = @RateRule(count = 9))
    String cut(@QueryValue String text) {
      return entered();
    }

    private String entered() {
      entered.incrementAndGet();
      return "ok";
    }

    @Error(global = true)
    HttpResponse<String> handled(BrokenSubjectsTest.TenantException failure) {
      return HttpResponse.status(HttpStatus.I_AM_A_TEAPOT).body("handled: " + failure.getMessage());
    }
  }
}
