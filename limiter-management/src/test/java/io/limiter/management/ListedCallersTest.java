// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import static io.limiter.micronaut.testing.Json.json;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.limiter.core.testing.RecordedLog;
import io.limiter.core.testing.RedisFixture;
import io.limiter.core.testing.RedisProcess;
import io.limiter.management.ListedCaller.Kind;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.event.LimiterEvent;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Order;
import io.micronaut.http.HttpAttributes;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.runtime.event.annotation.EventListener;
import jakarta.inject.Singleton;
import java.net.http.HttpResponse;
import java.security.Principal;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.ToLongFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Callers that are blocked and exempt at run time, over HTTP: by an operator, on all instances. */
class ListedCallersTest {

  private static final String SPEC = "ListedCallersTest";
  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final String ADDRESS = "X-Forwarded-For";
  private static final String USER = "X-User";

  private final String prefix = "listed-" + UUID.randomUUID().toString().substring(0, 8) + ":";
  private final RecordedLog log = RecordedLog.ofInfo(AuditLog.AUDIT);
  private final List<HttpService> services = new ArrayList<>();

  @Controller("/listed")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get("/free")
    String free() {
      return "ok";
    }

    @Get("/address")
    @RateLimiter(value = "by-address", rules = @RateRule(count = 1, time = 3_600))
    String address() {
      return "ok";
    }

    @Get("/user")
    @RateLimiter(
        value = "by-user",
        limitType = LimitType.USER_ID,
        rules = @RateRule(count = 1, time = 3_600))
    String user() {
      return "ok";
    }

    @Get("/argument")
    @RateLimiter(
        value = "by-argument",
        subject = "#{who}",
        rules = @RateRule(count = 1, time = 3_600))
    CompletableFuture<String> argument(@QueryValue String who) {
      return CompletableFuture.completedFuture("ok");
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
      String user = request.getHeaders().get(USER);
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

  private HttpService start(Object... settings) {
    Map<String, Object> all =
        HttpService.settings(
            "endpoints.limits.enabled",
            true,
            "endpoints.limits.sensitive",
            false,
            "limiter.address.trusted-proxies",
            "127.0.0.1",
            "limiter.overrides.enabled",
            true,
            "limiter.overrides.interval",
            "100ms",
            "limiter.redis.key-prefix",
            prefix,
            "limiter.redis.deadline",
            "1s");
    all.putAll(HttpService.settings(settings));
    HttpService service = HttpService.start(SPEC, all);
    services.add(service);
    return service;
  }

  private HttpService redis(Object... settings) {
    Map<String, Object> all = HttpService.settings("redis.uri", RedisFixture.uri());
    all.putAll(HttpService.settings(settings));
    return start(
        all.entrySet().stream()
            .flatMap(each -> Stream.of(each.getKey(), each.getValue()))
            .toArray());
  }

  private static HttpResponse<String> send(HttpService to, String operation, String body) {
    return to.exchange(
        "POST",
        "/limits/" + operation,
        body.replace('\'', '"'),
        USER,
        "root",
        "Content-Type",
        "application/json");
  }

  private static JsonNode write(HttpService to, String operation, String body) {
    HttpResponse<String> response = send(to, operation, body);
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return json(response.body());
  }

  private static void rejected(HttpService by, String operation, String body, String message) {
    HttpResponse<String> response = send(by, operation, body);
    assertThat(response.statusCode()).as(response.body()).isEqualTo(400);
    assertThat(json(response.body()).toString().replace("\\\"", "\"")).contains(message);
  }

  private static JsonNode listed(HttpService by) {
    HttpResponse<String> response = by.get("/limits", USER, "root");
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return json(response.body()).path("callers");
  }

  private static void untilStatus(int status, HttpService at, String path, String... headers) {
    await().atMost(PATIENCE).until(() -> at.status(path, headers) == status);
  }

  private static long inRedis(ToLongFunction<RedisCommands<String, String>> command) {
    RedisClient client = RedisClient.create(RedisFixture.uri());
    try (StatefulRedisConnection<String, String> connection = client.connect()) {
      return command.applyAsLong(connection.sync());
    } finally {
      client.shutdown();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void anAddressIsBlockedOnAllInstancesUntilThatIsEnded(boolean gate) {
    HttpService one = redis("limiter.gate.enabled", gate);
    HttpService other = redis("limiter.gate.enabled", gate);
    Instant before = Instant.now().minusMillis(1);

    JsonNode block =
        write(one, "block", "{'address': '203.0.113.7', 'time': '15m', 'reason': 'scraping'}");

    HttpResponse<String> answer = one.get("/listed/free", ADDRESS, "203.0.113.7");
    assertThat(answer.statusCode()).isEqualTo(403);
    assertThat(answer.body()).contains("This caller is blocked");
    for (String path : List.of("/listed/free", "/listed/address", "/nowhere", "/limits")) {
      untilStatus(403, other, path, ADDRESS, "203.0.113.7");
    }
    assertThat(other.status("/listed/free", ADDRESS, "203.0.113.8")).isEqualTo(200);
    JsonNode entry = listed(other).get(0);
    assertThat(entry.get("kind").asText()).isEqualTo("block");
    assertThat(entry.get("address").asText()).isEqualTo("203.0.113.7");
    assertThat(entry.get("reason").asText()).isEqualTo("scraping");
    assertThat(entry.get("by").asText()).isEqualTo("root");
    Instant since = Instant.parse(entry.get("since").asText());
    assertThat(since).isBetween(before, Instant.now());
    assertThat(entry.get("until").asText()).isEqualTo(since.plusSeconds(900).toString());
    assertThat(block.get("after").get("until")).isEqualTo(entry.get("until"));
    assertThat(block.has("before")).isFalse();
    assertThat(inRedis(redis -> redis.pttl(prefix + "callers"))).isBetween(1L, 900_000L);

    JsonNode ended = write(other, "end-block", "{'address': '203.0.113.7'}");
    assertThat(ended.at("/before/until")).isEqualTo(entry.get("until"));
    assertThat(ended.has("after")).isFalse();
    assertThat(other.status("/listed/free", ADDRESS, "203.0.113.7")).isEqualTo(200);
    untilStatus(200, one, "/listed/free", ADDRESS, "203.0.113.7");
    assertThat(listed(one)).isEmpty();
    assertThat(inRedis(redis -> redis.exists(prefix + "callers"))).isZero();
    assertThat(write(one, "end-block", "{'address': '203.0.113.7'}").has("before")).isFalse();
  }

  @ParameterizedTest
  @CsvSource({
    "2001:db8::/32, 2001:DB8:1::9, 2001:db9::9, 2001:db8::/32",
    "2001:0DB8:0::1, 2001:db8::1, 2001:db8::2, 2001:db8::1",
    "203.0.113.0/24, ::ffff:203.0.113.9, 203.0.114.1, 203.0.113.0/24",
    "::ffff:203.0.113.0/120, 203.0.113.9, 203.0.114.1, 203.0.113.0/24"
  })
  void aNetworkIsBlockedInAnySpelling(String written, String inside, String outside, String name) {
    HttpService one = start();

    JsonNode block = write(one, "block", "{'address': '%s', 'time': '15m'}".formatted(written));

    assertThat(block.get("address").asText()).isEqualTo(name);
    assertThat(one.status("/listed/free", ADDRESS, inside)).isEqualTo(403);
    assertThat(one.status("/listed/free", ADDRESS, outside)).isEqualTo(200);
    write(one, "end-block", "{'address': '%s'}".formatted(name));
    assertThat(one.status("/listed/free", ADDRESS, inside)).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aUserIsBlockedAndItEndsByItself(boolean inRedis) {
    HttpService one = inRedis ? redis() : start();
    HttpService other = inRedis ? redis() : one;
    write(one, "block", "{'user': 'mallory', 'time': '3s'}");

    untilStatus(403, other, "/listed/free", USER, "mallory");
    assertThat(other.status("/listed/free", USER, "ada")).isEqualTo(200);
    assertThat(other.status("/listed/free")).isEqualTo(200);
    untilStatus(200, other, "/listed/free", USER, "mallory");
    untilStatus(200, one, "/listed/free", USER, "mallory");
    assertThat(listed(one)).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "/listed/address, address, 203.0.113.7, true",
    "/listed/address, address, 203.0.113.7, false",
    "/listed/user, user, ada, true",
    "/listed/argument?who=x, address, 203.0.113.0/24, true"
  })
  void anExemptCallerPassesOnAllInstances(String path, String type, String name, boolean gate) {
    HttpService one = redis("limiter.gate.enabled", gate);
    HttpService other = redis("limiter.gate.enabled", gate);
    String[] caller = {ADDRESS, "203.0.113.7", USER, "ada"};
    String[] another = {ADDRESS, "198.51.100.7", USER, "bob"};
    String body = "{'%s': '%s'%s}".formatted(type, name, "%s");
    assertThat(one.status(path, caller)).isEqualTo(200);
    assertThat(other.status(path, caller)).isEqualTo(429);

    write(one, "exempt", body.formatted(", 'time': '1h'"));

    assertThat(one.status(path, caller)).isEqualTo(200);
    untilStatus(200, other, path, caller);
    assertThat(IntStream.range(0, 5).map(call -> other.status(path, caller))).containsOnly(200);
    other.status(path, another);
    assertThat(other.status(path, another)).isEqualTo(429);
    assertThat(listed(other).get(0).get("kind").asText()).isEqualTo("exempt");

    write(other, "end-exempt", body.formatted(""));
    assertThat(other.status(path, caller)).isEqualTo(429);
    untilStatus(429, one, path, caller);
  }

  @Test
  void theyAddToTheListsOfTheSettingsAndHaveTheirAnswer() {
    HttpService one =
        start(
            "limiter.block.users",
            "eve",
            "limiter.block.status",
            451,
            "limiter.block.message",
            "Not here",
            "limiter.exempt.users",
            "monitor");
    write(one, "block", "{'user': 'mallory', 'time': '1h'}");
    write(one, "exempt", "{'user': 'ada', 'time': '1h'}");
    for (String user : List.of("eve", "mallory")) {
      HttpResponse<String> answer = one.get("/listed/free", USER, user);
      assertThat(answer.statusCode()).isEqualTo(451);
      assertThat(answer.body()).contains("Not here");
    }
    for (String user : List.of("monitor", "ada")) {
      assertThat(IntStream.range(0, 3).map(call -> one.status("/listed/user", USER, user)))
          .containsOnly(200);
    }

    HttpService answerOnly = start("limiter.block.status", 404);
    write(answerOnly, "block", "{'address': '203.0.113.7', 'time': '1h'}");
    assertThat(answerOnly.status("/listed/free", ADDRESS, "203.0.113.7")).isEqualTo(404);
  }

  @Test
  void eachChangeIsAudited() {
    HttpService one = redis();
    JsonNode block =
        write(one, "block", "{'address': '203.0.113.7', 'time': '15m', 'reason': 'a\\nb'}");
    String until = block.at("/after/until").asText();
    assertThat(block.at("/after/reason").asText()).isEqualTo("a?b");
    JsonNode exempt = write(one, "exempt", "{'user': 'ada', 'time': '1h'}");
    write(one, "end-block", "{'address': '203.0.113.7'}");

    assertThat(log.messages())
        .containsExactly(
            "who=\"root\" change=block policy=\"all\" subject=\"address 203.0.113.7\" before=\"not listed\" after=\"until %s: a?b\""
                .formatted(until),
            "who=\"root\" change=exempt policy=\"all\" subject=\"user ada\" before=\"not listed\" after=\"until %s\""
                .formatted(exempt.at("/after/until").asText()),
            "who=\"root\" change=end-block policy=\"all\" subject=\"address 203.0.113.7\" before=\"until %s: a?b\" after=\"not listed\""
                .formatted(until));
    Heard heard = one.bean(Heard.class);
    await().atMost(PATIENCE).until(() -> heard.audits.size() == 3);
    assertThat(heard.audits)
        .first()
        .isEqualTo(
            new LimiterEvent.Audit(
                "root",
                "block",
                "all",
                "address 203.0.113.7",
                "not listed",
                "until " + until + ": a?b"));
  }

  @Test
  void whileRedisIsAwayThoseLastReadHoldAndAChangeFails() {
    try (RedisProcess redis = RedisProcess.onFreePort().start()) {
      HttpService one = redis("redis.uri", redis.uri());
      write(one, "block", "{'address': '203.0.113.7', 'time': '1h'}");
      write(one, "block", "{'address': '203.0.113.8', 'time': '5s'}");

      redis.kill();

      HttpResponse<String> failed = send(one, "block", "{'user': 'eve', 'time': '1h'}");
      assertThat(failed.statusCode()).as(failed.body()).isEqualTo(503);
      assertThat(log.messages())
          .last()
          .asString()
          .contains("change=block", "before=\"not listed\" after=\"failed: ");
      assertThat(one.status("/listed/free", ADDRESS, "203.0.113.7")).isEqualTo(403);
      untilStatus(200, one, "/listed/free", ADDRESS, "203.0.113.8");
      assertThat(one.status("/listed/free", ADDRESS, "203.0.113.7")).isEqualTo(403);
      assertThat(listed(one)).hasSize(1);
    }
  }

  @Test
  void whatCannotBeReadIsIgnoredWithAWarning() {
    long ends = System.currentTimeMillis() + 3_600_000;
    String text = "%s\n1\n2\nops\nby hand".formatted(ends);
    Map<String, String> malformed = new HashMap<>();
    malformed.put("block address 203.0.113.1", "soon");
    malformed.put("block address 203.0.113.2", "99999999999999999999\n1\n2\nops\n");
    malformed.put("block address 203.0.113.3", ends + "\nforever");
    malformed.put("block address 203.0.113", text);
    malformed.put("block address 2001:DB8::1", text); // not as it is written
    malformed.put("ban user eve", text);
    malformed.put("\n", text);
    try (RecordedLog warnings = RecordedLog.of(RedisOverrides.class.getName())) {
      HttpService one = redis();
      inRedis(redis -> redis.hset(prefix + "callers", malformed));
      inRedis(redis -> redis.hset(prefix + "callers", Map.of("block address 203.0.113.7", text)));

      untilStatus(403, one, "/listed/free", ADDRESS, "203.0.113.7");
      for (String address : List.of("203.0.113.1", "203.0.113.2", "203.0.113.3", "2001:db8::1")) {
        assertThat(one.status("/listed/free", ADDRESS, address)).as(address).isEqualTo(200);
      }
      assertThat(listed(one)).hasSize(1);
      assertThat(listed(one).get(0).get("reason").asText()).isEqualTo("by hand");
      await().atMost(PATIENCE).until(() -> !warnings.messages().isEmpty());
      assertThat(warnings.messages())
          .hasSize(1)
          .first()
          .asString()
          .matches(
              "The field '.+' of the hash "
                  + prefix
                  + "callers cannot be read, so it has no effect: remove it\\. Occurrences since the last message: \\d+");
      inRedis(redis -> redis.del(prefix + "callers"));
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void theirNumberHasABound(boolean inRedis) {
    HttpService one = inRedis ? redis() : start();
    LimitOverrides overrides = one.bean(LimitOverrides.class);
    for (int i = 0; i < 1_000; i++) {
      overrides
          .list(ListedCaller.ofUser(Kind.EXEMPT, "user-" + i, Duration.ofHours(1), "", "test"))
          .toCompletableFuture()
          .join();
    }

    HttpResponse<String> full = send(one, "block", "{'user': 'eve', 'time': '1h'}");

    assertThat(full.statusCode()).as(full.body()).isEqualTo(409);
    assertThat(full.body())
        .contains(
            "There are already 1000 blocked and exempt callers: remove one that is not needed");
    write(one, "exempt", "{'user': 'user-7', 'time': '2h'}");
    write(one, "end-exempt", "{'user': 'user-7'}");
    write(one, "block", "{'user': 'eve', 'time': '1h'}");
    assertThat(one.status("/listed/free", USER, "eve")).isEqualTo(403);
    inRedis(redis -> redis.del(prefix + "callers"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"0.0.0.0/0", "::/0", "128.0.0.0/7", "2000::/15", "::ffff:0:0/96", "unix"})
  void aWideNetworkIsListedOnlyOnPurpose(String network) {
    HttpService one = start();
    String body = "{'address': '%s', 'time': '15m'%s}".formatted(network, "%s");
    for (String operation : List.of("block", "exempt")) {
      for (String not : List.of("", ", 'everyone': false")) {
        rejected(
            one,
            operation,
            body.formatted(not),
            "wider than a /8 of IPv4 or a /16 of IPv6: if that is meant, add \"everyone\": true");
      }
    }
    assertThat(listed(one)).isEmpty();
    write(one, "exempt", body.formatted(", 'everyone': true"));
    assertThat(listed(one)).hasSize(1);
  }

  @Test
  void everybodyCanBeBlockedOnPurpose() {
    HttpService one = start();
    write(one, "block", "{'address': '128.0.0.0/8', 'time': '1h'}");
    assertThat(one.status("/listed/free", ADDRESS, "128.9.9.9")).isEqualTo(403);
    write(one, "block", "{'address': '0.0.0.0/0', 'time': '2s', 'everyone': true}");
    assertThat(one.status("/listed/free", ADDRESS, "203.0.113.7")).isEqualTo(403);
    assertThat(one.status("/listed/free", ADDRESS, "2001:db8::1")).isEqualTo(200);
    untilStatus(200, one, "/listed/free", ADDRESS, "203.0.113.7");
  }

  @Test
  void aCallerBlocksItselfOnlyOnPurpose() {
    HttpService one = start();
    String message = "is your own, so you could not end the block by this endpoint";
    rejected(one, "block", "{'address': '127.0.0.0/8', 'time': '1h'}", message);
    rejected(one, "block", "{'user': 'root', 'time': '1h'}", message);
    write(one, "exempt", "{'address': '127.0.0.1', 'time': '1h'}");
    write(one, "block", "{'user': 'root', 'time': '1h', 'everyone': true}");
    assertThat(one.status("/listed/free", USER, "root")).isEqualTo(403);
  }

  @Test
  void aMistakeIsA400ThatSaysWhat() {
    HttpService one = start();
    rejected(
        one, "block", "", "send one such as {\"address\": \"203.0.113.7\", \"time\": \"15m\"}");
    rejected(one, "block", "{'time': '15m'}", "The body names no caller: specify one of address");
    rejected(
        one,
        "block",
        "{'address': '::1', 'user': 'ada', 'time': '1h'}",
        "The body names two callers");
    rejected(one, "block", "{'address': '::1'}", "The member 'time' is missing");
    rejected(one, "block", "{'address': '::1', 'time': '31d'}", "use 1 s to 30 days");
    rejected(one, "block", "{'address': '::1', 'time': '0s'}", "use 1 s to 30 days");
    rejected(one, "block", "{'address': '::1', 'time': 5}", "a time with its unit, such as 15m");
    rejected(one, "block", "{'address': 'nowhere', 'time': '1h'}", "nowhere: it is neither an");
    rejected(one, "block", "{'address': '10.0.0.1/8', 'time': '1h'}", "has bits set after");
    rejected(one, "block", "{'adress': '::1', 'time': '1h'}", "did you mean address?");
    rejected(one, "end-block", "{'user': 'ada', 'time': '1h'}", "There is no member 'time'");
    rejected(
        one,
        "block",
        "{'user': 'ada', 'time': '1h', 'reason': '%s'}".formatted("a".repeat(201)),
        "A reason with 201 characters: use 200 at most");
    rejected(
        one,
        "block",
        "{'user': '%s', 'time': '1h'}".formatted("a".repeat(501)),
        "A name of a user with 501 characters: use 500 at most");
    assertThat(log.messages()).isEmpty();

    HttpService without = start("limiter.overrides.enabled", false);
    rejected(
        without,
        "block",
        "{'user': 'ada', 'time': '1h'}",
        "set limiter.overrides.enabled = true on all instances");
    assertThat(listed(without)).isEmpty();
  }
}
