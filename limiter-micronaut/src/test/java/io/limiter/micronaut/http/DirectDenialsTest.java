// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.denial.Denial;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.testing.HttpService;
import io.limiter.micronaut.testing.MicronautVersion;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Order;
import io.micronaut.core.type.Argument;
import io.micronaut.core.type.MutableHeaders;
import io.micronaut.http.HttpMethod;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.PathVariable;
import io.micronaut.http.annotation.Produces;
import io.micronaut.http.annotation.ResponseFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.body.MessageBodyHandlerRegistry;
import io.micronaut.http.body.MessageBodyWriter;
import io.micronaut.http.codec.CodecException;
import io.micronaut.http.hateoas.JsonError;
import io.micronaut.http.hateoas.Link;
import io.micronaut.http.simple.SimpleHttpRequest;
import io.micronaut.runtime.server.EmbeddedServer;
import jakarta.inject.Singleton;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.net.URI;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A denial that is written as bytes is the response that the handler makes, byte for byte, with a
 * JSON mapper without settings.
 */
class DirectDenialsTest {

  private static final String SPEC = "DirectDenials";

  private static final Rule MINUTE = SlidingWindowLogRule.of(10, Duration.ofMinutes(1));
  private static final Rule HOUR = SlidingWindowLogRule.of(20, Duration.ofHours(1));
  private static final Rule CALLS = ConcurrencyLimitRule.of(3, Duration.ofMinutes(1));
  private static final Rule ONCE = SlidingWindowLogRule.of(1, Duration.ofSeconds(30));

  private static final DenialText ARGUMENTS =
      DenialText.message(
          "{code} {policy} {violated} {limit} {remaining} {window} {method} {path} {retryAfter} {banned} ünd {{");

  /** For a duplicate this message is empty. */
  private static final DenialText EMPTY = DenialText.message("{retryAfter}");

  private static final List<String> PATHS =
      List.of(
          "/a",
          "/a?q=1&r=%22%5C%0A'b'",
          "/a/%C3%A9/é/✋/😀",
          "/a'b;c=d,e$f(g)*!~@:&",
          "/" + "long/😀é".repeat(2_000));

  /** Of these Java makes no URI. */
  private static final List<String> NO_URIS = List.of("/%zz/\u0001", "/\"/\\/</>/{}/|^`");

  @ParameterizedTest
  @ValueSource(strings = {"application", "problem", "template"})
  void itIsTheSameForEachOutcomeLanguageAndCharacter(String format) {
    assertSame(format, Map.of());
  }

  /** By the JSON mapper of this class path. */
  static void assertSame(String format, Map<String, Object> settings) {
    try (EmbeddedServer server = start(format, settings)) {
      for (LimitDeniedException denied : denials(60)) {
        for (String language : new String[] {"", "en", "zh-CN", "zh-TW,en;q=0.5"}) {
          if (denied.text().equals(EMPTY) && format.equals("application")) {
            // the mapper leaves an empty message out
            assertThat(isWritten(server, get("/a", language), denied)).isFalse();
            continue;
          }
          for (String path : PATHS) {
            assertThat(isWritten(server, get(path, language), denied))
                .as("%s of %s in %s", denied.verdict(), path, language)
                .isTrue();
          }
          for (String path : NO_URIS) {
            assertThat(isWritten(server, get(path, language), denied))
                .isEqualTo(!format.equals("application"));
          }
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"application", "problem", "template"})
  void theHandlerRespondsToHeadAndToBrowsers(String format) {
    try (EmbeddedServer server = start(format, Map.of())) {
      LimitDeniedException denied = denials(60).get(0);
      assertThat(isWritten(server, request(HttpMethod.GET, "/b", "", "*/*"), denied)).isTrue();
      assertThat(isWritten(server, request(HttpMethod.POST, "/b", "", ""), denied)).isTrue();
      assertThat(isWritten(server, request(HttpMethod.HEAD, "/b", "", ""), denied)).isFalse();
      for (String pages : List.of("text/html", "application/json, text/html")) {
        assertThat(isWritten(server, request(HttpMethod.GET, "/b", "", pages), denied)).isFalse();
      }
    }
  }

  @Test
  void anErrorThatIsNoListIsWritten() {
    assertSame("application", Map.of("jackson.always-serialize-errors-as-list", false));
  }

  @ParameterizedTest
  @ValueSource(strings = {"application", "problem", "template"})
  void settingsOfTheMapperChangeNothing(String format) {
    String feature =
        MicronautVersion.either(
            "jackson.serialization.indent-output", "jackson.serialization-features.indent-output");
    LimitDeniedException denied = denials(60).get(0);
    try (EmbeddedServer server = start(format, Map.of());
        EmbeddedServer indenting = start(format, Map.of(feature, true))) {
      assertThat(respond(indenting, get("/a", "en"), denied).body())
          .isEqualTo(respond(server, get("/a", "en"), denied).body());
    }
  }

  /** Encodes errors in place of the JSON mapper. */
  @Singleton
  @Produces(MediaType.APPLICATION_JSON)
  @Requires(property = "test.writer")
  static class OwnWriter implements MessageBodyWriter<JsonError> {
    @Override
    public void writeTo(
        Argument<JsonError> type,
        MediaType mediaType,
        JsonError error,
        MutableHeaders headers,
        OutputStream stream)
        throws CodecException {
      throw new CodecException("not called here");
    }
  }

  @ParameterizedTest
  @CsvSource({"application, false", "problem, true", "template, true"})
  void aWriterOfTheApplicationReceivesErrorsButNotOurFormats(String format, boolean written) {
    try (EmbeddedServer server = start(format, Map.of("test.writer", true))) {
      assertThat(respond(server, get("/a", ""), denials(60).get(0)).body() instanceof byte[])
          .isEqualTo(written);
    }
  }

  /** One call of all. */
  @Controller("/bytes")
  @Requires(property = "spec.name", value = SPEC + "Http")
  static class Routes {
    @Get("/{+rest}")
    @RateRule(count = 1, time = 3_600)
    String any(@PathVariable String rest) {
      return rest;
    }
  }

  @ServerFilter("/bytes/**")
  @Requires(property = "spec.name", value = SPEC + "Http")
  @Requires(property = "test.filter", value = "ordered")
  static class OrderedLinking extends Linking {
    @Override
    @ResponseFilter
    @Order(0)
    void link(MutableHttpResponse<?> response) {
      super.link(response);
    }
  }

  /** In Micronaut 4 it is behind the gate, and does not receive the denial. */
  @ServerFilter("/bytes/**")
  @Requires(property = "spec.name", value = SPEC + "Http")
  @Requires(property = "test.filter", value = "unordered")
  static class Linking {
    @ResponseFilter
    void link(MutableHttpResponse<?> response) {
      if (response.body() instanceof JsonError error) {
        error.link(Link.HELP, "/help");
      }
    }
  }

  @Test
  void inAFloodEachResponseHasItsOwnLinkAndType() {
    try (HttpService service = HttpService.start(SPEC + "Http", Map.of())) {
      assertThat(service.status("/bytes/first")).isEqualTo(200);
      flood(service, 300);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void itStatesWhatDecidedIfThatIsWanted(boolean debug) {
    try (HttpService service =
        HttpService.start(SPEC + "Http", Map.of("limiter.headers.debug", debug))) {
      assertThat(service.status("/bytes/first")).isEqualTo(200);
      for (int i = 0; i < 20; i++) {
        assertThat(service.get("/bytes/x").headers().allValues("X-Decided-By"))
            .isEqualTo(debug ? List.of("STORE") : List.of());
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"ordered", "unordered"})
  void aFilterThatReceivesResponsesReceivesTheBodyThatItKnows(String filter) {
    boolean receives = MicronautVersion.either(filter.equals("ordered"), true);
    try (HttpService service = HttpService.start(SPEC + "Http", Map.of("test.filter", filter))) {
      assertThat(service.status("/bytes/first")).isEqualTo(200);
      for (int i = 0; i < 20; i++) {
        assertThat(service.get("/bytes/x").body().contains("\"help\":{\"href\":\"/help\""))
            .isEqualTo(receives);
      }
    }
  }

  private static void flood(HttpService service, int calls) {
    Map<String, CompletableFuture<HttpResponse<String>>> responses = new LinkedHashMap<>();
    for (int i = 0; i < calls; i++) {
      String path =
          "/bytes/" + i + "/%22%5C%C3%A9?q=" + "x".repeat(i % 7 == 0 ? 3_000 : i) + "&a='b'";
      responses.put(path, service.getAsync(path));
    }
    responses.forEach(
        (path, response) -> {
          HttpResponse<String> denied = response.join();
          assertThat(denied.statusCode()).isEqualTo(429);
          assertThat(denied.body())
              .isEqualTo(
                  MicronautVersion.either(
                          """
                          {"message":"Too Many Requests","logref":"rate_limited","_links":{"self":{"href":"%s","templated":false}},"_embedded":{"errors":[{"message":"Too many requests, try again later"}]}}""",
                          """
                          {"message":"Too Many Requests","_embedded":{"errors":[{"message":"Too many requests, try again later"}]},"_links":{"self":{"href":"%s","templated":false}},"logref":"rate_limited"}""")
                      .formatted(HttpService.path(path)));
          assertThat(HttpService.field(denied, "Content-Type")).isEqualTo("application/json");
          assertThat(HttpService.field(denied, "Content-Length"))
              .isEqualTo(Integer.toString(denied.body().length()));
          assertThat(HttpService.field(denied, "RateLimit"))
              .endsWith(";t=" + HttpService.field(denied, "Retry-After"));
        });
  }

  /** Whether the limiter writes it; fails if the handler makes another response. */
  private static boolean isWritten(
      EmbeddedServer server, HttpRequest<?> request, LimitDeniedException denied) {
    MutableHttpResponse<?> made = handler(server).handle(request, denied);
    MutableHttpResponse<?> response = respond(server, request, denied);
    response.getHeaders().remove("Date");
    assertThat(encoded(server, request, response)).isEqualTo(encoded(server, request, made));
    assertThat(response.code()).isEqualTo(made.code());
    assertThat(response.reason()).isEqualTo(made.reason());
    assertThat(response.getHeaders().asMap()).isEqualTo(made.getHeaders().asMap());
    return response.body() instanceof byte[];
  }

  @SuppressWarnings("unchecked")
  static byte[] encoded(
      EmbeddedServer server, HttpRequest<?> request, MutableHttpResponse<?> response) {
    if (response.body() instanceof byte[] written) {
      return written;
    }
    if (response.body() == null || response.body() instanceof CharSequence) {
      return String.valueOf(response.body()).getBytes(UTF_8);
    }
    assertThat(EncodedBody.encode(request, response, writers(server), true, null))
        .isEqualTo(EncodedBody.Encoding.DONE);
    MutableHttpResponse<Object> answer = (MutableHttpResponse<Object>) response;
    EncodedBody<Object> body = (EncodedBody<Object>) answer.getBodyWriter().orElseThrow();
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    body.writeTo(
        Argument.ofInstance(answer.body()),
        answer.getContentType().orElseThrow(),
        answer.body(),
        answer.getHeaders(),
        bytes);
    return bytes.toByteArray();
  }

  static MutableHttpResponse<?> respond(
      EmbeddedServer server, HttpRequest<?> request, LimitDeniedException denied) {
    return server
        .getApplicationContext()
        .getBean(DirectDenials.class)
        .respond(request, denied)
        .orElseThrow();
  }

  private static LimitDeniedHandler handler(EmbeddedServer server) {
    return server.getApplicationContext().getBean(LimitDeniedHandler.class);
  }

  private static Optional<MessageBodyHandlerRegistry> writers(EmbeddedServer server) {
    return server.getApplicationContext().findBean(MessageBodyHandlerRegistry.class);
  }

  static EmbeddedServer start(String format, Map<String, Object> settings) {
    Map<String, Object> all = new LinkedHashMap<>();
    all.put("spec.name", SPEC);
    all.put("micronaut.server.port", -1);
    all.put("micronaut.server.locale-resolution.default-locale", "en");
    all.put("limiter.denial.body", format);
    all.putAll(settings);
    if (format.equals("template") && !settings.containsKey("test.fields")) {
      all.put("limiter.denial.template.constants", List.of(1.5, true, "\"é{{", Map.of()));
      for (Denial.Value value : Denial.Value.values()) {
        String name = value.name().toLowerCase(Locale.ROOT).replace("_", "");
        if (value != Denial.Value.TIMESTAMP) {
          all.put("limiter.denial.template." + name, placeholder(value));
          all.put("limiter.denial.template.text." + name, "é: " + placeholder(value) + ".");
        }
      }
    }
    return ApplicationContext.run(EmbeddedServer.class, all);
  }

  private static String placeholder(Denial.Value value) {
    return switch (value) {
      case RETRY_AFTER -> "{retryAfter}";
      default -> "{" + value.name().toLowerCase(Locale.ROOT) + "}";
    };
  }

  static HttpRequest<?> get(String path, String language) {
    return request(HttpMethod.GET, path, language, "");
  }

  private static HttpRequest<?> request(
      HttpMethod method, String path, String language, String accept) {
    SimpleHttpRequest<Object> request =
        new SimpleHttpRequest<>(method, "/", null) {
          @Override
          public String getPath() {
            int query = path.indexOf('?');
            return query < 0 ? path : path.substring(0, query);
          }

          @Override
          public URI getUri() {
            return URI.create(path);
          }
        };
    if (!language.isEmpty()) {
      request.header("Accept-Language", language);
    }
    if (!accept.isEmpty()) {
      request.header("Accept", accept);
    }
    return request;
  }

  /** Denials of each outcome, with what a denial may lack. */
  static List<LimitDeniedException> denials(long seconds) {
    List<LimitDeniedException> all = new ArrayList<>();
    all.add(LimitDeniedException.of(limited(seconds, minute(seconds)), DenialText.NONE));
    all.add(LimitDeniedException.of(limited(seconds, minute(seconds), hour(false, 5)), ARGUMENTS));
    all.add(
        LimitDeniedException.of(limited(seconds, minute(seconds), hour(true, seconds)), ARGUMENTS));
    all.add(
        LimitDeniedException.of(
            limited(seconds, RuleVerdict.of(MINUTE).remaining(seconds).tooCostly().build()),
            ARGUMENTS));
    all.add(
        LimitDeniedException.of(
            limited(seconds, RuleVerdict.of(CALLS).violated().build()), ARGUMENTS));
    Policy policy = policy();
    all.add(
        LimitDeniedException.of(
            Verdict.of(policy, Outcome.BANNED)
                .rules(List.of(hour(false, 3)))
                .ban(Duration.ofSeconds(seconds))
                .build(),
            DenialText.NONE));
    all.add(
        LimitDeniedException.of(
            Verdict.of(policy, Outcome.BANNED)
                .rules(List.of(minute(seconds)))
                .ban(Duration.ofSeconds(2 * seconds))
                .build(),
            ARGUMENTS));
    all.add(
        LimitDeniedException.of(
            Verdict.of(policy, Outcome.DUPLICATE)
                .rules(List.of(hour(false, 3)))
                .duplicate(RuleVerdict.of(ONCE).violatedFor(Duration.ofSeconds(seconds)).build())
                .build(),
            ARGUMENTS));
    all.add(
        LimitDeniedException.of(
            Verdict.of(policy, Outcome.LIMITED)
                .rules(List.of(minute(seconds)))
                .duplicate(RuleVerdict.of(ONCE).remaining(1).build())
                .build(),
            DenialText.message("Wait {retryAfter} s")));
    all.add(
        LimitDeniedException.of(
            limited(seconds, minute(seconds)),
            DenialText.of(
                498,
                "code \"\\",
                "quotes \" \\ / \b\f\n\r\t \u0000\u001F\u007F\u0080 é \u2028 汉 😀 <'&> \uD83D")));
    all.add(
        LimitDeniedException.of(
            Verdict.of(policy, Outcome.DUPLICATE)
                .duplicate(RuleVerdict.of(ONCE).violatedFor(Duration.ofSeconds(seconds)).build())
                .build(),
            EMPTY));
    all.add(
        LimitDeniedException.of(
            Verdict.of(policy, Outcome.UNAVAILABLE)
                .decidedBy(DecidedBy.FALLBACK)
                .reason(FailureReason.values()[0])
                .storeRetryAfter(Duration.ofSeconds(seconds))
                .build(),
            DenialText.NONE));
    return all;
  }

  private static Verdict limited(long seconds, RuleVerdict... rules) {
    return Verdict.of(policy(), Outcome.LIMITED).rules(List.of(rules)).build();
  }

  private static Policy policy() {
    return new Policy(
        "policy", "limit", List.of(RuleStack.of(List.of(MINUTE, HOUR))), Optional.empty());
  }

  private static RuleVerdict minute(long seconds) {
    return RuleVerdict.of(MINUTE)
        .violatedFor(Duration.ofMillis(1_000 * seconds - 1))
        .remaining(seconds)
        .effectiveWindow(Duration.ofSeconds(seconds + 5))
        .build();
  }

  private static RuleVerdict hour(boolean denies, long seconds) {
    RuleVerdict.Builder rule = RuleVerdict.of(HOUR).remaining(seconds);
    return denies ? rule.violatedFor(Duration.ofSeconds(10 + seconds)).build() : rule.build();
  }
}
