// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Verdict;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Introspected;
import io.micronaut.core.annotation.Nullable;
import io.micronaut.core.annotation.Order;
import io.micronaut.core.bind.annotation.Bindable;
import io.micronaut.core.convert.ArgumentConversionContext;
import io.micronaut.core.type.Argument;
import io.micronaut.http.HttpHeaders;
import io.micronaut.http.HttpParameters;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MediaType;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Consumes;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.CookieValue;
import io.micronaut.http.annotation.Header;
import io.micronaut.http.annotation.Part;
import io.micronaut.http.annotation.PathVariable;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.annotation.RequestAttribute;
import io.micronaut.http.annotation.RequestBean;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.bind.binders.AnnotatedRequestArgumentBinder;
import io.micronaut.http.bind.binders.TypedRequestArgumentBinder;
import io.micronaut.http.cookie.Cookies;
import io.micronaut.http.cookie.ServerCookieDecoder;
import io.micronaut.http.multipart.CompletedFileUpload;
import jakarta.inject.Singleton;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.net.http.HttpResponse;
import java.security.Principal;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;

/** What makes submissions equal where an annotation does not say: see DuplicateBy.AUTO. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class DuplicateDefaultTest {

  private static final String BOUNDARY = "limit";

  private static final List<String> LANGUAGES = List.of("en", "de", "fr");

  private int requests;
  @AutoClose private TestServer with;
  @AutoClose private TestServer without;

  @BeforeAll
  void start() {
    assertThat(ServerCookieDecoder.INSTANCE).isNotNull(); // Micronaut loads it on an event loop
    with = TestServer.start(DuplicateDefaultRoutes.SPEC);
    without = TestServer.start(DuplicateDefaultRoutes.SPEC, Map.of("limiter.gate.enabled", false));
  }

  @BeforeEach
  void forget() {
    with.clear();
    without.clear();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "map", "bean", "list", "member", "path", "query",
        "header", "cookie", "form", "part", "request-bean", "among-others",
        "with-verdict", "key"
      })
  void coffeeAfterTeaIsAnotherSubmission(String kind) {
    for (TestServer server : new TestServer[] {with, without}) {
      assertThat(answer(server, kind, "tea")).isEqualTo("200");
      assertThat(answer(server, kind, "coffee")).isEqualTo("200");
      assertThat(answer(server, kind, "tea")).isEqualTo("409");
      assertThat(answer(server, kind, "coffee")).isEqualTo("409");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"nothing", "only-others", "publisher", "upload", "written"})
  void whereTheCallerFillsNothingThatJsonHoldsTheCallerIsCompared(String kind) {
    for (TestServer server : new TestServer[] {with, without}) {
      assertThat(answer(server, kind, "tea")).isEqualTo("200");
      assertThat(answer(server, kind, "coffee")).isEqualTo("409");
    }
  }

  /** The mapper leaves out what is null: no fault of the service's. */
  @Test
  void anEmptyOrderIsASubmissionToo() {
    assertThat(with.post("/defaults/bean", "{}").statusCode()).isEqualTo(200);
    assertThat(with.post("/defaults/bean", "{}").statusCode()).isEqualTo(409);
    assertThat(answer(with, "bean", "tea")).isEqualTo("200");
  }

  @Test
  void beforeSecurityTheCallerIsCompared() {
    assertThat(answer(with, "early", "tea")).isEqualTo("200");
    assertThat(answer(with, "early", "coffee")).isEqualTo("409");
  }

  /** The status, or the outcome where the method is called in any case. */
  private String answer(TestServer server, String kind, String item) {
    HttpResponse<String> answer = submit(server, kind, item);
    if (kind.equals("with-verdict")) {
      assertThat(answer.statusCode()).isEqualTo(200);
      return answer.body().equals("DUPLICATE") ? "409" : "200";
    }
    assertThat(answer.statusCode()).as(answer.body()).isIn(200, 409);
    return String.valueOf(answer.statusCode());
  }

  private HttpResponse<String> submit(TestServer server, String kind, String item) {
    String path = "/defaults/" + kind;
    String json = "{\"item\":\"%s\"}".formatted(item);
    return switch (kind) {
      case "path" -> server.exchange("POST", path + '/' + item, "");
      case "query", "request-bean" -> server.exchange("POST", path + "?item=" + item, "");
      case "header" -> server.exchange("POST", path, "", "X-Item", item);
      case "cookie" -> server.exchange("POST", path, "", "Cookie", "item=" + item);
      case "list" -> server.post(path, '[' + json + ']');
      case "form" ->
          server.exchange(
              "POST", path, "item=" + item, "Content-Type", "application/x-www-form-urlencoded");
      case "part", "upload" ->
          server.exchange(
              "POST",
              path,
              parts(item),
              "Content-Type",
              "multipart/form-data; boundary=" + BOUNDARY);
      case "among-others" ->
          server.post(path, json, "Accept-Language", LANGUAGES.get(requests++ % LANGUAGES.size()));
      default -> server.post(path, json);
    };
  }

  private static String parts(String item) {
    return """
        --%1$s
        Content-Disposition: form-data; name="item"

        %2$s
        --%1$s
        Content-Disposition: form-data; name="photo"; filename="photo.txt"
        Content-Type: text/plain

        %2$s
        --%1$s--
        """
        .formatted(BOUNDARY, item)
        .replace("\n", "\r\n");
  }

  /** Submissions of whatever a caller can fill, guarded without a word on what makes them equal. */
  @Controller("/defaults")
  @Requires(property = "spec.name", value = DuplicateDefaultRoutes.SPEC)
  static class DuplicateDefaultRoutes {

    static final String SPEC = "DuplicateDefaults";
    private static final String OK = "ok";
    private static final AtomicLong LAST = new AtomicLong();

    private static String another() {
      return String.valueOf(LAST.incrementAndGet());
    }

    @Introspected
    record Drink(String item) {}

    @Introspected
    record Choice(@QueryValue String item, @Nullable @Header("X-Size") String size) {}

    /** Another in each request, by a binder of the application for the type. */
    @Introspected
    record Trace(String id) {}

    /** Another in each request, by a binder for an annotation. */
    @Bindable
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.PARAMETER)
    @interface Stamp {}

    @Singleton
    @Requires(property = "spec.name", value = SPEC)
    static class TraceBinder implements TypedRequestArgumentBinder<Trace> {
      @Override
      public Argument<Trace> argumentType() {
        return Argument.of(Trace.class);
      }

      @Override
      public BindingResult<Trace> bind(
          ArgumentConversionContext<Trace> context, HttpRequest<?> source) {
        return () -> Optional.of(new Trace(another()));
      }
    }

    @Singleton
    @Requires(property = "spec.name", value = SPEC)
    static class StampBinder implements AnnotatedRequestArgumentBinder<Stamp, String> {
      @Override
      public Class<Stamp> getAnnotationType() {
        return Stamp.class;
      }

      @Override
      public BindingResult<String> bind(
          ArgumentConversionContext<String> context, HttpRequest<?> source) {
        return () -> Optional.of(another());
      }
    }

    @ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
    @Requires(property = "spec.name", value = SPEC)
    static class Nonces {
      @RequestFilter
      @Order(10)
      void number(HttpRequest<?> request) {
        request.setAttribute("nonce", another());
      }
    }

    @Post("/map")
    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(time = 60))
    String map(@Body Map<String, Object> order) {
      return OK;
    }

    @Post("/bean")
    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(time = 60))
    String bean(@Body Drink order) {
      return OK;
    }

    @Post("/list")
    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(time = 60))
    Mono<String> list(@Body List<Drink> orders) {
      return Mono.just(OK);
    }

    /** A part of the body, by its name. */
    @Post("/member")
    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(time = 60))
    String member(String item) {
      return OK;
    }

    @Post("/path/{item}")
    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(time = 60))
    String path(@PathVariable String item) {
      return OK;
    }

    @Post("/query{?item}")
    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(time = 60))
    String query(@QueryValue String item) {
      return OK;
    }

    @Post("/header")
    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(time = 60))
    String header(@Header("X-Item") String item) {
      return OK;
    }

    @Post("/cookie")
    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(time = 60))
    String cookie(@CookieValue("item") String item) {
      return OK;
    }

    @Post("/form")
    @Consumes(MediaType.APPLICATION_FORM_URLENCODED)
    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(time = 60))
    String form(String item) {
      return OK;
    }

    @Post("/part")
    @Consumes(MediaType.MULTIPART_FORM_DATA)
    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(time = 60))
    String part(@Part("item") String item) {
      return OK;
    }

    @Post("/request-bean{?item}")
    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(time = 60))
    String requestBean(@RequestBean Choice choice) {
      return OK;
    }

    /** What is not the caller's differs in each request, or cannot be compared. */
    @Post("/among-others")
    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(time = 60))
    CompletableFuture<String> amongOthers(
        @Body Drink order,
        HttpRequest<?> request,
        HttpHeaders headers,
        HttpParameters parameters,
        Cookies cookies,
        Locale language,
        @Nullable Principal user,
        @RequestAttribute("nonce") String nonce,
        Trace trace,
        @Stamp String stamp) {
      return CompletableFuture.completedFuture(OK);
    }

    @Post("/with-verdict")
    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(time = 60))
    String withVerdict(@Body Drink order, Verdict verdict) {
      return verdict.outcome().name();
    }

    @Post("/nothing")
    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(time = 60))
    String nothing() {
      return OK;
    }

    @Post("/only-others")
    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(time = 60))
    String onlyOthers(HttpRequest<Map<String, Object>> request, Trace trace) {
      return OK;
    }

    @Post("/publisher")
    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(time = 60))
    Mono<String> publisher(@Body Publisher<Drink> order) {
      return Mono.from(order).thenReturn(OK);
    }

    @Post("/upload")
    @Consumes(MediaType.MULTIPART_FORM_DATA)
    @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(time = 60))
    String upload(@Part("item") String item, CompletedFileUpload photo) {
      return OK;
    }

    @Post("/written")
    @RateLimiter(
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(time = 60),
        duplicate = @Duplicate(by = DuplicateBy.CALLER))
    String written(@Body Drink order) {
      return OK;
    }

    @Post("/key")
    @RateLimiter(
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(time = 60),
        duplicate = @Duplicate(key = "#{order.item()}"))
    String key(@Body Drink order) {
      return OK;
    }

    /** Another place requires that all is decided before security. */
    @Controller("/defaults/early")
    @Requires(property = "spec.name", value = SPEC)
    @Requires(property = "limiter.gate.enabled", notEquals = "false")
    @RateLimiter(beforeSecurity = true, rules = @RateRule(count = 100, time = 60))
    static class Early {
      @Post
      @RateLimiter(preventDuplicate = true, preventDuplicateRule = @RateRule(time = 60))
      String early(@Body Drink order) {
        return OK;
      }
    }
  }
}
