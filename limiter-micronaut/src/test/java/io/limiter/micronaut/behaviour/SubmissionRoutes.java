// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.PathVariable;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import jakarta.inject.Singleton;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;

/** Submissions that are accepted once a minute. */
@Controller("/submissions")
@Requires(property = "spec.name", value = SubmissionRoutes.SPEC)
class SubmissionRoutes {

  /** The same arguments of a caller. */
  @Retention(RetentionPolicy.RUNTIME)
  @RateLimiter(
      rules = @RateRule(count = 10, time = 60),
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(count = 1, time = 60),
      duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
  @interface OnceByArguments {}

  /** Any submission of a caller. */
  @Retention(RetentionPolicy.RUNTIME)
  @RateLimiter(
      rules = @RateRule(count = 10, time = 60),
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(count = 1, time = 60),
      duplicate = @Duplicate(by = DuplicateBy.CALLER))
  @interface OnceByCaller {}

  static final String SPEC = "Submissions";

  private static final String OK = "ok";

  private final Pending pending;

  SubmissionRoutes(Pending pending) {
    this.pending = pending;
  }

  /** The calls that wait until a test ends them, in the order in which they came. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static final class Pending {
    final Queue<CompletableFuture<String>> calls = new ConcurrentLinkedQueue<>();
  }

  @Post("/by-caller")
  @OnceByCaller
  String byCaller(@Body Map<String, Object> order) {
    return OK;
  }

  @Post("/by-arguments/{shop}")
  @OnceByArguments
  String byArguments(@PathVariable String shop, @Body Map<String, Object> order) {
    return OK;
  }

  @Post("/number")
  @OnceByArguments
  String number(@QueryValue double value) {
    return OK;
  }

  @Post("/twice")
  @RateLimiter(
      rules = @RateRule(count = 10, time = 60),
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(count = 2, time = 60))
  String twice() {
    return OK;
  }

  @Post("/limit-first")
  @RateLimiter(
      rules = @RateRule(count = 1, time = 60),
      preventDuplicate = true,
      preventDuplicateRule = @RateRule(count = 1, time = 3600))
  String limitFirst() {
    return OK;
  }

  @Post("/guard-only")
  @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(count = 1, time = 60))
  String guardOnly() {
    return OK;
  }

  @Post("/pending-by-caller")
  @OnceByCaller
  CompletionStage<String> pendingByCaller(@Body Map<String, Object> order) {
    return begin();
  }

  @Post("/pending-by-arguments")
  @OnceByArguments
  CompletionStage<String> pendingByArguments(@Body Map<String, Object> order) {
    return begin();
  }

  private CompletableFuture<String> begin() {
    CompletableFuture<String> call = new CompletableFuture<>();
    pending.calls.add(call);
    return call;
  }
}
