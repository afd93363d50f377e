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
import io.limiter.micronaut.config.DenialConfiguration;
import io.limiter.micronaut.denial.Denial;
import io.limiter.micronaut.denial.DenialBody;
import io.limiter.micronaut.denial.DenialMessages;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlanRegistry;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Order;
import io.micronaut.core.type.Argument;
import io.micronaut.http.HttpMethod;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.PathVariable;
import io.micronaut.http.annotation.ResponseFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.body.MessageBodyHandlerRegistry;
import io.micronaut.http.hateoas.JsonError;
import io.micronaut.http.hateoas.Link;
import io.micronaut.http.simple.SimpleHttpRequest;
import io.micronaut.runtime.server.EmbeddedServer;
import jakarta.inject.Singleton;
import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A response that is filled from parts is, byte for byte, the one that is made for the request. */
class DenialPartsTest {

  private static final String SPEC = "DenialParts";

  private static final Rule MINUTE = SlidingWindowLogRule.of(10, Duration.ofMinutes(1));
  private static final Rule HOUR = SlidingWindowLogRule.of(20, Duration.ofHours(1));
  private static final Rule CALLS = ConcurrencyLimitRule.of(3, Duration.ofMinutes(1));
  private static final Rule ONCE = SlidingWindowLogRule.of(1, Duration.ofSeconds(30));

  private static final DenialText ARGUMENTS =
      DenialText.message(
          "{code} {policy} {violated} {limit} {remaining} {window} {method} {path} {retryAfter} {banned} ünd {{");

  private static final List<String> PATHS =
      List.of(
          "/a",
          "/a?q=1&r=%22%5C%0A<",
          "/a/%C3%A9/%zz/é/✋/\u0001",
          "/a'b;c=d,e$f(g)*!~@:&/\"/\\/</>/{}/|^`",
          "/" + "long/".repeat(2_000));

  private final AtomicLong nanos = new AtomicLong();

  /** A body whose first part is the same each time, and whose second is not. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC + "Counting")
  static class Counting implements DenialBody {

    private final AtomicInteger written = new AtomicInteger();

    @Override
    public MutableHttpResponse<?> write(Denial denial, MutableHttpResponse<?> response) {
      return response
          .contentType(MediaType.APPLICATION_JSON_TYPE)
          .body(Map.of("number", written.incrementAndGet()));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"application", "problem", "template"})
  void itIsTheSameForEachKindOfDenialFormatAndLanguage(String format) throws Exception {
    try (EmbeddedServer server = start(SPEC, format)) {
      EncodedDenials kinds = kinds(server);
      int filled = 0;
      for (LimitDeniedException denied : denials(60)) {
        for (String language : new String[] {"", "en", "zh-CN", "zh-TW,en;q=0.5"}) {
          if (kinds.size() > EncodedDenials.MOST / 2) {
            kinds = kinds(server);
          }
          prove(kinds, request(HttpMethod.GET, "/first", language, ""), denied);
          for (String accept : new String[] {"", "application/json", "*/*"}) {
            for (String path : PATHS) {
              filled +=
                  same(server, kinds, request(HttpMethod.GET, path, language, accept), denied)
                      ? 1
                      : 0;
            }
          }
          for (LimitDeniedException other : List.of(again(denied, 7), again(denied, 4_711))) {
            assertThat(same(server, kinds, request(HttpMethod.GET, "/other", language, ""), other))
                .as("%s in %s is filled", other.verdict(), language)
                .isTrue();
          }
        }
      }
      // Paths of plain characters, and a URI has to be valid as well.
      int plain = format.equals("application") ? 2 : 3;
      assertThat(filled).isEqualTo(denials(60).size() * 4 * 3 * plain);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"application", "problem", "template"})
  void methodsDifferAndHeadAndBrowsersHaveNoParts(String format) throws Exception {
    try (EmbeddedServer server = start(SPEC, format)) {
      EncodedDenials kinds = kinds(server);
      LimitDeniedException denied = denials(60).get(0);
      prove(kinds, request(HttpMethod.GET, "/a", "", ""), denied);

      assertThat(same(server, kinds, request(HttpMethod.GET, "/b", "", ""), denied)).isTrue();
      assertThat(same(server, kinds, request(HttpMethod.POST, "/b", "", ""), denied)).isFalse();
      assertThat(same(server, kinds, request(HttpMethod.HEAD, "/b", "", ""), denied)).isFalse();
      assertThat(same(server, kinds, request(HttpMethod.GET, "/b", "", "text/html"), denied))
          .isFalse();
      assertThat(kinds.size()).isEqualTo(2);
    }
  }

  @Test
  void aBodyThatIsDifferentEachTimeIsNeverFilled() throws Exception {
    try (EmbeddedServer server = start(SPEC + "Counting", "application")) {
      EncodedDenials kinds = kinds(server);
      LimitDeniedException denied = denials(60).get(0);
      HttpRequest<?> request = request(HttpMethod.GET, "/a", "", "");
      for (int i = 0; i < 10; i++) {
        nanos.addAndGet(Duration.ofSeconds(2).toNanos());
        assertThat(kinds.respond(request, denied).body()).isInstanceOf(Map.class);
      }
      assertThat(kinds.areFilled()).isFalse();
    }
  }

  @Test
  void aTimeOfDayIsNeverFilled() throws Exception {
    try (EmbeddedServer server =
        start(
            SPEC,
            Map.of(
                "limiter.denial.body", "template", "limiter.denial.template.at", "{timestamp}"))) {
      EncodedDenials kinds = kinds(server);
      LimitDeniedException denied = denials(60).get(0);
      HttpRequest<?> request = request(HttpMethod.GET, "/a", "", "");
      var unused = kinds.respond(request, denied);
      nanos.addAndGet(Duration.ofSeconds(2).toNanos());
      long begun = System.currentTimeMillis();
      while (System.currentTimeMillis() <= begun + 1) {
        Thread.onSpinWait();
      }
      unused = kinds.respond(request, denied);
      assertThat(kinds.areFilled()).isFalse();
    }
  }

  /** Its parts are looked at again each second. */
  @Test
  void aMessageThatChangesEndsIt() throws Exception {
    try (EmbeddedServer server = start(SPEC, "application")) {
      AtomicInteger part = new AtomicInteger();
      LimitDeniedHandler usual = handler(server);
      EncodedDenials kinds =
          new EncodedDenials(
              new LimitDeniedHandler(
                  server.getApplicationContext().getBean(DenialConfiguration.class),
                  server.getApplicationContext().getBean(DenialMessages.class),
                  (denial, response) ->
                      response
                          .contentType(MediaType.APPLICATION_JSON_TYPE)
                          .body(Map.of("part", part.get()))),
              writers(server),
              nanos::get);
      LimitDeniedException denied = denials(60).get(0);
      HttpRequest<?> request = request(HttpMethod.GET, "/a", "", "");
      assertThat(usual.isKnown()).isTrue();
      prove(kinds, request, denied);
      part.set(1);
      assertThat(kinds.respond(request, denied).body()).isInstanceOf(byte[].class);

      nanos.addAndGet(Duration.ofSeconds(1).toNanos());
      assertThat(kinds.respond(request, denied).body()).isEqualTo(Map.of("part", 1));
      assertThat(kinds.respond(request, denied).body()).isEqualTo(Map.of("part", 1));
      assertThat(kinds.areFilled()).isFalse();
    }
  }

  @Test
  void kindsAreBounded() throws Exception {
    try (EmbeddedServer server = start(SPEC, "application")) {
      EncodedDenials kinds = kinds(server);
      LimitDeniedException denied = denials(60).get(0);
      for (int i = 0; i < 3 * EncodedDenials.MOST; i++) {
        var unused =
            kinds.respond(
                request(
                    HttpMethod.GET, "/a", "x" + (char) ('a' + i % 26) + (char) ('a' + i / 26), ""),
                denied);
      }
      assertThat(kinds.size()).isEqualTo(EncodedDenials.MOST);

      nanos.addAndGet(Duration.ofSeconds(2).toNanos());
      prove(kinds, request(HttpMethod.GET, "/a", "en", ""), denied);
      assertThat(kinds.areFilled()).as("a language that comes later, too").isTrue();
      assertThat(kinds.size()).isEqualTo(EncodedDenials.MOST);
    }
  }

  @Test
  void noCallerReceivesThePathOrTheSecondsOfAnother() throws Exception {
    try (EmbeddedServer server = start(SPEC, "template")) {
      EncodedDenials kinds =
          new EncodedDenials(handler(server), writers(server)); // by the clock, while others fill
      ExecutorService threads = Executors.newFixedThreadPool(8);
      try {
        List<Callable<Void>> callers = new ArrayList<>();
        for (int caller = 0; caller < 8; caller++) {
          callers.add(
              () -> {
                ThreadLocalRandom random = ThreadLocalRandom.current();
                for (int i = 0; i < 400; i++) {
                  String path = PATHS.get(random.nextInt(PATHS.size())) + random.nextLong();
                  LimitDeniedException denied =
                      denials(1 + random.nextLong(90_000)).get(random.nextInt(3));
                  same(server, kinds, request(HttpMethod.GET, path, "", ""), denied);
                }
                return null;
              });
        }
        for (Future<Void> caller : threads.invokeAll(callers)) {
          caller.get();
        }
      } finally {
        threads.shutdownNow();
      }
    }
  }

  /** One call of all. */
  @Controller("/parts")
  @Requires(property = "spec.name", value = SPEC + "Http")
  static class Routes {
    @Get("/{+rest}")
    @RateRule(count = 1, time = 3_600)
    String any(@PathVariable String rest) {
      return rest;
    }
  }

  /** Changes the object that is the body. */
  @ServerFilter("/parts/**")
  @Requires(property = "spec.name", value = SPEC + "Http")
  @Requires(property = "test.filter")
  static class Linking {
    @ResponseFilter
    @Order(0)
    void link(MutableHttpResponse<?> response) {
      if (response.body() instanceof JsonError error) {
        error.link(Link.HELP, "/help");
      }
    }
  }

  @Test
  void inAFloodEachResponseHasItsOwnLinkAndType() {
    try (HttpService service = HttpService.start(SPEC + "Http", Map.of())) {
      assertThat(service.status("/parts/first")).isEqualTo(200);
      assertThat(service.status("/parts/alone")).isEqualTo(429); // two at once may make two kinds
      EncodedDenials kinds = kinds(service);
      for (int round = 0; round < 1_000 && !kinds.areFilled(); round++) {
        flood(service, 8);
      }
      assertThat(kinds.areFilled()).isTrue();
      flood(service, 300);
      assertThat(kinds.size()).isEqualTo(1);
    }
  }

  /** The field is not a part, since one kind may be decided by several. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aFilledResponseStatesWhatDecidedIfItIsWanted(boolean debug) {
    try (HttpService service =
        HttpService.start(SPEC + "Http", Map.of("limiter.headers.debug", debug))) {
      assertThat(service.status("/parts/first")).isEqualTo(200);
      EncodedDenials kinds = kinds(service);
      for (int round = 0; round < 1_000 && !kinds.areFilled(); round++) {
        flood(service, 8);
      }
      assertThat(kinds.areFilled()).isTrue();
      for (int i = 0; i < 20; i++) {
        assertThat(service.get("/parts/x").headers().allValues("X-Decided-By"))
            .isEqualTo(debug ? List.of("STORE") : List.of());
      }
    }
  }

  @Test
  void aFilterThatReceivesResponsesReceivesTheBodyThatItKnows() {
    try (HttpService service = HttpService.start(SPEC + "Http", Map.of("test.filter", true))) {
      assertThat(service.status("/parts/first")).isEqualTo(200);
      for (int i = 0; i < 20; i++) {
        assertThat(service.get("/parts/x").body()).contains("\"help\":{\"href\":\"/help\"");
      }
      assertThat(kinds(service).size()).isZero();
    }
  }

  private static void flood(HttpService service, int calls) {
    Map<String, CompletableFuture<HttpResponse<String>>> responses = new LinkedHashMap<>();
    for (int i = 0; i < calls; i++) {
      String path =
          "/parts/" + i + "/%22%5C%C3%A9?q=" + "x".repeat(i % 7 == 0 ? 3_000 : i) + "&a='b'";
      responses.put(path, service.getAsync(path));
    }
    responses.forEach(
        (path, response) -> {
          HttpResponse<String> denied = response.join();
          assertThat(denied.statusCode()).isEqualTo(429);
          assertThat(denied.body())
              .isEqualTo(
                  """
                  {"message":"Too Many Requests","logref":"rate_limited","_links":{"self":{"href":"%s","templated":false}},"_embedded":{"errors":[{"message":"Too many requests, try again later"}]}}"""
                      .formatted(HttpService.path(path)));
          assertThat(HttpService.field(denied, "Content-Type")).isEqualTo("application/json");
          assertThat(HttpService.field(denied, "Content-Length"))
              .isEqualTo(Integer.toString(denied.body().length()));
          assertThat(HttpService.field(denied, "RateLimit"))
              .endsWith(";t=" + HttpService.field(denied, "Retry-After"));
        });
  }

  private static EncodedDenials kinds(HttpService service) {
    LimitPlan plan =
        service
            .bean(PlanRegistry.class)
            .of(
                service
                    .context()
                    .getBeanDefinition(Routes.class)
                    .getExecutableMethods()
                    .iterator()
                    .next())
            .orElseThrow();
    return service.bean(DirectDenials.class).kinds(plan);
  }

  /** Whether it is filled; fails if it is not the one that is made. */
  private static boolean same(
      EmbeddedServer server,
      EncodedDenials kinds,
      HttpRequest<?> request,
      LimitDeniedException denied) {
    MutableHttpResponse<?> made = handler(server).handle(request, denied);
    MutableHttpResponse<?> response = kinds.respond(request, denied);
    boolean filled = response.body() instanceof byte[];
    String expected = encoded(server, request, made);
    assertThat(encoded(server, request, response)).isEqualTo(expected);
    assertThat(response.code()).isEqualTo(made.code());
    assertThat(response.reason()).isEqualTo(made.reason());
    assertThat(response.getHeaders().asMap()).isEqualTo(made.getHeaders().asMap());
    return filled;
  }

  @SuppressWarnings("unchecked")
  private static String encoded(
      EmbeddedServer server, HttpRequest<?> request, MutableHttpResponse<?> response) {
    if (response.body() == null || response.body() instanceof CharSequence) {
      return String.valueOf(response.body());
    }
    if (response.body() instanceof byte[] filled) {
      return new String(filled, UTF_8);
    }
    assertThat(EncodedBody.encode(request, response, writers(server))).isTrue();
    MutableHttpResponse<Object> answer = (MutableHttpResponse<Object>) response;
    if (!(answer.getBodyWriter().orElse(null) instanceof EncodedBody<Object> encoded)) {
      return "none";
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    encoded.writeTo(
        Argument.ofInstance(answer.body()),
        answer.getContentType().orElseThrow(),
        answer.body(),
        answer.getHeaders(),
        bytes);
    return bytes.toString(UTF_8);
  }

  /** Three responses with some time in between. */
  private void prove(EncodedDenials kinds, HttpRequest<?> request, LimitDeniedException denied) {
    for (int i = 0; i < 2; i++) {
      var unused = kinds.respond(request, denied);
      nanos.addAndGet(Duration.ofMillis(50).toNanos());
    }
  }

  private EncodedDenials kinds(EmbeddedServer server) {
    return new EncodedDenials(handler(server), writers(server), nanos::get);
  }

  private static LimitDeniedHandler handler(EmbeddedServer server) {
    return server.getApplicationContext().getBean(LimitDeniedHandler.class);
  }

  private static Optional<MessageBodyHandlerRegistry> writers(EmbeddedServer server) {
    return server.getApplicationContext().findBean(MessageBodyHandlerRegistry.class);
  }

  private static EmbeddedServer start(String specification, String format) {
    Map<String, Object> settings = new LinkedHashMap<>();
    settings.put("limiter.denial.body", format);
    if (format.equals("template")) {
      for (Denial.Value value : Denial.Value.values()) {
        String name = value.name().toLowerCase(Locale.ROOT).replace("_", "");
        if (value != Denial.Value.TIMESTAMP) {
          settings.put("limiter.denial.template." + name, placeholder(value));
          settings.put("limiter.denial.template.text." + name, "é: " + placeholder(value) + ".");
        }
      }
    }
    return start(specification, settings);
  }

  private static String placeholder(Denial.Value value) {
    return switch (value) {
      case RETRY_AFTER -> "{retryAfter}";
      default -> "{" + value.name().toLowerCase(Locale.ROOT) + "}";
    };
  }

  private static EmbeddedServer start(String specification, Map<String, Object> settings) {
    Map<String, Object> all = new LinkedHashMap<>(settings);
    all.put("spec.name", specification);
    all.put("micronaut.server.port", -1);
    all.put("micronaut.server.locale-resolution.default-locale", "en");
    return ApplicationContext.run(EmbeddedServer.class, all);
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

  /** A denial of each kind. */
  private static List<LimitDeniedException> denials(long seconds) {
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
            Verdict.of(policy, Outcome.UNAVAILABLE)
                .decidedBy(DecidedBy.FALLBACK)
                .reason(FailureReason.values()[0])
                .storeRetryAfter(Duration.ofSeconds(seconds))
                .build(),
            DenialText.NONE));
    return all;
  }

  /** A denial of the same kind, with other seconds. */
  private static LimitDeniedException again(LimitDeniedException denied, long seconds) {
    int at = -1;
    List<LimitDeniedException> like = denials(60);
    for (int i = 0; i < like.size(); i++) {
      if (like.get(i).verdict().equals(denied.verdict())) {
        at = i;
      }
    }
    return denials(seconds).get(at);
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
