// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import static io.limiter.micronaut.testing.Json.json;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.limiter.core.Limiter;
import io.limiter.core.testing.RecordedLog;
import io.limiter.core.testing.RedisFixture;
import io.limiter.core.testing.RedisProcess;
import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Ban;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.limiter.micronaut.call.AdmissionControl.DenialListener;
import io.limiter.micronaut.call.AdmissionControl.VerdictListener;
import io.limiter.micronaut.event.LimiterEvent;
import io.limiter.micronaut.plan.LimitPolicies;
import io.limiter.micronaut.plan.LimitedPolicy;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.env.PropertySource;
import io.micronaut.core.annotation.Order;
import io.micronaut.http.HttpAttributes;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Header;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.runtime.event.annotation.EventListener;
import jakarta.inject.Singleton;
import java.net.URLEncoder;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.Principal;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The endpoint over HTTP: real Redis, two instances, and memory alone. */
class LimitsEndpointTest {

  private static final String SPEC = "LimitsEndpointTest";
  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final String[] AS_ADA = {"X-User", "ada", "X-Order", "8e03978e"};
  private static final String DIGEST = "[\\w-]{22}";

  private final String prefix = "test:" + UUID.randomUUID().toString().substring(0, 8) + ":";
  private final RecordedLog log = RecordedLog.ofInfo(AuditLog.AUDIT);
  private final List<HttpService> services = new ArrayList<>();
  private HttpService service;

  @Controller("/routes")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {
    @Get("/search")
    @RateLimiter(value = "search", rules = @RateRule(count = 2, time = 3_600))
    String search() {
      return "found";
    }

    @Get("/hot")
    @RateLimiter(value = "hot", limitType = LimitType.GLOBAL, lease = "1s")
    @RateRule(count = 10_000, time = 3_600, algorithm = Algorithm.FIXED_WINDOW)
    String hot() {
      return "hot";
    }

    @Get("/mail")
    @RateLimiter(
        value = "mail",
        limitType = LimitType.USER_ID,
        rules = {
          @RateRule(count = 3, time = 3_600),
          @RateRule(count = 9, time = 7_200, algorithm = Algorithm.FIXED_WINDOW)
        },
        anonymousRules = @RateRule(count = 1, time = 3_600))
    String mail() {
      return "sent";
    }

    @Get("/sign-in")
    @RateLimiter(
        value = "sign-in",
        rules = @RateRule(count = 2, time = 3_600, name = "tries"),
        ban = @Ban(violations = 2, within = 600, time = 900))
    String signIn() {
      return "in";
    }

    @Get("/phone")
    @RateLimiter(value = "phone", subject = "#{number}", rules = @RateRule(count = 1, time = 3_600))
    String phone(@QueryValue String number) {
      return number;
    }

    @Get("/several")
    @RateLimiter(
        value = "several",
        rules = {
          @RateRule(count = 2, time = 3_600, header = "X-Api-Key"),
          @RateRule(count = 4, time = 3_600, limitType = LimitType.GLOBAL),
          @RateRule(count = 9, time = 3_600, limitType = LimitType.USER_ID)
        })
    String several() {
      return "ok";
    }

    @Get("/tried")
    @RateLimiter(
        value = "tried",
        header = "X-Key",
        rules = @RateRule(count = 6),
        trial = {@RateRule(count = 3), @RateRule(count = 4, algorithm = Algorithm.FIXED_WINDOW)})
    String tried() {
      return "ok";
    }

    @Get("/nameless")
    @RateRule(count = 2, time = 3_600)
    String nameless(@QueryValue String text, @QueryValue int number) {
      return text + number;
    }

    @Get("/tenant")
    @RateLimiter(
        value = "tenant",
        resolver = Tenant.class,
        rules = @RateRule(count = 2, time = 3_600))
    String tenant() {
      return "ok";
    }

    @Post("/order")
    @RateLimiter(
        value = "order",
        rules = @RateRule(count = 9, time = 3_600),
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(count = 1, time = 3_600),
        duplicate = @Duplicate(by = DuplicateBy.CALLER))
    String order() {
      return "ordered";
    }

    @Post("/pay")
    @RateLimiter(
        value = "pay",
        limitType = LimitType.USER_ID,
        rules = {
          @RateRule(count = 9, time = 3_600),
          @RateRule(count = 90, time = 3_600, limitType = LimitType.GLOBAL)
        },
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(time = 24, timeUnit = TimeUnit.HOURS),
        duplicate = @Duplicate(key = "#{order}"))
    CompletionStage<String> pay(@QueryValue boolean ends, @Header("X-Order") String order) {
      return ends ? CompletableFuture.completedFuture("paid") : new CompletableFuture<>();
    }

    @Post("/numbered")
    @RateLimiter(
        value = "numbered",
        limitType = LimitType.GLOBAL, // the user submits
        rules = @RateRule(count = 9, time = 3_600),
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(time = 24, timeUnit = TimeUnit.HOURS),
        duplicate = @Duplicate(key = "#{number}"))
    String numbered(@QueryValue int number) {
      return "placed " + number;
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Tenant implements SubjectResolver {
    @Override
    public Optional<String> resolve(HttpRequest<?> request) {
      return Optional.ofNullable(request.getHeaders().get("X-Tenant"));
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Heard {
    final Queue<LimiterEvent.Audit> audits = new ConcurrentLinkedQueue<>();

    @EventListener
    void on(LimiterEvent.Audit audit) {
      audits.add(audit);
    }
  }

  /** Stands for security. */
  @ServerFilter(ServerFilter.MATCH_ALL_PATTERN)
  @Requires(property = "spec.name", value = SPEC)
  static class LogIn {
    @RequestFilter
    @Order(-1_000)
    void logIn(HttpRequest<?> request) {
      String user = request.getHeaders().get("X-User");
      if (user != null) {
        request.setAttribute(HttpAttributes.PRINCIPAL, (Principal) () -> user);
      }
    }
  }

  @AfterEach
  void close() {
    log.close();
    services.forEach(HttpService::close);
  }

  /** An instance that counts in Redis, with its deny cache. */
  private HttpService redis(Object... settings) {
    Map<String, Object> all =
        HttpService.settings(
            "redis.uri",
            RedisFixture.uri(),
            "limiter.redis.key-prefix",
            prefix,
            "limiter.redis.deadline",
            "10s",
            "limiter.redis.start-timeout",
            "10s",
            "limiter.deny-cache.enabled",
            true);
    all.putAll(HttpService.settings(settings));
    return start(all);
  }

  private HttpService memory(Object... settings) {
    return start(HttpService.settings(settings));
  }

  private HttpService start(Map<String, Object> settings) {
    Map<String, Object> all =
        HttpService.settings(
            "endpoints.limits.enabled",
            true,
            "endpoints.limits.sensitive", // there is no security here; demo-app has it
            false,
            "limiter.address.trusted-proxies",
            "127.0.0.1");
    all.putAll(settings);
    service = HttpService.start(SPEC, all);
    services.add(service);
    return service;
  }

  HttpService service() {
    return services.isEmpty() ? memory() : service;
  }

  private static JsonNode read(HttpService from, String path) {
    HttpResponse<String> response = from.get(path, "X-User", "root");
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return json(response.body());
  }

  private static HttpResponse<String> send(HttpService to, String path, String body) {
    return to.post(path, body, "X-User", "root");
  }

  private static JsonNode write(HttpService to, String path, String body) {
    HttpResponse<String> response = send(to, path, body);
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return json(response.body());
  }

  private static int call(HttpService at, String path, String address, String... headers) {
    return at.status(
        path,
        Stream.concat(Stream.of("X-Forwarded-For", address), Stream.of(headers))
            .toArray(String[]::new));
  }

  private static void call(int times, HttpService at, String path, String address) {
    for (int i = 0; i < times; i++) {
      call(at, path, address);
    }
  }

  private static int submit(HttpService to, String path) {
    return to.exchange("POST", path, "", AS_ADA).statusCode();
  }

  private static Stream<JsonNode> each(JsonNode list) {
    return StreamSupport.stream(list.spliterator(), false);
  }

  @Test
  void itIsOffByDefaultAndNothingIsCollected() {
    HttpService off = memory("endpoints.limits.enabled", false);
    assertThat(off.status("/limits", "X-User", "root")).isEqualTo(404);
    assertThat(send(off, "/limits/search/reset", "{}").statusCode()).isEqualTo(404);
    assertThat(off.context().getBeansOfType(DenialListener.class))
        .noneMatch(PolicyStatistics.class::isInstance);
    assertThat(off.context().getBeansOfType(VerdictListener.class))
        .noneMatch(PolicyStatistics.class::isInstance);
  }

  /** Which units were spent is known when the lease has ended. */
  @Test
  void aPolicyWithALeaseHasItsUnits() {
    HttpService one = redis("limiter.headers.debug", true);
    AtomicInteger spent = new AtomicInteger();
    await()
        .atMost(PATIENCE)
        .pollDelay(Duration.ZERO)
        .pollInterval(Duration.ofMillis(1))
        .until(() -> spends(one, spent) && spent.get() == 12);
    assertThat(lease(one, "time")).isEqualTo("PT1S");
    assertThat(Long.parseLong(lease(one, "granted"))).isGreaterThanOrEqualTo(12);

    // A subject stays hot for a while; a call after the end of a lease gives back what is left.
    await()
        .atMost(PATIENCE)
        .pollInterval(Duration.ofMillis(1_500))
        .until(() -> !spends(one, spent) && lease(one, "held").equals("0"));
    assertThat(lease(one, "spent")).isEqualTo(spent.toString());
    assertThat(Long.parseLong(lease(one, "returned")))
        .isEqualTo(Long.parseLong(lease(one, "granted")) - spent.get());
    assertThat(lease(one, "expired")).isEqualTo("0");
    assertThat(read(one, "/limits/search").has("lease")).as("without a lease").isFalse();
  }

  private static String lease(HttpService at, String member) {
    return read(at, "/limits/hot").at("/lease/" + member).asText();
  }

  /** Whether a call is decided by a lease, which then has spent one unit more. */
  private static boolean spends(HttpService at, AtomicInteger spent) {
    boolean leased =
        at.get("/routes/hot").headers().firstValue("X-Decided-By").orElse("").equals("LEASE");
    spent.addAndGet(leased ? 1 : 0);
    return leased;
  }

  @Test
  void itIsSensitiveUnlessConfiguredOtherwise() {
    HttpService one = HttpService.start(SPEC, Map.of("endpoints.limits.enabled", true));
    services.add(one);
    call(3, one, "/routes/search", "192.0.2.1");
    for (String path : List.of("/limits", "/limits/search", "/limits/search/reset")) {
      assertThat(one.status(path, "X-User", "root")).as(path).isIn(401, 405);
      assertThat(send(one, path, "{\"address\": \"127.0.0.1\"}").statusCode()).isEqualTo(401);
    }
    assertThat(call(one, "/routes/search", "192.0.2.1")).isEqualTo(429);
    assertThat(log.messages()).isEmpty();
  }

  @Test
  void aChangeByAnybodyIsAuditedAsAnonymous() {
    HttpService one = memory();
    assertThat(one.post("/limits/search/reset", "{\"address\": \"192.0.2.1\"}").statusCode())
        .isEqualTo(200);
    assertThat(log.messages().get(0)).startsWith("who=\"anonymous\" ");
  }

  @Test
  void thePoliciesHaveTheirRulesDecisionsAndWhereNumbersComeFrom() {
    HttpService one =
        memory(
            "limiter.policies.mail.rules.3-per-3600s.count",
            2,
            "limiter.policies.phone.observe",
            true);
    call(3, one, "/routes/search", "192.0.2.1");
    call(2, one, "/routes/phone?number=1", "192.0.2.1");

    JsonNode all = read(one, "/limits");
    assertThat(each(all.get("policies")).map(policy -> policy.get("policy").asText()))
        .contains("search", "mail", "sign-in", "phone", "several", "order");

    JsonNode mail = read(one, "/limits/mail");
    assertThat(mail.get("configured"))
        .isEqualTo(
            json(
                "[{'key':'limiter.policies.mail.rules.3-per-3600s.count','value':'2','source':'context'}]"
                    .replace('\'', '"')));
    assertThat(mail.get("observed").asBoolean()).isFalse();
    assertThat(mail.get("limits"))
        .isEqualTo(
            json(
                """
                [{"key": "mail-key", "countedBy": "limitType = USER_ID", "rules": [
                    {"rule": "2-per-3600s", "inCode": "3-per-3600s", "algorithm": "SLIDING_WINDOW_LOG", "count": 2, "time": "PT1H"},
                    {"rule": "9-per-7200s", "algorithm": "FIXED_WINDOW", "count": 9, "time": "PT2H"}],
                  "anonymousRules": [
                    {"rule": "1-per-3600s", "algorithm": "SLIDING_WINDOW_LOG", "count": 1, "time": "PT1H"}]}]
                """
                    .replace("mail-key", mail.at("/limits/0/key").asText())));
    String method = mail.get("methods").get(0).asText();
    assertThat(method).endsWith("Routes.mail()");
    assertThat(mail.get("decidedIn").get(method).asText()).isEqualTo("gate");

    assertThat(read(one, "/limits/search").get("decisions"))
        .isEqualTo(
            json(
                "{\"allowed\":2,\"limited\":1,\"banned\":0,\"duplicate\":0,\"unavailable\":0,\"wouldDeny\":0}"));
    assertThat(read(one, "/limits/phone").at("/decisions/wouldDeny").asInt()).isEqualTo(1);
    assertThat(read(one, "/limits/phone").get("observed").asBoolean()).isTrue();
    assertThat(read(one, "/limits/phone").get("decidedIn").iterator().next().asText())
        .isEqualTo("gate, which binds the arguments that expressions need");
  }

  @Test
  void aPolicyWithoutANameIsFoundByThatOfItsMethod() {
    HttpService one = memory();
    String name = Routes.class.getName() + ".nameless(java.lang.String,int)";
    JsonNode all = read(one, "/limits");
    String policy =
        each(all.get("policies"))
            .map(each -> each.get("policy").asText())
            .filter(each -> each.contains("nameless"))
            .findFirst()
            .orElseThrow();
    assertThat(policy.replace(" ", "")).isEqualTo(name);
    String path =
        "/limits/" + URLEncoder.encode(policy, StandardCharsets.UTF_8).replace("+", "%20");
    assertThat(read(one, path).get("policy").asText()).isEqualTo(policy);
    assertThat(write(one, path + "/look", "{\"address\": \"192.0.2.1\"}").get("passes").asBoolean())
        .isTrue();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aLookCountsNothingAndNamesTheRuleThatDenies(boolean gate) {
    HttpService one = redis("limiter.gate.enabled", gate);
    HttpService other = redis("limiter.gate.enabled", gate);
    String subject = "{\"user\": \"ada\"}";
    JsonNode free = write(other, "/limits/mail/look", subject);
    assertThat(free.get("passes").asBoolean()).isTrue();
    assertThat(free.at("/rules/0/remaining").asInt()).isEqualTo(3);
    for (int i = 0; i < 3; i++) {
      assertThat(call(one, "/routes/mail", "192.0.2.1", "X-User", "ada")).isEqualTo(200);
    }

    for (int i = 0; i < 3; i++) {
      JsonNode full = write(other, "/limits/mail/look", subject);
      assertThat(full.get("passes").asBoolean()).isFalse();
      assertThat(full.get("outcome").asText()).isEqualTo("limited");
      assertThat(full.get("decidedBy").asText()).isEqualTo("store");
      assertThat(full.get("subject").asText()).matches(DIGEST);
      assertThat(full.has("clear")).isFalse();
      JsonNode rule = full.at("/rules/0");
      assertThat(rule.get("rule").asText()).isEqualTo("3-per-3600s");
      assertThat(rule.get("passes").asBoolean()).isFalse();
      assertThat(rule.get("remaining").asInt()).isZero();
      assertThat(rule.get("of").asInt()).isEqualTo(3);
      assertThat(Duration.parse(rule.get("retryAfter").asText())).isLessThan(Duration.ofHours(1));
      assertThat(full.get("retryAfter")).isEqualTo(rule.get("retryAfter"));
      assertThat(full.at("/rules/1/passes").asBoolean()).isTrue();
      assertThat(full.at("/rules/1/remaining").asInt()).isEqualTo(6);
    }
    assertThat(
            write(other, "/limits/mail/look", "{\"anonymous\": \"192.0.2.1\"}").at("/rules/0/of"))
        .isEqualTo(json("1"));
    assertThat(log.messages()).as("a look is no change").isEmpty();
  }

  @Test
  void theUsageOfASubjectHasThePeriodOfEachRuleAndCountsNothing() {
    HttpService one = redis("limiter.policies.mail.warn-at", 0.5);
    HttpService other = redis();
    String subject = "{\"user\": \"ada\"}";
    JsonNode unused = write(other, "/limits/mail/usage", subject);
    assertThat(unused.at("/rules/1"))
        .isEqualTo(json("{\"rule\": \"9-per-7200s\", \"used\": 0, \"left\": 9}"));
    Instant before = Instant.now();
    for (int i = 0; i < 2; i++) {
      assertThat(call(one, "/routes/mail", "192.0.2.1", "X-User", "ada")).isEqualTo(200);
    }

    for (int i = 0; i < 3; i++) {
      JsonNode usage = write(other, "/limits/mail/usage", subject);
      assertThat(usage.get("policy").asText()).isEqualTo("mail");
      assertThat(usage.get("subject").asText()).matches(DIGEST);
      assertThat(usage.get("decidedBy").asText()).isEqualTo("store");
      JsonNode sliding = usage.at("/rules/0");
      assertThat(sliding.get("rule").asText()).isEqualTo("3-per-3600s");
      assertThat(sliding.get("used").asInt()).isEqualTo(2);
      assertThat(sliding.get("left").asInt()).isEqualTo(1);
      assertThat(Instant.parse(sliding.get("begin").asText()))
          .isBetween(before.minusSeconds(3_600), Instant.now().minusSeconds(3_600));
      assertThat(Instant.parse(sliding.get("end").asText()))
          .isBetween(before.plusSeconds(3_600), Instant.now().plusSeconds(3_600));
      JsonNode window = usage.at("/rules/1");
      assertThat(window.get("used").asInt()).isEqualTo(2);
      assertThat(window.get("left").asInt()).isEqualTo(7);
      Instant begin = Instant.parse(window.get("begin").asText());
      assertThat(begin).isBetween(before, Instant.now());
      assertThat(Instant.parse(window.get("end").asText())).isEqualTo(begin.plusSeconds(7_200));
    }
    assertThat(read(one, "/limits/mail").at("/limits/0/warnAt").asDouble()).isEqualTo(0.5);
    assertThat(read(other, "/limits/mail").at("/limits/0").has("warnAt")).isFalse();
    assertThat(log.messages()).as("it is no change").isEmpty();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aResetIsSeenByAllInstancesAndAudited(boolean gate) {
    HttpService one = redis("limiter.gate.enabled", gate);
    HttpService other = redis("limiter.gate.enabled", gate);
    call(5, one, "/routes/search", "192.0.2.1"); // the last two from its deny cache
    call(3, one, "/routes/search", "192.0.2.2");

    JsonNode reset = write(other, "/limits/search/reset", "{\"subject\": \"192.0.2.1\"}");

    assertThat(reset.at("/before/passes").asBoolean()).isFalse();
    assertThat(reset.at("/after/passes").asBoolean()).isTrue();
    assertThat(reset.at("/after/rules/0/remaining").asInt()).isEqualTo(2);
    assertThat(call(other, "/routes/search", "192.0.2.1")).isEqualTo(200);
    await()
        .atMost(PATIENCE)
        .until(() -> call(one, "/routes/search", "192.0.2.1") == 200); // within a second
    assertThat(call(one, "/routes/search", "192.0.2.2")).isEqualTo(429);

    String subject = reset.get("subject").asText();
    assertThat(log.messages())
        .containsExactly(
            "who=\"root\" change=reset policy=\"search\" subject=\"%s\" before=\"limited, 2-per-3600s 0/2\" after=\"allowed, 2-per-3600s 2/2\""
                .formatted(subject));
    Heard heard = other.bean(Heard.class);
    await().atMost(PATIENCE).until(() -> !heard.audits.isEmpty());
    assertThat(heard.audits)
        .containsExactly(
            new LimiterEvent.Audit(
                "root",
                "reset",
                "search",
                subject,
                "limited, 2-per-3600s 0/2",
                "allowed, 2-per-3600s 2/2"));
    assertThat(one.bean(Heard.class).audits).isEmpty();
  }

  @Test
  void aBanIsLiftedOnAllInstancesAndWhatWasCountedStays() {
    HttpService one = redis();
    HttpService other = redis();
    String subject = "{\"address\": \"192.0.2.1\"}";
    call(2, one, "/routes/sign-in", "192.0.2.1");
    call(4, one, "/routes/sign-in", "192.0.2.1");
    JsonNode banned = write(other, "/limits/sign-in/look", subject);
    assertThat(banned.get("outcome").asText()).isEqualTo("banned");
    assertThat(Duration.parse(banned.get("ban").asText()))
        .isBetween(Duration.ofMinutes(14), Duration.ofMinutes(15));

    JsonNode lifted = write(other, "/limits/sign-in/lift-ban", subject);

    assertThat(lifted.at("/before/outcome").asText()).isEqualTo("banned");
    assertThat(lifted.at("/after/outcome").asText()).isEqualTo("limited");
    assertThat(lifted.at("/after/rules/0/remaining").asInt()).isZero();
    assertThat(log.messages().get(0))
        .startsWith("who=\"root\" change=lift-ban policy=\"sign-in\" subject=")
        .contains("before=\"banned for PT14M59", "after=\"limited, tries 0/2\"");
    // The first instance has the ban in its deny cache for at most a second.
    await()
        .atMost(PATIENCE)
        .until(
            () -> {
              HttpResponse<String> denied =
                  one.get("/routes/sign-in", "X-Forwarded-For", "192.0.2.1");
              String policies = denied.headers().firstValue("RateLimit-Policy").orElse("");
              return denied.statusCode() == 429 && !policies.contains("abnormal-usage-detected");
            });
  }

  @Test
  void inMemoryABanIsLiftedToo() {
    HttpService one = memory();
    call(4, one, "/routes/sign-in", "192.0.2.1");
    JsonNode lifted = write(one, "/limits/sign-in/lift-ban", "{\"address\": \"192.0.2.1\"}");
    assertThat(lifted.at("/before/outcome").asText()).isEqualTo("banned");
    assertThat(lifted.at("/after/outcome").asText()).isEqualTo("limited");
    assertThat(
            write(one, "/limits/sign-in/reset", "{\"address\": \"192.0.2.1\"}")
                .at("/after/passes")
                .asBoolean())
        .isTrue();
    assertThat(call(one, "/routes/sign-in", "192.0.2.1")).isEqualTo(200);
  }

  /** The first instance never ends the call, as if its process had been killed. */
  @Test
  void aSubmissionWhoseProcessIsDeadCanBeReset() throws Exception {
    HttpService dead = redis();
    HttpService alive = redis();
    String body = "{\"user\": \"ada\", \"submission\": \"%s\"}";
    String look = body.formatted("8e03978e");
    CompletableFuture<HttpResponse<String>> never =
        dead.exchangeAsync("POST", "/routes/pay?ends=false", "", AS_ADA);
    await()
        .atMost(PATIENCE)
        .until(() -> !write(alive, "/limits/pay/look", look).get("passes").asBoolean());

    for (String other : List.of("another", "8e03978")) {
      JsonNode unchanged = write(alive, "/limits/pay/reset", body.formatted(other));
      assertThat(unchanged.at("/before/passes").asBoolean()).isTrue();
    }
    assertThat(submit(alive, "/routes/pay?ends=true")).isEqualTo(409);
    JsonNode reset = write(alive, "/limits/pay/reset", look);
    assertThat(reset.at("/before/outcome").asText()).isEqualTo("duplicate");
    assertThat(reset.at("/after/passes").asBoolean()).isTrue();
    assertThat(submit(alive, "/routes/pay?ends=true")).isEqualTo(200);
    assertThat(never).isNotDone();
  }

  @Test
  void aSubmissionOfAnExpressionCanBeResetFromCode() {
    HttpService one = redis();
    assertThat(submit(one, "/routes/numbered?number=7")).isEqualTo(200);
    assertThat(submit(one, "/routes/numbered?number=7")).isEqualTo(409);
    LimitedPolicy policy = one.context().getBean(LimitPolicies.class).get("numbered");
    one.context()
        .getBean(Limiter.class)
        .reset(policy.withSubmission(7).forUser("ada"))
        .toCompletableFuture()
        .join();
    assertThat(submit(one, "/routes/numbered?number=7")).isEqualTo(200);
    assertThat(one.bean(Limiter.class).peek(policy.forEveryone()).toCompletableFuture().join())
        .satisfies(left -> assertThat(left.rules().get(0).remaining()).isEqualTo(7));
  }

  @Test
  void aSubmissionThatNoSubjectSubmitsIsAMistake() {
    HttpService one = memory();
    assertThat(send(one, "/limits/pay/reset", "{\"everyone\": true, \"submission\": \"k\"}").body())
        .contains(
            "The body names a submission, but none of its subjects submits: name the subject whose submissions the policy 'pay' compares");
    assertThat(
            send(one, "/limits/search/reset", "{\"subject\": \"::1\", \"submission\": \"k\"}")
                .body())
        .contains(
            "The policy 'search' compares no submissions by an expression: leave the submission out");
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void theMostDeniedSubjectsAreShownByDigestAndCanBeResetByIt(boolean gate) {
    HttpService one = redis("limiter.gate.enabled", gate);
    call(12, one, "/routes/search", "192.0.2.1");
    call(6, one, "/routes/search", "192.0.2.2");
    call(3, one, "/routes/phone?number=0100", "192.0.2.3");
    one.post("/routes/order", "{}");
    one.post("/routes/order", "{}");

    JsonNode talkers = read(one, "/limits").at("/topTalkers/subjects");
    assertThat(each(talkers).map(each -> each.get("policy").asText() + each.get("denied").asInt()))
        .containsExactly("search10", "search4", "phone2", "order1");
    assertThat(talkers.findValuesAsText("error")).containsOnly("0");
    assertThat(talkers.findValuesAsText("subject")).allMatch(digest -> digest.matches(DIGEST));
    assertThat(talkers.toString()).doesNotContain("192.0.2", "0100", "clear");
    assertThat(talkers.get(2).get("countedBy").asText()).isEqualTo("subject = #{number}");

    JsonNode ofSearch = read(one, "/limits/search").at("/topTalkers/subjects");
    assertThat(ofSearch).hasSize(2);
    String digest = ofSearch.get(0).get("subject").asText();
    String body = "{\"digest\": \"%s\"}".formatted(digest);
    assertThat(write(one, "/limits/search/look", body).get("passes").asBoolean()).isFalse();
    JsonNode reset = write(one, "/limits/search/reset", body);
    assertThat(reset.get("subject").asText()).isEqualTo(digest);
    assertThat(call(one, "/routes/search", "192.0.2.1")).isEqualTo(200);
    assertThat(call(one, "/routes/search", "192.0.2.2")).isEqualTo(429);
    String byPhone = "{\"digest\": \"%s\"}".formatted(talkers.get(2).get("subject").asText());
    write(one, "/limits/phone/reset", byPhone);
    assertThat(call(one, "/routes/phone?number=0100", "192.0.2.3")).isEqualTo(200);

    JsonNode forgotten = write(one, "/limits", "{\"forgetTalkers\": true}");
    assertThat(forgotten.path("subjects")).isEmpty();
    assertThat(read(one, "/limits").at("/topTalkers/subjects")).isEmpty();
    assertThat(log.messages())
        .last()
        .isEqualTo(
            "who=\"root\" change=forget-talkers policy=\"all\" subject=\"\" before=\"18 denials\" after=\"0 denials\"");
  }

  @Test
  void aCallerWithoutASubjectIsResetByDigestUnderItsOwnRules() {
    HttpService one = redis();
    call(3, one, "/routes/mail", "192.0.2.1");
    String digest = read(one, "/limits/mail").at("/topTalkers/subjects/0/subject").asText();
    JsonNode reset = write(one, "/limits/mail/reset", "{\"digest\": \"%s\"}".formatted(digest));
    assertThat(reset.at("/before/rules")).hasSize(1);
    assertThat(reset.at("/before/rules/0/of").asInt()).isEqualTo(1);
    assertThat(call(one, "/routes/mail", "192.0.2.1")).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void subjectsAreShownInClearOnlyIfThatIsConfigured(boolean gate) {
    HttpService one =
        memory("limiter.management.show-subjects", true, "limiter.gate.enabled", gate);
    call(5, one, "/routes/search", "192.0.2.1");
    call(4, one, "/routes/phone?number=0100", "192.0.2.1");
    JsonNode talkers = read(one, "/limits").at("/topTalkers/subjects");
    assertThat(talkers.findValuesAsText("clear")).containsExactly("ip 192.0.2.1", "argument 0100");
    assertThat(talkers.findValuesAsText("subject")).allMatch(digest -> digest.matches(DIGEST));

    JsonNode reset = write(one, "/limits/phone/reset", "{\"subject\": \"0100\"}");
    assertThat(reset.get("clear").asText()).isEqualTo("0100");
    assertThat(log.messages().get(0)).contains(" (0100)\" before=");
  }

  @Test
  void aFloodOfManySubjectsStaysBoundedAndItsGreatestAreFound() {
    HttpService one = memory("limiter.policies.search.rules.2-per-3600s.count", 1);
    List<CompletableFuture<?>> calls = new ArrayList<>();
    for (int i = 0; i < 400; i++) {
      String once = "198.51." + i / 200 + '.' + i % 200;
      String often = "192.0.2." + i % 3;
      calls.add(one.getAsync("/routes/search", "X-Forwarded-For", once));
      calls.add(one.getAsync("/routes/search", "X-Forwarded-For", once));
      calls.add(one.getAsync("/routes/search", "X-Forwarded-For", often));
      if (calls.size() >= 60) {
        calls.forEach(CompletableFuture::join);
        calls.clear();
      }
    }
    calls.forEach(CompletableFuture::join);

    JsonNode talkers = read(one, "/limits/search").get("topTalkers");
    assertThat(talkers.get("subjects")).hasSize(PolicyStatistics.SIZE);
    long all = each(talkers.get("subjects")).mapToLong(each -> each.get("denied").asLong()).sum();
    assertThat(all + talkers.get("skipped").asLong()).isEqualTo(400 + 400 - 3);
    for (String often : List.of("192.0.2.0", "192.0.2.1", "192.0.2.2")) {
      JsonNode look = write(one, "/limits/search/look", "{\"address\": \"%s\"}".formatted(often));
      JsonNode found =
          each(talkers.get("subjects"))
              .filter(each -> each.get("subject").equals(look.get("subject")))
              .findFirst()
              .orElseThrow();
      long denied = found.get("denied").asLong();
      assertThat(denied + talkers.get("skipped").asLong()).isGreaterThanOrEqualTo(132);
      assertThat(denied - found.get("error").asLong()).isLessThanOrEqualTo(133);
    }
  }

  @Test
  void observeIsSwitchedOnThisInstance() {
    HttpService one = memory();
    HttpService other = memory();
    call(2, one, "/routes/search", "192.0.2.1");
    call(2, other, "/routes/search", "192.0.2.1");

    JsonNode on = write(one, "/limits/search", "{\"observe\": true}");

    assertThat(on.get("observed").asBoolean()).isTrue();
    assertThat(on.get("changed").asText()).isEqualTo("this instance");
    assertThat(on.at("/configured/0/source").asText()).isEqualTo("the endpoint limits");
    assertThat(call(one, "/routes/search", "192.0.2.1")).isEqualTo(200);
    assertThat(call(other, "/routes/search", "192.0.2.1")).isEqualTo(429);
    JsonNode look = write(one, "/limits/search/look", "{\"address\": \"192.0.2.1\"}");
    assertThat(look.get("passes").asBoolean()).isTrue();
    assertThat(look.at("/rules/0/wouldDeny").asBoolean()).isTrue();
    assertThat(write(one, "/limits/phone", "{\"observe\": true}").get("observed").asBoolean())
        .isTrue();

    assertThat(write(one, "/limits/search", "{\"observe\": false}").get("observed").asBoolean())
        .isFalse();
    assertThat(call(one, "/routes/search", "192.0.2.1")).isEqualTo(429);
    assertThat(read(one, "/limits/phone").get("observed").asBoolean()).as("stays").isTrue();
    assertThat(log.messages())
        .containsExactly(
            "who=\"root\" change=observe policy=\"search\" subject=\"\" before=\"false\" after=\"true\"",
            "who=\"root\" change=observe policy=\"phone\" subject=\"\" before=\"false\" after=\"true\"",
            "who=\"root\" change=observe policy=\"search\" subject=\"\" before=\"true\" after=\"false\"");
  }

  /** Those that are denied are not looked at; other numbers begin from zero. */
  @Test
  void rulesOnTrialHaveWhatTheyWouldDeny() {
    Map<String, Object> changing = new ConcurrentHashMap<>();
    Instant begin = Instant.now();
    HttpService one = redis();
    one.context()
        .getEnvironment()
        .addPropertySource(PropertySource.of("changing", changing, 1_000));
    call(9, one, "/routes/tried", "192.0.2.1");
    JsonNode view = read(one, "/limits/tried");
    assertThat(view.at("/decisions/wouldDeny").asLong()).isZero();
    JsonNode trial = view.at("/trials/0");
    assertThat(trial.get("rules").get(0).asText()).isEqualTo("3-per-60s");
    assertThat(trial.get("admitted").asLong()).isEqualTo(6);
    assertThat(trial.get("wouldDeny").asLong()).isEqualTo(3);
    assertThat(Instant.parse(trial.get("since").asText())).isBetween(begin, Instant.now());

    changing.put("limiter.policies.tried.trial[0].time", "60s");
    changing.put("limiter.policies.tried.trial[0].count", 5);
    changing.put("limiter.policies.tried.rules[0].time", "60s");
    changing.put("limiter.policies.tried.rules[0].count", 9);
    assertThat(one.bean(LimitPolicies.class).refresh()).isTrue();
    call(1, one, "/routes/tried", "192.0.2.1");
    assertThat(read(one, "/limits/tried").get("trials").findValuesAsText("admitted"))
        .containsExactly("1", "6");
    assertThat(read(one, "/limits/search").has("trials")).isFalse();
  }

  @Test
  void sharedSettingsHaveTheirVersionAndTheirProblem() {
    HttpService one =
        redis(
            "limiter.redis.shared-settings.enabled",
            true,
            "limiter.redis.shared-settings.interval",
            "100ms");
    Instant before = Instant.parse(shared(one).get("lastRead").asText());
    assertThat(shared(one).get("version").asLong()).isZero();
    assertThat(shared(one).get("source").asText()).isEqualTo("files");
    assertThat(shared(one).has("problem")).isFalse();

    try (RedisClient client = RedisClient.create(RedisFixture.uri());
        StatefulRedisConnection<String, String> redis = client.connect()) {
      String count = "search.rules.2-per-3600s.count";
      redis.sync().hset(prefix + "settings", Map.of("version", "3", count, "8"));
      await().atMost(PATIENCE).until(() -> shared(one).get("version").asLong() == 3);
      assertThat(shared(one).get("source").asText()).isEqualTo("Redis");
      assertThat(Instant.parse(shared(one).get("lastRead").asText())).isAfter(before);

      redis.sync().hset(prefix + "settings", Map.of("version", "4", count, "many"));
      await().atMost(PATIENCE).until(() -> shared(one).has("problem"));
      assertThat(shared(one).get("problem").asText())
          .startsWith("The shared settings of version 4 are ignored: limiter.policies.search.");
      assertThat(shared(one).get("version").asLong()).isEqualTo(3);
      redis.sync().del(prefix + "settings");
    }
    assertThat(shared(memory()).isMissingNode()).isTrue();
  }

  private static JsonNode shared(HttpService service) {
    return read(service, "/limits").path("sharedSettings");
  }

  @Test
  void withSharedSettingsObserveIsSwitchedOnAllInstances() {
    Object[] sharing = {
      "limiter.redis.shared-settings.enabled",
      true,
      "limiter.redis.shared-settings.interval",
      "100ms"
    };
    HttpService one = redis(sharing);
    HttpService other = redis(sharing);

    JsonNode on = write(one, "/limits/search", "{\"observe\": true}");
    assertThat(on.get("observed").asBoolean()).isTrue();
    assertThat(on.get("changed").asText()).isEqualTo("all instances");
    assertThat(on.at("/configured/0/source").asText()).isEqualTo("Redis");
    await().atMost(PATIENCE).until(() -> read(other, "/limits/search").get("observed").asBoolean());

    write(other, "/limits/phone", "{\"observe\": true}");
    await().atMost(PATIENCE).until(() -> read(one, "/limits/phone").get("observed").asBoolean());
    assertThat(read(one, "/limits/search").get("observed").asBoolean()).isTrue();

    write(other, "/limits/search", "{\"observe\": false}");
    await().atMost(PATIENCE).until(() -> !read(one, "/limits/search").get("observed").asBoolean());
    assertThat(read(one, "/limits/phone").get("observed").asBoolean()).isTrue();
  }

  private static final String MISTAKES =
      """
      serch/look | {} | No policy is named 'serch': did you mean search?
      serch | {"observe": true} | did you mean search?
      search/lok | {} | There is no operation 'lok': did you mean look?
      search/unknown-operation | {} | There is no operation 'unknown-operation': use one of look, usage, reset, lift-ban, override, end-override
      search/look |  | The body is not a JSON object: send one such as {"user": "ada"}
      search/look | { | The body is not a JSON object
      search/look | [1] | The body is not a JSON object
      search/look | "ada" | The body is not a JSON object
      search/look | {} | The body names no subject: specify one of subject, address,
      search/look | {"adress": "192.0.2.1"} | There is no member 'adress': did you mean address?
      search/look | {"x": 1} | There is no member 'x': use one of subject,
      search/look | {"address": 1} | The member 'address' is 1: set it to a text of 1 to 8192 characters
      search/look | {"address": null} | The body names no subject: specify one of
      search/look | {"subject": true} | The member 'subject' is true: set it to a text or a number
      search/look | {"subject": ["a"]} | The member 'subject' is [a]: set it to a text
      search/look | {"address": " "} | The member 'address' is ' ': set it to a text of 1 to
      search/look | {"address": "nowhere"} | not an IP address
      search/look | {"address": "TOO LONG"} | The member 'address' is '1111111111
      search/look | {"user": "ada"} | The policy 'search' does not count users, but limitType = IP
      search/look | {"everyone": false} | The body names no subject: specify one of
      search/look | {"digest": "abc"} | The digest 'abc' is not among the top talkers of the policy
      search/look | {"address": "192.0.2.1", "method": "find"} | The policy 'search' limits no method find: use one of
      several/look | {"header": "k"} | The member 'header' is 'k': set it to an object of names and values
      several/look | {"header": {"X-Api-Key": 5}} | The member 'X-Api-Key' of 'header' is 5: set it to a text
      several/look | {"header": {"X-Key": "k"}} | The policy 'several' does not count header = x-key, but
      several/look | {"resolver": {"java.lang.String": "k"}} | The policy 'several' does not count resolver = java.lang.String, but
      phone/reset | {"argument": {"#{email}": "k"}} | The policy 'phone' does not count subject = #{email}, but subject = #{number}
      several/look | {"subject": "k"} | The policy 'several' counts
      search | {} | The member 'observe' is missing
      search | {"observe": "yes"} | The member 'observe' is 'yes': set it to true or false
      search | {"enabled": false} | There is no member 'enabled'
       | {"forgetTalkers": false} | The member 'forgetTalkers' is false
       |  | The body is not a JSON object
      """;

  /** A path below {@code /limits}, a body, and what the answer says. */
  @Test
  void wrongInputIsA400ThatSaysWhat() {
    HttpService one = memory();
    MISTAKES
        .lines()
        .forEach(
            line -> {
              String[] each = line.split("\\|");
              String path = each[0].isBlank() ? "/limits" : "/limits/" + each[0].strip();
              String body = each[1].strip().replace("TOO LONG", "1".repeat(8_193));
              HttpResponse<String> response = send(one, path, body);
              assertThat(response.statusCode()).as(line).isEqualTo(400);
              assertThat(json(response.body()).toString().replace("\\\"", "\""))
                  .as(line)
                  .contains(each[2].strip())
                  .hasSizeLessThan(1_000);
            });
    assertThat(one.get("/limits/nobodys", "X-User", "root").statusCode()).isEqualTo(400);
    assertThat(log.messages()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      textBlock =
          """
          "time": "1h" | The body has none of 'counts' and 'unlimited': specify one of them
          "unlimited": true, "counts": {"a": 1}, "time": "1h" | The body has both of
          "unlimited": true | The member 'time' is missing
          "unlimited": true, "time": 5 | The member 'time' is 5: set it to a time
          "unlimited": true, "time": "soon" | The member 'time' is 'soon': set it to a time with its unit, such as 15m
          "unlimited": true, "time": "8d" | use 1 s to 7 days
          "unlimited": true, "time": "-1h" | use 1 s to 7 days
          "unlimited": false, "time": "1h" | The body has none of 'counts'
          "counts": 5, "time": "1h" | The member 'counts' is 5: set it to an object of names and values
          "counts": {}, "time": "1h" | The body has none of 'counts'
          "counts": {"2-per-3600s": 2.5}, "time": "1h" | The member '2-per-3600s' of 'counts' is 2.5: set it to a whole number
          "counts": {"2-per-3600s": 0}, "time": "1h" | The rule '2-per-3600s' has count 0: use 1 to
          "counts": {"daily": 5}, "time": "1h" | The policy 'search' has no rule 'daily' for this subject: use one of 2-per-3600s
          "until": "1h" | There is no member 'until'
          """)
  void aMistakeInAnOverrideIsA400ThatSaysWhat(String members, String message) {
    String body = "{\"address\": \"192.0.2.1\", %s}".formatted(members);
    HttpService one = memory("limiter.overrides.enabled", true);

    HttpResponse<String> response = send(one, "/limits/search/override", body);

    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(response.body()).contains(message);
    assertThat(log.messages()).isEmpty();
  }

  @Test
  void withoutTheSettingThereAreNoOverrides() {
    HttpResponse<String> response =
        send(memory(), "/limits/search/end-override", "{\"address\": \"192.0.2.1\"}");

    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(response.body()).contains("set limiter.overrides.enabled = true on all instances");
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aSubjectHasOtherLimitsOnAllInstancesUntilItIsEnded(boolean secret) {
    Object[] settings = {
      "limiter.overrides.enabled",
      true,
      "limiter.overrides.interval",
      "100ms",
      "limiter.redis.key-secret",
      secret ? "a secret of 24 letters!!" : ""
    };
    HttpService one = redis(secret ? settings : Arrays.copyOf(settings, 4));
    HttpService other = redis(secret ? settings : Arrays.copyOf(settings, 4));
    call(3, one, "/routes/search", "192.0.2.1");
    String subject = read(one, "/limits/search").at("/topTalkers/subjects/0/subject").asText();

    JsonNode put =
        write(
            one,
            "/limits/search/override",
            "{\"digest\": \"%s\", \"counts\": {\"2-per-3600s\": 5}, \"time\": \"2h\"}"
                .formatted(subject));

    assertThat(put.at("/override/counts/2-per-3600s").asInt()).isEqualTo(5);
    assertThat(put.at("/override/subject").asText()).isEqualTo(subject);
    assertThat(read(one, "/limits").at("/overrides/0/subject").asText()).isEqualTo(subject);
    assertThat(read(one, "/limits/mail").at("/overrides/0").isMissingNode()).isTrue();
    await().atMost(PATIENCE).until(() -> call(other, "/routes/search", "192.0.2.1") == 200);
    assertThat(write(one, "/limits/search/look", "{\"address\": \"192.0.2.1\"}").at("/rules/0/of"))
        .hasToString("5");

    write(other, "/limits/search/end-override", "{\"address\": \"192.0.2.1\"}");
    assertThat(call(other, "/routes/search", "192.0.2.1")).isEqualTo(429);
    await().atMost(PATIENCE).until(() -> read(one, "/limits").at("/overrides/0").isMissingNode());
    assertThat(log.messages())
        .anyMatch(
            line ->
                line.startsWith(
                        "who=\"root\" change=override policy=\"search\" subject=\"" + subject)
                    && line.contains("before=\"the usual limits\" after=\"{2-per-3600s=5} for PT"))
        .anyMatch(
            line ->
                line.contains("change=end-override")
                    && line.endsWith("after=\"the usual limits\""));
  }

  @Test
  void aPolicyThatIsSwitchedOffHasNoSubjects() {
    HttpService one = memory("limiter.policies.search.enabled", false);
    HttpResponse<String> look = send(one, "/limits/search/look", "{\"address\": \"192.0.2.1\"}");
    assertThat(look.statusCode()).isEqualTo(400);
    assertThat(look.body())
        .contains("limits nothing now: enable it first, by limiter.policies.search.enabled = true");
  }

  @Test
  void severalSubjectsOfOneCallAreNamedTogether() {
    HttpService one = redis();
    String[] caller = {"X-Api-Key", "k1", "X-User", "ada"};
    assertThat(call(one, "/routes/several", "192.0.2.1", caller)).isEqualTo(200);
    String all = "{\"header\": {\"x-api-key\": \"k1\"}, \"everyone\": true, \"user\": \"ada\"}";
    JsonNode look = write(one, "/limits/several/look", all);
    assertThat(look.has("clear")).isFalse();
    assertThat(each(look.get("rules")).map(rule -> rule.get("remaining").asInt()))
        .containsExactlyInAnyOrder(1, 3, 8);
    assertThat(look.get("subject").asText()).matches(DIGEST + "," + DIGEST + "," + DIGEST);

    write(one, "/limits/several/reset", "{\"header\": {\"X-Api-Key\": \"k1\"}}");

    assertThat(
            each(write(one, "/limits/several/look", all).get("rules"))
                .map(rule -> rule.get("remaining").asInt()))
        .containsExactlyInAnyOrder(2, 3, 8);
  }

  @Test
  void aSubjectOfAResolverIsNamedByItsType() {
    HttpService one = memory();
    assertThat(call(one, "/routes/tenant", "192.0.2.1", "X-Tenant", "t")).isEqualTo(200);
    JsonNode look =
        write(
            one,
            "/limits/tenant/look",
            "{\"resolver\": {\"%s\": \"t\"}}".formatted(Tenant.class.getName()));
    assertThat(look.at("/rules/0/remaining").asInt()).isEqualTo(1);
    assertThat(write(one, "/limits/tenant/look", "{\"subject\": \"t\"}").at("/rules/0/remaining"))
        .isEqualTo(json("1"));
  }

  @Test
  void aPrincipalCannotForgeALine() {
    HttpService one = memory();
    one.post(
        "/limits/search/reset", "{\"address\": \"192.0.2.1\"}", "X-User", "eve\" change=nothing");
    assertThat(log.messages().get(0)).startsWith("who=\"eve' change=nothing\" change=reset ");
    assertThat(LogThrottle.oneLine("a\nb\u2028c\u202ed", 9)).isEqualTo("a?b?c?d");
  }

  @Test
  void whileRedisIsAwayAChangeFailsAndIsAudited() {
    try (RedisProcess own = RedisProcess.onFreePort().start()) {
      HttpService one =
          redis(
              "redis.uri", own.uri(),
              "limiter.redis.deadline", "500ms",
              "limiter.redis.start-timeout", "5s");
      call(3, one, "/routes/search", "192.0.2.1");
      own.close();
      HttpResponse<String> reset =
          send(one, "/limits/search/reset", "{\"address\": \"192.0.2.1\"}");
      assertThat(reset.statusCode()).as(reset.body()).isEqualTo(503);
      assertThat(reset.body()).contains("The limit store does not answer");
      assertThat(log.messages().get(0)).contains("change=reset").contains("after=\"failed: ");
      JsonNode look = write(one, "/limits/search/look", "{\"address\": \"192.0.2.1\"}");
      assertThat(look.get("decidedBy").asText()).isEqualTo("fallback");
    }
  }
}
