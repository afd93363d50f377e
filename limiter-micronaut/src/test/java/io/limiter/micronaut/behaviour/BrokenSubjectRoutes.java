// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Error;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;

/** Limited by code that fails, each in another way. */
@Controller("/broken")
@Requires(property = "spec.name", value = BrokenSubjectsTest.SPEC)
class BrokenSubjectRoutes {

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
