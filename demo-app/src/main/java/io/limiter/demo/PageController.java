// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.limiter.micronaut.plan.LimitPolicies;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Nullable;
import io.micronaut.http.HttpHeaders;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.PathVariable;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.Produces;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.exceptions.HttpStatusException;
import io.micronaut.http.sse.Event;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpRequest.BodyPublishers;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Pattern;
import reactor.core.publisher.Flux;

/**
 * The page at {@code /}, its stream of events, and what its buttons start. It has no limits of its
 * own.
 */
@Controller
@Requires(missingProperty = Instances.BESIDE)
class PageController {

  /** The field by which a page marks its own calls. */
  static final String PAGE = "X-Page";

  private static final String POLICY =
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
          + "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

  private static final List<String> FORWARDED =
      List.of(
          HttpHeaders.ACCEPT,
          HttpHeaders.ACCEPT_LANGUAGE,
          HttpHeaders.AUTHORIZATION,
          HttpHeaders.CONTENT_TYPE,
          "Idempotency-Key",
          "X-Api-Key",
          PAGE);

  /** What is forwarded: the cards, and nothing that changes the demo. */
  private static final Pattern LIMITED =
      Pattern.compile(
          "articles|sms/code|orders|checkout|checkout/payment|reports|feed|me|account|partners|search|quota|global|"
              + "items|slow|login|export|health-free|algorithms/(log|window|bucket|leaky)");

  private static final String SHARED = "/reports";

  private final Live live;
  private final Cards cards;
  private final Instances instances;
  private final Flood flood;
  private final LimitPolicies policies;

  PageController(Live live, Cards cards, Instances instances, Flood flood, LimitPolicies policies) {
    this.live = live;
    this.cards = cards;
    this.instances = instances;
    this.flood = flood;
    this.policies = policies;
  }

  @Get
  @Produces(MediaType.ALL) // a browser may accept nothing but HTML
  HttpResponse<String> page() {
    return file("index.html", MediaType.TEXT_HTML_TYPE);
  }

  @Get("/page.css")
  @Produces(MediaType.ALL)
  HttpResponse<String> style() {
    return file("page.css", MediaType.TEXT_CSS_TYPE);
  }

  @Get("/page.js")
  @Produces(MediaType.ALL)
  HttpResponse<String> script() {
    return file("page.js", new MediaType("text/javascript"));
  }

  @Get("/page.svg")
  @Produces(MediaType.ALL)
  HttpResponse<String> icon() {
    return file("page.svg", new MediaType("image/svg+xml"));
  }

  private static MutableHttpResponse<String> file(String name, MediaType type) {
    return HttpResponse.ok(Cards.read("/public/" + name))
        .contentType(new MediaType(type.getName() + ";charset=utf-8"))
        .header("Content-Security-Policy", POLICY)
        .header("X-Content-Type-Options", "nosniff")
        .header("Referrer-Policy", "no-referrer")
        .header(HttpHeaders.CACHE_CONTROL, "no-cache");
  }

  /** The cards with their sources and rules. */
  @Get("/page/cards")
  Map<String, Object> cards() {
    return cards.all();
  }

  /** What happens, as it happens. */
  @Get("/events")
  @Produces(MediaType.TEXT_EVENT_STREAM)
  Flux<Event<Map<String, Object>>> events(
      HttpRequest<?> request, @QueryValue(defaultValue = "") String page) {
    if (Here.isForeign(request)) {
      throw new HttpStatusException(HttpStatus.FORBIDDEN, "Only for the demo's own page");
    }
    live.requireRoom();
    return live.stream(request, page);
  }

  /** The second instance. */
  @Post("/page/instances/{command}")
  @ExecuteOn(TaskExecutors.BLOCKING)
  Map<String, Object> instances(HttpRequest<?> request, String command) {
    Here.require(request);
    switch (command) {
      case "start" -> {
        URI unused = started(Instances.Kind.SECOND);
      }
      case "stop" -> instances.stop(Instances.Kind.SECOND);
      case "burst" -> {
        URI unused = started(Instances.Kind.SECOND);
        return instances.burst(
            SHARED,
            request.getRemoteAddress().getAddress(),
            request.getHeaders().get(PAGE, String.class).orElse("none"));
      }
      default ->
          throw new HttpStatusException(
              HttpStatus.NOT_FOUND, "Use /page/instances/start, /burst or /stop");
    }
    return Map.of("done", command);
  }

  /** Very many calls of one subject to both instances. */
  @Post("/page/flood")
  @ExecuteOn(TaskExecutors.BLOCKING)
  Map<String, Object> flood(HttpRequest<?> request) {
    Here.require(request);
    URI first = instances.own(request.getRemoteAddress().getAddress());
    return Map.of("instances", flood.run(first, started(Instances.Kind.SECOND)));
  }

  /**
   * Makes all policies only observe, or deny again, through the operators' endpoint of each
   * instance.
   */
  @Post("/page/observe/{observe}")
  @ExecuteOn(TaskExecutors.BLOCKING)
  Map<String, Object> observe(HttpRequest<?> request, boolean observe) {
    Here.require(request);
    List<URI> all = new ArrayList<>(instances.beside());
    all.add(instances.own(request.getRemoteAddress().getAddress()));
    instances.showObserved(observe);
    int changed = 0;
    for (URI instance : all) {
      changed += observe(instance, observe);
    }
    return Map.of("changed", changed);
  }

  /** An instance, which observes if all do. */
  private URI started(Instances.Kind kind) {
    boolean known = instances.runs(kind);
    URI instance = instances.start(kind);
    if (!known && instances.observed()) {
      int unused = observe(instance, true);
    }
    return instance;
  }

  private int observe(URI instance, boolean observe) {
    int changed = 0;
    for (String policy : policies.names()) {
      changed += observe(instance, policy, observe) == HttpStatus.OK.getCode() ? 1 : 0;
    }
    return changed;
  }

  private int observe(URI instance, String policy, boolean observe) {
    String path = "/limits/" + URLEncoder.encode(policy, StandardCharsets.UTF_8);
    return instances
        .send(
            java.net.http.HttpRequest.newBuilder(instance.resolve(path))
                .header(HttpHeaders.AUTHORIZATION, Operators.BASIC)
                .header(HttpHeaders.CONTENT_TYPE, MediaType.APPLICATION_JSON)
                .POST(BodyPublishers.ofString("{\"observe\":%b}".formatted(observe))))
        .join()
        .statusCode();
  }

  /** Forwards a call to an instance with another format of denials. */
  @Get("/via/{format}/{+path}")
  @ExecuteOn(TaskExecutors.BLOCKING)
  CompletableFuture<HttpResponse<String>> get(
      HttpRequest<?> request, @PathVariable String format, @PathVariable String path) {
    return forward(request, format, path, null);
  }

  /** Forwards a call to an instance with another format of denials. */
  @Post(value = "/via/{format}/{+path}", consumes = MediaType.ALL)
  @ExecuteOn(TaskExecutors.BLOCKING)
  CompletableFuture<HttpResponse<String>> post(
      HttpRequest<?> request,
      @PathVariable String format,
      @PathVariable String path,
      @Nullable @Body String body) {
    return forward(request, format, path, body == null ? "" : body);
  }

  private CompletableFuture<HttpResponse<String>> forward(
      HttpRequest<?> request, String format, String path, @Nullable String body) {
    Here.require(request);
    Instances.Kind kind =
        Instances.Kind.of(format)
            .orElseThrow(
                () -> new HttpStatusException(HttpStatus.NOT_FOUND, "No format " + format));
    if (!LIMITED.matcher(path).matches()) {
      throw new HttpStatusException(HttpStatus.NOT_FOUND, "Not forwarded");
    }
    String query = request.getUri().getRawQuery();
    URI target = started(kind).resolve('/' + path + (query == null ? "" : '?' + query));
    java.net.http.HttpRequest.Builder call =
        java.net.http.HttpRequest.newBuilder(target)
            .header("X-Forwarded-For", request.getRemoteAddress().getAddress().getHostAddress());
    for (String field : FORWARDED) {
      String value = request.getHeaders().get(field);
      if (value != null) {
        call.header(field, value);
      }
    }
    if (body != null) {
      call.POST(BodyPublishers.ofString(body));
    }
    return instances.send(call).thenApply(PageController::answer);
  }

  private static HttpResponse<String> answer(java.net.http.HttpResponse<String> from) {
    MutableHttpResponse<String> answer =
        HttpResponse.<String>status(HttpStatus.valueOf(from.statusCode())).body(from.body());
    from.headers()
        .map()
        .forEach(
            (name, values) -> {
              if (!List.of("connection", "content-length", "transfer-encoding", "date")
                  .contains(name)) {
                values.forEach(value -> answer.header(name, value));
              }
            });
    return answer;
  }
}
