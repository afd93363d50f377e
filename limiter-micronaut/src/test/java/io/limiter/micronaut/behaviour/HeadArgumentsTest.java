// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlanRegistry;
import io.micronaut.context.BeanContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.CookieValue;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Header;
import io.micronaut.http.annotation.PathVariable;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import java.net.http.HttpResponse;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Expressions that the head of a request determines are computed in the gate, which a body shows
 * that cannot be read: the gate counts its request, the guard is not reached.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class HeadArgumentsTest {

  private static final String SPEC = "HeadArgumentsTest";
  private static final String WHOLE = "{\"item\":\"a\"}";
  private static final String QUERY = "/head/one/form-or-query?who=a";
  private static final String BROKEN = "{\"item\":";

  enum Size {
    SMALL,
    /** Of a class of its own. */
    LARGE {
      @Override
      boolean isLarge() {
        return true;
      }
    };

    boolean isLarge() {
      return false;
    }
  }

  record Order(String item) {}

  @Controller("/head/{shop}")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    final AtomicInteger runs = new AtomicInteger();

    private String run() {
      return "run " + runs.incrementAndGet();
    }

    @Post("/path/{id}")
    @RateLimiter(subject = "#{id}", rules = @RateRule(count = 1))
    String path(@PathVariable String id, @Body Order order) {
      return run();
    }

    @Post("/named/{number}")
    @RateLimiter(subject = "#{id}", rules = @RateRule(count = 1))
    String named(@PathVariable("number") UUID id, @Body Order order) {
      return run();
    }

    @Post("/variable/{id}")
    @RateLimiter(subject = "#{id}", rules = @RateRule(count = 1))
    String variable(String id, @Body Order order) {
      return run();
    }

    @Post("/shop")
    @RateLimiter(subject = "#{shop}", rules = @RateRule(count = 1))
    String shop(String shop, @Body Order order) {
      return run();
    }

    @Post("/query")
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 1))
    String query(@QueryValue String who, @Body Order order) {
      return run();
    }

    @Post("/default")
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 1))
    String byDefault(@QueryValue(defaultValue = "any") String who, @Body Order order) {
      return run();
    }

    @Post("/header")
    @RateLimiter(subject = "#{key.toLowerCase()}", rules = @RateRule(count = 1))
    String header(@Header("X-Key") String key, @Body Order order) {
      return run();
    }

    @Post("/cookie")
    @RateLimiter(subject = "#{'c-' + device}", rules = @RateRule(count = 1))
    String cookie(@CookieValue String device, @Body Order order) {
      return run();
    }

    @Post("/cost")
    @RateLimiter(cost = "#{pages * 2}", rules = @RateRule(count = 10))
    String cost(@QueryValue int pages, @Body Order order) {
      return run();
    }

    @Post("/condition")
    @RateLimiter(condition = "#{size == 'LARGE'}", rules = @RateRule(count = 1))
    String condition(@QueryValue String size, @Body Order order) {
      return run();
    }

    @Post("/constant")
    @RateLimiter(subject = "#{size}", rules = @RateRule(count = 1))
    String constant(@QueryValue Size size, @Body Order order) {
      return run();
    }

    @Post("/nothing")
    @RateLimiter(subject = "#{who == null ? 'none' : who}", rules = @RateRule(count = 1))
    String nothing(@QueryValue @Nullable String who, @Body Order order) {
      return run();
    }

    @Post("/before")
    @RateLimiter(
        subject = "#{who}",
        beforeSecurity = true,
        rules = @RateRule(count = 1, algorithm = Algorithm.TOKEN_BUCKET))
    String before(@QueryValue String who, @Body Order order) {
      return run();
    }

    @Post("/early")
    @RateLimiter(
        early = true,
        rules = {@RateRule(count = 2, name = "address"), @RateRule(count = 1, subject = "#{who}")})
    String early(@QueryValue String who, @Body Order order) {
      return run();
    }

    @Get("/read")
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 1))
    String read(String who) {
      return run();
    }

    // Not determined by the head, or by code of the application.

    @Post("/body")
    @RateLimiter(subject = "#{order.item}", rules = @RateRule(count = 1))
    String body(@Body Order order) {
      return run();
    }

    @Post("/both")
    @RateLimiter(subject = "#{who + order.item}", rules = @RateRule(count = 1))
    String both(@QueryValue String who, @Body Order order) {
      return run();
    }

    @Post("/part")
    @RateLimiter(subject = "#{item}", rules = @RateRule(count = 1))
    String part(String item) {
      return run();
    }

    String named(String name) {
      return name;
    }

    /** Micronaut binds it to a field of the body, if there is one. */
    @Post("/template{?who}")
    @RateLimiter(subject = "#{who ?: 'none'}", rules = @RateRule(count = 1))
    String template(@Nullable String who, @Body Order order) {
      return run();
    }

    /** As a variable of a path that may be left out. */
    @Post("/left-out{/who}")
    @RateLimiter(subject = "#{who ?: 'none'}", rules = @RateRule(count = 1))
    String leftOut(@Nullable String who, @Body Order order) {
      return run();
    }

    /** A text has no escapes. */
    @Post("/backslash")
    @RateLimiter(subject = "#{who + '\\' + order.item + '\\'}", rules = @RateRule(count = 1))
    String backslash(@QueryValue String who, @Body Order order) {
      return run();
    }

    @Post("/signs")
    @RateLimiter(subject = "#{#who + 7 div 2 + 10L}", rules = @RateRule(count = 1))
    String signs(@QueryValue String who, @Body Order order) {
      return run();
    }

    @Get("/maybe")
    @RateLimiter(subject = "#{n ?: 7}", rules = @RateRule(count = 1))
    String maybe(@Nullable @QueryValue Integer n) {
      return run();
    }

    @Post("/before-maybe")
    @RateLimiter(subject = "#{n ?: 7}", beforeSecurity = true, rules = @RateRule(count = 1))
    String beforeMaybe(@Nullable @QueryValue Integer n, @Body Order order) {
      return run();
    }

    @Get("/form-or-query")
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 1))
    String formOrQuery(String who) {
      run();
      return who;
    }

    @Post("/bean")
    @RateLimiter(subject = "#{this.named(who)}", rules = @RateRule(count = 1))
    String bean(@QueryValue String who, @Body Order order) {
      return run();
    }

    @Post("/optional")
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 1))
    String optional(@QueryValue Optional<String> who, @Body Order order) {
      return run();
    }
  }

  private TestServer server;

  @BeforeAll
  void start() {
    server = TestServer.start(SPEC);
  }

  @AfterAll
  void stop() {
    server.close();
  }

  @BeforeEach
  void clear() {
    server.clear();
    server.bean(Routes.class).runs.set(0);
  }

  private HttpResponse<String> post(String route, String body) {
    return server.post("/head/one" + route, body, "X-Key", "K1", "Cookie", "device=d1");
  }

  private boolean isDecidedByGate(String method) {
    LimitPlan plan =
        server
            .bean(BeanContext.class)
            .getBeanDefinition(Routes.class)
            .getExecutableMethods()
            .stream()
            .filter(each -> each.getMethodName().equals(method))
            .flatMap(each -> server.bean(PlanRegistry.class).of(each).stream())
            .findFirst()
            .orElseThrow();
    return plan.decidedByRequest();
  }

  @ParameterizedTest
  @CsvSource({
    "path, /path/1, /path/2",
    "named, /named/0f4d2c4e-52a7-4e5b-8a51-1b4f7c6b8d11, /named/1f4d2c4e-52a7-4e5b-8a51-1b4f7c6b8d11",
    "variable, /variable/1, /variable/2",
    "shop, /shop, /../two/shop",
    "query, /query?who=a%20b, /query?who=c",
    "byDefault, /default?who=any, /default?who=c",
    "header, /header, /header?other",
    "cookie, /cookie, /cookie?other",
    "constant, /constant?size=SMALL, /constant?size=LARGE",
    "nothing, /nothing, /nothing?who=a",
    "before, /before?who=a, /before?who=b",
    "signs, /signs?who=a, /signs?who=b",
  })
  void theGateCountsByTheHead(String method, String one, String other) {
    assertThat(isDecidedByGate(method)).isTrue();
    assertThat(post(one, BROKEN).statusCode()).isEqualTo(400);
    assertThat(post(one, WHOLE).statusCode()).as("a broken body counts").isEqualTo(429);
    String path = "/head/one" + other;
    HttpResponse<String> apart =
        server.post(path.replace("one/../", ""), WHOLE, "X-Key", "K2", "Cookie", "device=d2");
    assertThat(apart.statusCode()).as("another subject %s", apart.body()).isEqualTo(200);
  }

  @Test
  void aMissingValueHasItsDefault() {
    assertThat(post("/default", BROKEN).statusCode()).isEqualTo(400);
    assertThat(post("/default?who=any", WHOLE).statusCode()).isEqualTo(429);
  }

  @Test
  void costsAndConditionsAreComputedInTheGate() {
    assertThat(isDecidedByGate("cost")).isTrue();
    assertThat(post("/cost?pages=4", BROKEN).statusCode()).isEqualTo(400);
    assertThat(post("/cost?pages=2", WHOLE).statusCode()).isEqualTo(429);
    assertThat(post("/cost?pages=1", WHOLE).statusCode()).isEqualTo(200);
    assertThat(post("/cost?pages=0", WHOLE).statusCode()).as("no cost").isEqualTo(400);

    assertThat(isDecidedByGate("condition")).isTrue();
    assertThat(post("/condition?size=LARGE", BROKEN).statusCode()).isEqualTo(400);
    assertThat(post("/condition?size=LARGE", WHOLE).statusCode()).isEqualTo(429);
    assertThat(post("/condition?size=SMALL", WHOLE).statusCode()).isEqualTo(200);
  }

  @Test
  void anUnannotatedArgumentOfAGetIsOfTheHead() {
    assertThat(isDecidedByGate("read")).isTrue();
    assertThat(server.get("/head/one/read?who=a").statusCode()).isEqualTo(200);
    assertThat(server.get("/head/one/read?who=a").statusCode()).isEqualTo(429);
    assertThat(server.get("/head/one/read?who=b").statusCode()).isEqualTo(200);
  }

  /** Micronaut answers them as without a limit, and nothing is counted. */
  @ParameterizedTest
  @CsvSource({"/query", "/cookie", "/cost?pages=many", "/constant?size=HUGE", "/named/1"})
  void whatCannotBeBoundIsABadRequest(String route) {
    HttpResponse<String> response = server.post("/head/one" + route, WHOLE, "X-Key", "K1");
    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(response.headers().firstValue("RateLimit")).isEmpty();
    assertThat(server.keys().all()).isEmpty();
  }

  @Test
  void earlyRulesCountRequestsThatLackAnArgument() {
    assertThat(isDecidedByGate("early")).isTrue();
    assertThat(post("/early?who=a", WHOLE).statusCode()).isEqualTo(200);
    assertThat(post("/early", WHOLE).statusCode()).isEqualTo(400);
    assertThat(post("/early", WHOLE).statusCode()).as("the address").isEqualTo(429);
    assertThat(post("/early?who=b", WHOLE).statusCode()).as("the address").isEqualTo(429);
  }

  /** Else security would check passwords that nothing counts. */
  @Test
  void beforeSecurityNothingPassesUncounted() {
    HttpResponse<String> response = post("/before", WHOLE);
    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(response.body()).doesNotContain("Required"); // it would be Micronaut's
    assertThat(server.bean(Routes.class).runs).hasValue(0);
  }

  @Test
  void anEmptySubjectIsABadRequest() {
    assertThat(post("/query?who=", WHOLE).statusCode()).isEqualTo(400);
    assertThat(server.keys().all()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "body, /body",
    "both, /both?who=a",
    "part, /part",
    "bean, /bean?who=a",
    "optional, /optional?who=a",
    "template, /template?who=a",
    "leftOut, /left-out/a",
    "backslash, /backslash?who=a"
  })
  void theGuardCountsByTheRest(String method, String route) {
    assertThat(isDecidedByGate(method)).isFalse();
    assertThat(post(route, BROKEN).statusCode()).isEqualTo(400);
    assertThat(post(route, WHOLE).body()).as("a broken body does not count").isEqualTo("run 1");
    assertThat(post(route, WHOLE).statusCode()).isEqualTo(429);
  }

  /** What may be null is not null because it is malformed. */
  @Test
  void aMalformedValueOfANullableArgumentIsNotCounted() {
    assertThat(isDecidedByGate("maybe")).isTrue();
    assertThat(server.get("/head/one/maybe?n=x").statusCode()).isEqualTo(400);
    assertThat(server.keys().all()).isEmpty();
    assertThat(server.get("/head/one/maybe").statusCode()).isEqualTo(200);
    assertThat(server.get("/head/one/maybe?n=7").statusCode()).isEqualTo(429);

    assertThat(post("/before-maybe?n=x", WHOLE).statusCode()).isEqualTo(400);
    assertThat(post("/before-maybe?n=x", WHOLE).body()).doesNotContain("convert");
    assertThat(server.bean(Routes.class).runs).hasValue(1);
  }

  /** Micronaut would bind it to a field of the form, which the gate must not claim. */
  @Test
  void theQueryOfAGetCountsWhateverItsContentType() {
    String[] form = {"Content-Type", "application/x-www-form-urlencoded"};
    assertThat(server.get("/head/one/form-or-query?who=a", form).body()).isEqualTo("a");
    assertThat(server.get("/head/one/form-or-query?who=a", form).statusCode()).isEqualTo(429);
    assertThat(server.get("/head/one/form-or-query", form).statusCode()).isEqualTo(400);
  }

  /** What the method gets is what was counted, also where a body names it otherwise. */
  @ParameterizedTest
  @CsvSource({
    "application/x-www-form-urlencoded, who=b",
    "application/json, '{\"who\":\"b\"}'",
  })
  void aBodyOfAGetDoesNotReplaceItsQuery(String type, String body) {
    String[] content = {"Content-Type", type};
    HttpResponse<String> first = server.exchange("GET", QUERY, body, content);
    assertThat(first.body()).isEqualTo("a");
    assertThat(server.get(QUERY).statusCode()).isEqualTo(429);
    assertThat(server.get("/head/one/form-or-query?who=b").statusCode()).isEqualTo(200);

    server.clear();
    String bodyAlone = "/head/one/form-or-query";
    assertThat(server.exchange("GET", bodyAlone, body, content).statusCode()).isEqualTo(400);
    assertThat(server.keys().all()).isEmpty();
  }

  @Test
  void aBurstIsExact() {
    var statuses =
        Stream.generate(() -> server.getAsync("/head/one/read?who=burst"))
            .limit(50)
            .toList()
            .stream()
            .map(response -> response.join().statusCode())
            .toList();
    assertThat(statuses).filteredOn(status -> status == 200).hasSize(1);
    assertThat(statuses).filteredOn(status -> status == 429).hasSize(49);
  }
}
