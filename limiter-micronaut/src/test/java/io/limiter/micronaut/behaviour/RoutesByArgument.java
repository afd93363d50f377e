// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MediaType;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.Produces;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.annotation.Status;
import io.micronaut.http.multipart.CompletedFileUpload;
import io.micronaut.http.sse.Event;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import java.io.IOException;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Routes of every {@link RouteKind}, each limited to three a minute and ten an hour for each
 * argument. Their expression names a type, of which the gate calls nothing, so the guard decides.
 */
@Controller("/by-argument")
@Requires(property = "spec.name", value = RoutesByRequest.SPEC)
class RoutesByArgument {

  /** Three a minute and ten an hour for each argument. */
  @Retention(RetentionPolicy.RUNTIME)
  @RateLimiter(
      subject = "#{T(java.util.Objects).toString(who)}",
      rules = {@RateRule(count = 3, time = 60), @RateRule(count = 10, time = 3600)})
  @interface Limited {}

  private static final String OK = "ok";

  @Get("/sync")
  @Limited
  String sync(@QueryValue String who) {
    return OK;
  }

  @Get("/response")
  @Limited
  HttpResponse<String> response(@QueryValue String who) {
    return HttpResponse.created(OK);
  }

  @Get("/stage")
  @Limited
  CompletionStage<String> stage(@QueryValue String who) {
    return CompletableFuture.supplyAsync(() -> OK);
  }

  @Get("/mono")
  @Limited
  Mono<String> mono(@QueryValue String who) {
    return Mono.just(OK);
  }

  @Get("/mono-response")
  @Limited
  Mono<HttpResponse<String>> monoResponse(@QueryValue String who) {
    return Mono.just(HttpResponse.created(OK));
  }

  @Get("/flux")
  @Limited
  Flux<Map<String, Integer>> flux(@QueryValue String who) {
    return numbers();
  }

  @Get("/stream")
  @Produces(MediaType.APPLICATION_JSON_STREAM)
  @Limited
  Flux<Map<String, Integer>> stream(@QueryValue String who) {
    return numbers();
  }

  @Get("/events")
  @Produces(MediaType.TEXT_EVENT_STREAM)
  @Limited
  Flux<Event<Integer>> events(@QueryValue String who) {
    return Flux.just(Event.of(1), Event.of(2));
  }

  @Get("/nothing")
  @Status(HttpStatus.NO_CONTENT)
  @Limited
  void nothing(@QueryValue String who) {}

  @Get("/elsewhere")
  @ExecuteOn(TaskExecutors.BLOCKING)
  @Limited
  String elsewhere(@QueryValue String who) {
    return OK;
  }

  @Post("/body")
  @Limited
  String body(@Body Map<String, String> order, @QueryValue String who) {
    return order.get("item");
  }

  @Post("/body-stage")
  @Limited
  CompletionStage<String> bodyStage(@Body Map<String, String> order, @QueryValue String who) {
    return CompletableFuture.completedFuture(order.get("item"));
  }

  @Post(value = "/upload", consumes = MediaType.MULTIPART_FORM_DATA)
  @Limited
  String upload(CompletedFileUpload file, @QueryValue String who) throws IOException {
    return RouteKind.describe(file);
  }

  private static Flux<Map<String, Integer>> numbers() {
    return Flux.just(Map.of("n", 1), Map.of("n", 2));
  }
}
