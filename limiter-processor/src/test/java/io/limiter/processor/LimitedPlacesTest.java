// SPDX-License-Identifier: Apache-2.0
package io.limiter.processor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.micronaut.runtime.server.EmbeddedServer;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Each place of a limit: it works in a running application, or the compiler says that it cannot.
 */
@Tag("matrix")
class LimitedPlacesTest {

  private static final String ROUTES =
      """
      import io.micronaut.aop.*;
      import io.micronaut.context.BeanContext;
      import io.micronaut.context.event.*;
      import io.micronaut.core.order.Ordered;
      import io.micronaut.http.filter.*;
      import io.micronaut.http.server.exceptions.ExceptionHandler;
      import io.micronaut.management.endpoint.annotation.*;
      import io.micronaut.runtime.event.annotation.EventListener;
      import io.micronaut.scheduling.annotation.ExecuteOn;
      import io.micronaut.websocket.WebSocketSession;
      import io.micronaut.websocket.annotation.*;
      import jakarta.annotation.*;
      import jakarta.inject.Inject;
      import org.reactivestreams.Publisher;
      import reactor.core.publisher.ConnectableFlux;
      @Controller class Routes {
        @Inject Optional<Bean> bean;
        @Get("/free") String free() { return "ok"; }
        @Get("/fail") String fail() { throw new IllegalStateException(); }
        @Get("/call") @ExecuteOn("blocking") String call() { bean.get().call(); return "ok"; }
      }
      """;

  private static final String NO_ROUTES =
      "a limited class: it has no routes that a limit could apply to: put the limit on the intended methods";
  private static final String EVENT_LOOP =
      "a limited method: Micronaut calls it on an event loop, which must not wait for a decision: limit routes, or paths under limiter.routes";
  private static final String NO_CALL =
      "a limited method: there is no call that could be denied: limit @OnOpen or @OnMessage";
  private static final String NOT_WOVEN =
      "a limited method: Micronaut calls it once for each bean, and does not weave it: remove the limit";
  private static final String OF_LIMITER =
      "a limited method: the limiter calls it while it decides other calls: remove the limit";

  private static final String NO_CLASS =
      ": the limiter returns one around that of the method, and can make none of this class: return a CompletionStage, a Publisher, a Flux or a Mono";

  @TempDir private Path output;

  static Stream<Arguments> works() {
    return Stream.of(
        arguments("@Singleton class Bean { @RateRule(count = 1) void call() {} }", "/call"),
        arguments(
            "@Singleton class Bean { @RateRule(count = 1) protected void call() {} }", "/call"),
        arguments(
            "@Singleton class Bean { @RateRule(count = 1) public String toString() { return \"\"; } void call() { toString(); } }",
            "/call"),
        arguments(
            "abstract class Parent { @RateRule(count = 1) void call() {} } @Singleton class Bean extends Parent {}",
            "/call"),
        arguments(
            "interface Api { @RateRule(count = 1) default void call() {} } @Singleton class Bean implements Api {}",
            "/call"),
        arguments(
            "@Factory class Makers { @Singleton @RateRule(count = 1) Bean bean() { return () -> {}; } } interface Bean { void call(); }",
            "/call"),
        arguments(
            "@Factory class Bean { @Singleton StringBuilder made() { return null; } @RateRule(count = 1) void call() {} }",
            "/call"),
        arguments(
            "@Singleton class Bean { @Executable(processOnStartup = true) @RateRule(count = 1) void call() {} }",
            "/call"),
        arguments(
            "@Singleton class Bean { @Inject ApplicationEventPublisher<String> events; @EventListener @RateRule(count = 1) void on(String event) {} void call() { events.publishEvent(\"\"); } }",
            "/call"),
        arguments(
            "@Singleton class Bean implements ApplicationEventListener<String> { @Inject ApplicationEventPublisher<String> events; @RateRule(count = 1) public void onApplicationEvent(String event) {} void call() { events.publishEvent(\"\"); } }",
            "/call"),
        arguments(
            "@Singleton class Bean { @Scheduled(fixedDelay = \"1d\", initialDelay = \"1d\") @RateRule(count = 1, limitType = LimitType.GLOBAL) void call() {} }",
            "/call"),
        arguments(
            "@Endpoint(id = \"own\", defaultSensitive = false) class Own { @Read @RateRule(count = 1) String read() { return \"\"; } } interface Bean { void call(); }",
            "/own"),
        arguments(
            "@Endpoint(id = \"own\", defaultSensitive = false) @RateRule(count = 1) class Own { @Read String read() { return \"\"; } } interface Bean { void call(); }",
            "/own"),
        arguments(
            "@ServerFilter(\"/**\") class Bean { @RequestFilter void see(HttpRequest<?> request) {} @RateRule(count = 1) void call() {} }",
            "/call"),
        arguments(
            "@Filter(\"/call\") class Own implements HttpServerFilter { @RateRule(count = 1) public Publisher<MutableHttpResponse<?>> doFilter(HttpRequest<?> request, ServerFilterChain chain) { return chain.proceed(request); } } @Singleton class Bean { void call() {} }",
            "/call"),
        arguments(
            "@Factory class Makers { @Singleton @RateRule(count = 1) Bean bean() { return new Bean(); } } class Bean implements Publisher<String> { public void call() {} public void subscribe(org.reactivestreams.Subscriber<? super String> items) {} }",
            "/call"),
        // The methods that Micronaut calls are free: on an event loop each request would fail.
        arguments(
            "@Singleton @RateRule(count = 1) class Bean implements ApplicationEventListener<Object>, Ordered { public void onApplicationEvent(Object event) {} void call() {} }",
            "/call"),
        arguments(
            "@Singleton @RateRule(count = 1) class Bean implements SubjectResolver { public Optional<String> resolve(HttpRequest<?> request) { return Optional.of(\"one\"); } void call() {} } @Controller class Other { @Get(\"/other\") @RateLimiter(resolver = Bean.class, rules = @RateRule) String other() { return \"\"; } }",
            "/call"));
  }

  @ParameterizedTest
  @MethodSource("works")
  void aLimitThatCompilesWorks(String source, String path) throws Exception {
    Compilation compiled = Compilation.of(output, ROUTES + source);
    assertThat(compiled.errors()).isEmpty();
    assertThat(compiled.warnings()).isEmpty();
    assertThat(
            compiled.<List<Integer>>start(
                context -> {
                  int port = context.getBean(EmbeddedServer.class).start().getPort();
                  return Stream.of("/free", path, path, "/free")
                      .map(each -> status(port, each))
                      .toList();
                }))
        .containsExactly(200, 200, 429, 200);
  }

  private static int status(int port, String path) {
    try {
      return HttpClient.newHttpClient()
          .send(
              HttpRequest.newBuilder(URI.create("http://localhost:" + port + path)).build(),
              BodyHandlers.discarding())
          .statusCode();
    } catch (IOException | InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  static Stream<Arguments> refused() {
    return Stream.of(
        arguments(
            "@ServerFilter(\"/**\") class Own { @RateRule @RequestFilter void see(HttpRequest<?> request) {} }",
            "@RequestFilter",
            EVENT_LOOP),
        arguments(
            "@ServerFilter(\"/**\") class Own { @RateRule @ResponseFilter void see(HttpRequest<?> request) {} }",
            "@ResponseFilter",
            EVENT_LOOP),
        arguments(
            "@ServerFilter(\"/**\") @RateRule class Own { @RequestFilter void see(HttpRequest<?> request) {} }",
            "@ServerFilter",
            NO_ROUTES),
        arguments(
            "@ClientFilter(\"/**\") class Own { @RateRule @RequestFilter void see(HttpRequest<?> request) {} }",
            "@RequestFilter",
            EVENT_LOOP),
        arguments(
            "@ClientFilter(\"/**\") @RateRule class Own { @RequestFilter void see(HttpRequest<?> request) {} }",
            "@ClientFilter",
            NO_ROUTES),
        arguments(
            "@Filter(\"/**\") @RateRule class Own implements HttpServerFilter { public Publisher<MutableHttpResponse<?>> doFilter(HttpRequest<?> request, ServerFilterChain chain) { return chain.proceed(request); } }",
            "@Filter",
            NO_ROUTES),
        arguments(
            "@Controller class Own { @RateRule @io.micronaut.http.annotation.Error(global = true) String handle(Exception e) { return \"\"; } }",
            "@Error",
            "a limited method: error routes cannot be limited: remove the limit"),
        arguments(
            "@Singleton class Own implements ExceptionHandler<IllegalStateException, HttpResponse<?>> { @RateRule public HttpResponse<?> handle(HttpRequest request, IllegalStateException e) { return null; } }",
            "ExceptionHandler",
            EVENT_LOOP),
        arguments(
            "@Singleton @RateRule class Own implements ExceptionHandler<IllegalStateException, HttpResponse<?>> { public HttpResponse<?> handle(HttpRequest request, IllegalStateException e) { return null; } }",
            "ExceptionHandler",
            NO_ROUTES),
        arguments(
            "@ServerWebSocket(\"/own\") class Own { @OnMessage void on(String message) {} @RateRule @OnClose void close(WebSocketSession session) {} }",
            "@OnClose",
            NO_CALL),
        arguments(
            "@ServerWebSocket(\"/own\") class Own { @OnMessage void on(String message) {} @RateRule @OnError void fail(WebSocketSession session) {} }",
            "@OnError",
            NO_CALL),
        arguments(
            "@ServerWebSocket(\"/own\") @RateRule class Own { @OnMessage void on(String message) {} }",
            "@ServerWebSocket",
            NO_ROUTES),
        arguments(
            "@Singleton class Own implements SubjectResolver { @RateRule public Optional<String> resolve(HttpRequest<?> request) { return null; } }",
            "resolve",
            OF_LIMITER),
        arguments(
            "@Controller class Own { @Get @RateRule ConnectableFlux<String> get() { return null; } }",
            "result",
            "reactor.core.publisher.ConnectableFlux<java.lang.String>" + NO_CLASS),
        arguments(
            "@Controller class Own { @Get @RateRule Items get() { return null; } } abstract class Items implements Publisher<String> {}",
            "result",
            "compiled.Items" + NO_CLASS),
        arguments(
            "@Singleton class Own { @RateRule Later get() { return null; } } class Later extends CompletableFuture<String> {}",
            "result",
            "compiled.Later" + NO_CLASS),
        arguments(
            "@Singleton class Own implements LimitCondition { @RateRule public boolean limits(HttpRequest<?> request) { return true; } }",
            "limits",
            OF_LIMITER));
  }

  @ParameterizedTest
  @MethodSource("refused")
  void theCompilerAndTheStartRefuseALimitThatCannotWork(String source, String element, String why)
      throws IOException {
    String bean = ROUTES + "interface Bean { void call(); } " + source;
    Path plain = Files.createDirectory(output.resolve("plain"));
    String atStart = Compilation.without(plain, bean).mistakeAtStart();
    assertThat(atStart).startsWith("compiled.Own.").endsWith("): " + element + " = " + why);
    assertThat(errors(bean)).containsExactly(atStart);
  }

  /** Not woven, so that the start reads no limit there; it warns later. */
  static Stream<Arguments> neverWoven() {
    return Stream.of(
        arguments("@PostConstruct @RateRule void call() {}", "@PostConstruct = " + NOT_WOVEN),
        arguments("@PreDestroy @RateRule void call() {}", "@PreDestroy = " + NOT_WOVEN),
        arguments("@Inject @RateRule void call(BeanContext beans) {}", "@Inject = " + NOT_WOVEN),
        arguments(
            "@RateRule static void call() {}",
            "a static method, or one of a companion object, is never limited: make it a method of the bean"),
        arguments("@RateRule private void call() {}", "declared private"),
        arguments("@RateRule final void call() {}", "declared final"),
        arguments("@RateRule Own() {}", "not applicable"));
  }

  @ParameterizedTest
  @MethodSource("neverWoven")
  void theCompilerRefusesALimitThatIsNeverWoven(String method, String part) {
    assertThat(
            errors(
                ROUTES + "interface Bean { void call(); } @Singleton class Own { " + method + " }"))
        .filteredOn(error -> !error.equals(Compilation.STATIC_ON_5))
        .singleElement()
        .asString()
        .contains(part);
  }

  private List<String> errors(String source) {
    return Compilation.of(output, source).errors().stream()
        .map(Compilation.Found::message)
        .toList();
  }
}
