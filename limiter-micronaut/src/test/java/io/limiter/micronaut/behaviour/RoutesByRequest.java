// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

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
 * address.
 */
@Controller("/by-request")
@Requires(property = "spec.name", value = RoutesByRequest.SPEC)
class RoutesByRequest {

  /** Three a minute and ten an hour for each address. */
  @Retention(RetentionPolicy.RUNTIME)
  @RateRule(count = 3, time = 60)
  @RateRule(count = 10, time = 3600)
  @interface Limited {}

  static final String SPEC = "LimitedRoutes";
  private static final String OK = "ok";

  @Get("/sync")
  @Limited
  String sync() {
    return OK;
  }

  @Get("/response")
  @Limited
  HttpResponse<String> response() {
    return HttpResponse.created(OK);
  }

  @Get("/stage")
  @Limited
  CompletionStage<String> stage() {
    return CompletableFuture.supplyAsync(() -> OK);
  }

  @Get("/mono")
  @Limited
  Mono<String> mono() {
    return Mono.just(OK);
  }

  @Get("/mono-response")
  @Limited
  Mono<HttpResponse<String>> monoResponse() {
    return Mono.just(HttpResponse.created(OK));
  }

  @Get("/flux")
  @Limited
  Flux<Map<String, Integer>> flux() {
    return numbers();
  }

  @Get("/stream")
  @Produces(MediaType.APPLICATION_JSON_STREAM)
  @Limited
  Flux<Map<String, Integer>> stream() {
    return numbers();
  }

  @Get("/events")
  @Produces(MediaType.TEXT_EVENT_STREAM)
  @Limited
  Flux<Event<Integer>> events() {
    return Flux.just(Event.of(1), Event.of(2));
  }

  @Get("/nothing")
  @Status(HttpStatus.NO_CONTENT)
  @Limited
  void nothing() {}

  @Get("/elsewhere")
  @ExecuteOn(TaskExecutors.BLOCKING)
  @Limited
  String elsewhere() {
    return OK;
  }

  @Post("/body")
  @Limited
  String body(@Body Map<String, String> order) {
    return order.get("item");
  }

  @Post("/body-stage")
  @Limited
  CompletionStage<String> bodyStage(@Body Map<String, String> order) {
    return CompletableFuture.completedFuture(order.get("item"));
  }

  @Post(value = "/upload", consumes = MediaType.MULTIPART_FORM_DATA)
  @Limited
  String upload(CompletedFileUpload file) throws IOException {
    return RouteKind.describe(file);
  }

  @Get("/unlimited")
  String unlimited() {
    return OK;
  }

  private static Flux<Map<String, Integer>> numbers() {
    return Flux.just(Map.of("n", 1), Map.of("n", 2));
  }
}
