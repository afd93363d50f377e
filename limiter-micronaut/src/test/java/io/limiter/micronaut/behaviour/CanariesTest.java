// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.core.read.ListAppender;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.SubjectResolver;
import io.limiter.micronaut.exception.InvalidCallException.MissingSubjectException;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import jakarta.inject.Singleton;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.slf4j.LoggerFactory;

/**
 * The identity of a client, its input and the secret of the keys are never exposed: not in Redis,
 * not in the limiter's log at any level, not in responses; not even when Redis fails.
 */
class CanariesTest {

  private static final String SECRET = "a secret that is not exposed";
  private static final String ADDRESS = "203.0.113.77";
  private static final String USER = "ada.lovelace";
  private static final String TOKEN = "sk-secret-4711";
  private static final String OWNER = "acme-holding";
  private static final String PHONE = "555-0123";
  private static final String ITEM = "paper-clips";
  private static final String[] ALL = {ADDRESS, USER, TOKEN, OWNER, PHONE, ITEM, SECRET};

  private static final String[] OF_THE_APPLICATION = {
    "Secrets", "StoredText", "io.limiter", "java.lang", "argument", "x-api-key"
  };

  /** The parts of a request except its address, which may be shown to the client itself. */
  private static final String[] OF_HEADERS = {ADDRESS, USER, TOKEN, OWNER, SECRET};

  private static final String[] ADA = {
    "X-Address", ADDRESS,
    "X-User", USER,
    "X-Api-Key", TOKEN,
    "X-Owner", OWNER,
    "Content-Type", "application/json"
  };
  private static final String[] BOB = {
    "X-Address", "198.51.100.1",
    "X-User", "bob",
    "X-Api-Key", "tea",
    "X-Owner", "mill",
    "Content-Type", "application/json"
  };
  private static final List<String> ROUTES =
      List.of("request", "resolved", "argument", "arguments");

  private static final List<String> MISTAKEN =
      List.of("subject", "cost", "text-cost", "key", "structure", "thrown");

  private final ListAppender<ILoggingEvent> logged = new ListAppender<>();
  private final Logger root = (Logger) LoggerFactory.getLogger(Logger.ROOT_LOGGER_NAME);
  private final Logger ours = (Logger) LoggerFactory.getLogger("io.limiter");

  @BeforeEach
  void listen() {
    logged.start();
    root.addAppender(logged);
    ours.setLevel(Level.TRACE);
  }

  @AfterEach
  void stopListening() {
    ours.setLevel(null);
    root.detachAppender(logged);
  }

  @ParameterizedTest
  @CsvSource({"true, true", "false, false"})
  void whatACallerIsAndSendsCanBeReadNowhere(boolean secret, boolean gate) {
    RedisClient client = RedisClient.create();
    try (RedisProcess redis = RedisProcess.onFreePort().start();
        TestServer server = start(redis, secret, gate)) {
      RedisCommands<String, String> commands = client.connect(RedisURI.create(redis.uri())).sync();

      callEverything(server);
      List<String> keys = commands.keys("*");
      assertThat(keys).hasSizeGreaterThan(10);
      for (String key : keys) {
        assertHoldsNone(key + commands.get(key), ALL);
        assertHoldsNone(key + commands.get(key), OF_THE_APPLICATION);
      }

      for (String key : keys) { // now each decision fails with an error that may quote its key
        commands.del(key);
        commands.lpush(key, "no log");
      }
      callEverything(server);
      redis.kill();
      callEverything(server);
    } finally {
      client.shutdown();
    }
    String log =
        List.copyOf(logged.list).stream().map(CanariesTest::text).collect(Collectors.joining("\n"));
    assertThat(log).contains(" answered with the error WRONGTYPE", "Rejected: ");
    assertThat(log).doesNotContain(ALL);
    assertThat(logged.list)
        .filteredOn(event -> event.getFormattedMessage().startsWith("Rejected: "))
        .hasSizeGreaterThan(MISTAKEN.size())
        .allSatisfy(
            event ->
                assertThat(event.getFormattedMessage())
                    .hasSizeLessThan(1_200)
                    .doesNotContainPattern("[\\p{Cntrl}\\u2028\\u2029]"));
  }

  /** Neither as it is nor encoded. */
  private static void assertHoldsNone(String stored, String... texts) {
    for (String text : texts) {
      assertThat(stored.toLowerCase(Locale.ROOT)).doesNotContain(text.toLowerCase(Locale.ROOT));
      byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
      assertThat(stored)
          .doesNotContain(Base64.getUrlEncoder().withoutPadding().encodeToString(bytes))
          .doesNotContain(HexFormat.of().formatHex(bytes));
    }
  }

  private static TestServer start(RedisProcess redis, boolean secret, boolean gate) {
    Map<String, Object> settings =
        new HashMap<>(
            Map.of("redis.uri", redis.uri(), "test.stated-callers", true, "limiter.zone", "UTC"));
    settings.put("limiter.gate.enabled", gate);
    if (secret) {
      settings.put("limiter.redis.key-secret", SECRET);
    }
    return TestServer.start(StoredTextRoutes.SPEC, settings);
  }

  /**
   * Calls of Ada until they are denied, then of Bob, whose responses contain nothing about her;
   * then a bad request.
   */
  private static void callEverything(TestServer server) {
    for (String route : ROUTES) {
      int status = 0;
      for (int call = 0; call < 2; call++) {
        HttpResponse<String> answer = call(server, route, PHONE, ADA);
        assertThat(answer.body() + answer.headers().map()).doesNotContain(OF_HEADERS);
        status = answer.statusCode();
      }
      assertThat(status).as("the second of one submission, %s", route).isEqualTo(409);
      HttpResponse<String> bobs = call(server, route, "1", BOB);
      assertThat(bobs.body() + bobs.headers().map()).doesNotContain(ALL);
    }
    for (String route : MISTAKEN) { // with a line of a log, as far as the caller is concerned
      HttpResponse<String> rejected =
          call(server, "mistaken/" + route, "%0D%0A00:00:00.000%20INFO%20" + PHONE, ADA);
      assertThat(rejected.statusCode()).as(route).isEqualTo(400);
      assertThat(rejected.body() + rejected.headers().map()).doesNotContain(OF_HEADERS);
    }
  }

  private static HttpResponse<String> call(
      TestServer server, String route, String phone, String... headers) {
    return server.exchange(
        "POST",
        "/stored/%s?phone=%s&note=n".formatted(route, phone),
        "{\"item\":\"" + ITEM + "\"}",
        headers);
  }

  /** With all that comes with it. */
  private static String text(ILoggingEvent event) {
    Stream<IThrowableProxy> failures =
        Stream.iterate(event.getThrowableProxy(), each -> each != null, IThrowableProxy::getCause);
    return event.getLoggerName().startsWith("io.limiter")
        ? event.getFormattedMessage()
            + failures.map(IThrowableProxy::getMessage).collect(Collectors.joining("; "))
        : "";
  }

  /** Whatever can come into a key, or into what is stored under it. */
  @Controller("/stored")
  @Requires(property = "spec.name", value = StoredTextRoutes.SPEC)
  static class StoredTextRoutes {

    static final String SPEC = "StoredText";

    private static final String OK = "ok";

    @Post("/request")
    @RateLimiter(
        value = "policyOfSecrets",
        key = "limitOfSecrets",
        header = "X-Api-Key",
        rules = {
          @RateRule(count = 100, name = "ruleOfSecrets"),
          @RateRule(count = 200, limitType = LimitType.USER_ID),
          @RateRule(count = 300, limitType = LimitType.IP),
          @RateRule(count = 400, limitType = LimitType.GLOBAL)
        },
        preventDuplicate = true,
        duplicate = @Duplicate(by = DuplicateBy.CALLER))
    String request() {
      return OK;
    }

    @Post("/resolved")
    @RateLimiter(resolver = Owner.class, rules = @RateRule, preventDuplicate = true)
    String resolved() {
      return OK;
    }

    @Post("/argument")
    @RateLimiter(
        subject = "#{phone}",
        rules = @RateRule,
        preventDuplicate = true,
        duplicate = @Duplicate(key = "#{note}"))
    String argument(@QueryValue String phone, @QueryValue String note) {
      return OK;
    }

    @Post("/arguments")
    @RateLimiter(
        limitType = LimitType.USER_ID,
        rules = @RateRule,
        preventDuplicate = true,
        duplicate = @Duplicate(by = DuplicateBy.ARGUMENTS))
    String arguments(@QueryValue String phone, @Body Map<String, Object> order) {
      return OK;
    }

    /** What these expressions call throws exceptions whose messages quote what it was given. */
    @Post("/mistaken/subject")
    @RateLimiter(subject = "#{T(java.lang.Integer).parseInt(phone)}", rules = @RateRule)
    String mistakenSubject(@QueryValue String phone) {
      return OK;
    }

    @Post("/mistaken/cost")
    @RateLimiter(cost = "#{T(java.lang.Integer).parseInt(phone)}", rules = @RateRule)
    String mistakenCost(@QueryValue String phone) {
      return OK;
    }

    @Post("/mistaken/text-cost")
    @RateLimiter(cost = "#{order.get('item')}", rules = @RateRule)
    String mistakenTextCost(@Body Map<String, Object> order) {
      return OK;
    }

    @Post("/mistaken/key")
    @RateLimiter(
        preventDuplicate = true,
        duplicate = @Duplicate(key = "#{T(java.util.UUID).fromString(phone)}"))
    String mistakenKey(@QueryValue String phone) {
      return OK;
    }

    @Post("/mistaken/structure")
    @RateLimiter(subject = "#{order}", rules = @RateRule)
    String mistakenStructure(@Body Object order) {
      return OK;
    }

    /** The application may throw it too. */
    @Post("/mistaken/thrown")
    @RateLimiter(rules = @RateRule(count = 100))
    String mistakenThrown(@QueryValue String phone) {
      throw new MissingSubjectException("no subject\r\n\u2028" + "long ".repeat(10_000) + phone);
    }

    /** The header names the owner. */
    @Singleton
    @Requires(property = "spec.name", value = SPEC)
    static class Owner implements SubjectResolver {
      @Override
      public Optional<String> resolve(HttpRequest<?> request) {
        return request.getHeaders().get("X-Owner", String.class);
      }
    }
  }
}
