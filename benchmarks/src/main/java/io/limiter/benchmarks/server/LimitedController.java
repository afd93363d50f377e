// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.server;

import io.limiter.idempotency.Idempotent;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.MediaType;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Header;
import io.micronaut.http.annotation.PathVariable;
import io.micronaut.http.annotation.QueryValue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** The same method without a limit, and with two rules that are never reached. */
@Controller(produces = MediaType.TEXT_PLAIN)
class LimitedController {

  private static final String OK = "ok";

  @Get("/plain")
  String plain() {
    return OK;
  }

  /** Decided in the gate. */
  @Get("/limited")
  @RateLimiter(
      resolver = Subjects.class,
      rules = {@RateRule(count = 1_000, time = 60), @RateRule(count = 10_000, time = 3_600)})
  String limited() {
    return OK;
  }

  /** Decided in the gate. */
  @Get("/limited-async")
  @RateLimiter(
      resolver = Subjects.class,
      rules = {@RateRule(count = 1_000, time = 60), @RateRule(count = 10_000, time = 3_600)})
  CompletionStage<String> limitedAsync() {
    return CompletableFuture.completedFuture(OK);
  }

  /** One subject, decided in the gate. */
  @Get("/hot")
  @RateLimiter(
      limitType = LimitType.GLOBAL,
      rules = @RateRule(count = 1_000_000_000, time = 60, algorithm = Algorithm.FIXED_WINDOW))
  String hot() {
    return OK;
  }

  /** The same, by leases. */
  @Get("/hot-leased")
  @RateLimiter(
      limitType = LimitType.GLOBAL,
      lease = "100ms",
      rules = @RateRule(count = 1_000_000_000, time = 60, algorithm = Algorithm.FIXED_WINDOW))
  String hotLeased() {
    return OK;
  }

  /** The rule of {@code /hot}, and an answer that is kept: each request has a key of its own. */
  @Get("/first")
  @Idempotent(header = Keys.OWNER, retain = "1h")
  @RateLimiter(
      limitType = LimitType.GLOBAL,
      rules = @RateRule(count = 1_000_000_000, time = 60, algorithm = Algorithm.FIXED_WINDOW))
  String first() {
    return OK;
  }

  /** The same with one key: but for the first request, the answer is repeated. */
  @Get("/replayed")
  @Idempotent(header = Keys.OWNER, retain = "1h")
  @RateLimiter(
      limitType = LimitType.GLOBAL,
      rules = @RateRule(count = 1_000_000_000, time = 60, algorithm = Algorithm.FIXED_WINDOW))
  String replayed() {
    return OK;
  }

  /** Decided in the gate, which binds all three arguments. */
  @Get("/limited-arg/{shop}")
  @RateLimiter(
      subject = "#{shop + page + caller}",
      rules = {@RateRule(count = 1_000, time = 60), @RateRule(count = 10_000, time = 3_600)})
  String limitedArg(
      @PathVariable String shop, @QueryValue int page, @Header(CallerHeader.NAME) String caller) {
    return OK;
  }

  /** Decided in the guard, which waits on a thread that may block. */
  @Get("/limited-call")
  @RateLimiter(
      subject = "#{caller.name}",
      rules = {@RateRule(count = 1_000, time = 60), @RateRule(count = 10_000, time = 3_600)})
  String limitedCall(Caller caller) {
    return OK;
  }

  /** Decided in the guard, without waiting. */
  @Get("/limited-call-async")
  @RateLimiter(
      subject = "#{caller.name}",
      rules = {@RateRule(count = 1_000, time = 60), @RateRule(count = 10_000, time = 3_600)})
  CompletionStage<String> limitedCallAsync(Caller caller) {
    return CompletableFuture.completedFuture(OK);
  }

  /** Two subjects, one of them an argument: decided together in the guard. */
  @Get("/one-decision")
  @RateLimiter(resolver = Subjects.class, rules = @RateRule(count = 1_000, time = 60))
  @RateLimiter(
      value = "argument",
      subject = "#{caller.name}",
      rules = @RateRule(count = 1_000, time = 60))
  CompletionStage<String> oneDecision(Caller caller) {
    return CompletableFuture.completedFuture(OK);
  }

  /** The same, the first in the gate and the second in the guard. */
  @Get("/two-decisions")
  @RateLimiter(resolver = Subjects.class, early = true, rules = @RateRule(count = 1_000, time = 60))
  @RateLimiter(
      value = "argument",
      subject = "#{caller.name}",
      rules = @RateRule(count = 1_000, time = 60))
  CompletionStage<String> twoDecisions(Caller caller) {
    return CompletableFuture.completedFuture(OK);
  }
}
