// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo.settings;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.SoftAssertions.assertSoftly;

import io.limiter.demo.settings.PackedService.Answer;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.yaml.snakeyaml.Yaml;

/**
 * Each setting with a value, how to see what is in effect, and what that is with the value and
 * without. Settings that exclude each other are tried in processes of different kinds.
 */
final class SettingsTable {

  private SettingsTable() {}

  /** What a process has beside the settings that are tried. */
  enum Kind {
    /** Counts in memory, behind a proxy. */
    MEMORY,
    /** Counts in the demo's own Redis. */
    REDIS,
    /** Of no routes, for what switches parts off. */
    PARTS_OFF,
    /** For the switch of the gate. */
    GATE,
    /** For the switch of the whole limiter. */
    OFF,
    /** One policy for each member. */
    POLICIES
  }

  /** Asks a process what is in effect, in a few words. */
  interface Look {
    String at(PackedService service) throws Exception;
  }

  /**
   * @param setting its path
   * @param value neither its default nor what the process has
   * @param set what is seen with the value
   * @param usual what is seen without
   */
  record Row(Kind kind, String setting, Object value, Look look, String set, String usual) {

    /** The members of policies and rules have the names of the table of the documentation. */
    String name() {
      return setting
          .replaceFirst("^limiter\\.policies\\.[a-z0-9]+\\.(rules\\[0]\\.)?", "")
          .replaceFirst("(\\.keys)\\..*", "$1");
    }

    boolean ofRule() {
      return setting.contains(".rules[0].");
    }

    boolean ofPolicy() {
      return setting.startsWith("limiter.policies.") && !ofRule();
    }

    /** Whether a refresh changes it; others need a restart. */
    boolean refreshed() {
      return setting.matches("limiter\\.(policies|tiers|routes|exempt|block).*");
    }

    /** Whether the application chooses the last part of the name. */
    boolean isFree() {
      return setting.contains(".keys.");
    }

    /** Switches need no more than the demo has, so that one process is enough for them. */
    boolean isOfAPartOrAll() {
      return kind == Kind.PARTS_OFF || kind == Kind.GATE || kind == Kind.OFF;
    }

    /** Its path with a mistake in the name, which nothing else has. */
    String misspelt() {
      return setting.replaceFirst("([a-z]+)$", "x$1");
    }

    boolean isSwitch() {
      return value instanceof Boolean;
    }

    /** A variable cannot name a list of rules as a whole, nor what is under routes and tiers. */
    boolean hasVariable() {
      return !setting.matches(".*[.-]rules|.*\\.trial|limiter\\.(tiers|routes).*");
    }

    String variable() {
      return SettingsTable.variable(setting);
    }

    String text() {
      return value instanceof List<?> list
          ? list.stream().map(Object::toString).collect(Collectors.joining(","))
          : value.toString();
    }
  }

  static final String TOKEN = "a-token-of-22-characters-or-more";

  private static final List<Row> ROWS = new ArrayList<>();
  private static final Map<Kind, Map<String, Object>> BASES = new LinkedHashMap<>();

  static List<Row> rows() {
    return ROWS;
  }

  static String variable(String setting) {
    return setting.toUpperCase(Locale.ROOT).replaceAll("[^A-Z0-9]+", "_");
  }

  static Map<String, Object> base(Kind kind) {
    return new LinkedHashMap<>(BASES.get(kind));
  }

  /** What the processes of a kind have, and these settings. */
  static String file(Kind kind, Predicate<Row> some) {
    Map<String, Object> settings = base(kind);
    rows().stream().filter(some).forEach(row -> settings.put(row.setting(), row.value()));
    return PackedService.yaml(settings);
  }

  /** Each setting has the effect that is expected of its row. */
  static void see(PackedService service, Stream<Row> rows, Function<Row, String> expected) {
    assertSoftly(
        softly ->
            rows.forEach(
                row ->
                    softly
                        .assertThatCode(
                            () -> assertThat(row.look().at(service)).isEqualTo(expected.apply(row)))
                        .as("%s = %s", row.setting(), row.value())
                        .doesNotThrowAnyException()));
  }

  private static void row(
      Kind kind, String setting, Object value, Look look, String set, String usual) {
    ROWS.add(new Row(kind, setting, value, look, set, usual));
  }

  /** A setting whose effect takes long to see, or cannot be seen from outside. */
  private static void bound(Kind kind, String setting, Object value, String bound) {
    row(
        kind,
        setting,
        value,
        service ->
            service.get("/beans").body().matches(".*[\"\\[]%s[\"\\]].*".formatted(bound))
                ? "bound"
                : "not bound",
        "bound",
        "not bound");
  }

  private static void overload(Kind kind) {
    String overload = "limiter.overload.";
    for (String name : List.of("observe", "streams")) {
      row(
          kind,
          overload + name,
          true,
          s ->
              s.operator("/limits")
                      .body()
                      .matches(".*\"overloaded\":.*\"%s\":true.*".formatted(name))
                  ? "true"
                  : "false",
          "true",
          "false");
    }
    bound(kind, overload + "min", 31, "31");
    bound(kind, overload + "initial", 4331, "4331");
    bound(kind, overload + "max", 4332, "4332");
    bound(kind, overload + "max-wait", "31ms", "PT0.031S");
    bound(kind, overload + "max-waiting", 4333, "4333");
    bound(kind, overload + "criticality", "low", "LOW");
    bound(kind, overload + "header", "X-Tried", "X-Tried");
    bound(kind, overload + "trusted", List.of("198.51.100.77"), "198.51.100.77");
    bound(kind, overload + "retry-after", "31s", "PT31S");
    bound(kind, overload + "paths.exempt", List.of("/tried/exempt"), "/tried/exempt");
    for (String level : List.of("critical", "high", "normal", "low", "background")) {
      String path = "/tried/" + level;
      bound(kind, overload + "paths." + level, List.of(path), path);
    }
  }

  /** A member of a policy of its own, which has also what the pairs of {@code more} set. */
  private static void member(
      Kind kind,
      String member,
      Object value,
      PolicyLook look,
      String set,
      String usual,
      Object... more) {
    String policy = "m" + ROWS.size();
    base(kind, "limiter.policies." + policy + ".rules", List.of(Map.of("count", 1, "time", "60s")));
    for (int i = 0; i < more.length; i += 2) {
      base(kind, "limiter.policies." + policy + '.' + more[i], more[i + 1]);
    }
    route(kind, policy);
    row(
        kind,
        "limiter.policies." + policy + '.' + member,
        value,
        service -> look.at(service, policy),
        set,
        usual);
  }

  /** The same for a member of the only rule of a policy. */
  private static void ofRule(
      String member, Object value, PolicyLook look, String set, String usual, Object... more) {
    Object[] rule = new Object[more.length + 2];
    Map<String, Object> members = new LinkedHashMap<>(Map.of("count", 3, "time", "60s"));
    for (int i = 0; i < more.length; i += 2) {
      members.put(more[i].toString(), more[i + 1]);
    }
    member(Kind.POLICIES, "rules[0]." + member, value, look, set, usual, "rules", List.of(members));
  }

  private interface PolicyLook {
    String at(PackedService service, String policy) throws Exception;
  }

  private static void base(Kind kind, String setting, Object value) {
    BASES.get(kind).put(setting, value);
  }

  private static void route(Kind kind, String policy) {
    List<Object> routes = new ArrayList<>();
    if (BASES.get(kind).get("limiter.routes") instanceof List<?> others) {
      routes.addAll(others);
    }
    routes.add(Map.of("path", "/t/" + policy, "policy", policy));
    base(kind, "limiter.routes", routes);
  }

  private static PolicyLook statuses(int calls, String... headers) {
    return (service, policy) -> service.statuses(calls, "/t/" + policy, headers);
  }

  private static PolicyLook statusesOf(int calls, int status) {
    return (service, policy) -> service.statuses(calls, "/t/" + policy + "?status=" + status);
  }

  /** The statuses of two calls with different values of a header, from one address. */
  private static PolicyLook byHeader(String header) {
    return (service, policy) -> {
      String from = service.stranger();
      return service.from(from, "/t/" + policy, header, "a" + from).status()
          + " "
          + service.from(from, "/t/" + policy, header, "b" + from).status();
    };
  }

  /** The statuses of two callers. */
  private static PolicyLook byAddress() {
    return (service, policy) ->
        service.statuses(1, "/t/" + policy) + ' ' + service.statuses(1, "/t/" + policy);
  }

  /** A field of the first response. */
  private static PolicyLook field(String name) {
    return (service, policy) -> service.from(service.stranger(), "/t/" + policy).field(name);
  }

  /** What remains of the first rule. */
  private static PolicyLook left() {
    return (service, policy) ->
        field("RateLimit").at(service, policy).replaceFirst(".*?;(r=\\d+).*", "$1");
  }

  private static Answer last(PackedService service, int calls, String path, String... headers) {
    String from = service.stranger();
    for (int i = 1; i < calls; i++) {
      service.from(from, path, headers);
    }
    return service.from(from, path, headers);
  }

  /** The longest {@code Retry-After} of twenty denials, in seconds. */
  private static int longestWait(PackedService service, String path) {
    String from = service.stranger();
    int longest = 0;
    for (int i = 0; i < 30; i++) {
      String wait = service.from(from, path).field("Retry-After");
      longest = Math.max(longest, wait.isEmpty() ? 0 : Integer.parseInt(wait));
    }
    return longest;
  }

  /** What the endpoint shows of the setting itself. */
  private static PolicyLook shown(String member) {
    return (service, policy) -> {
      Map<?, ?> view = json(service.operator("/limits/" + policy).body());
      return ((List<?>) view.get("configured"))
          .stream()
              .map(Map.class::cast)
              .filter(
                  it ->
                      it.get("key").toString().endsWith('.' + member)
                          || it.get("key").toString().endsWith('_' + variable(member)))
              .map(it -> it.get("value").toString())
              .collect(Collectors.joining(","));
    };
  }

  private static PolicyLook algorithm() {
    return (service, policy) ->
        service
            .operator("/limits/" + policy)
            .body()
            .replaceFirst(".*\"algorithm\":\"(\\w+)\".*", "$1");
  }

  private static Map<?, ?> json(String text) {
    return new Yaml().load(text);
  }

  private static String message(Answer answer) {
    return answer.body().replaceFirst(".*\"errors\":\\[\\{\"message\":\"([^\"]*)\".*", "$1");
  }

  private static String code(Answer answer) {
    return answer.body().contains("logref")
        ? answer.body().replaceFirst(".*\"logref\":\"([^\"]*)\".*", "$1")
        : "none";
  }

  private static Look whileAway(Look look) {
    return service -> {
      service.post("/redis/kill", "{}");
      try {
        return look.at(service);
      } finally {
        service.post("/redis/start", "{}");
        org.awaitility.Awaitility.await()
            .until(
                () ->
                    service
                        .from(service.stranger(), "/articles")
                        .field("X-Decided-By")
                        .equals("STORE"));
      }
    };
  }

  static {
    for (Kind kind : Kind.values()) {
      Map<String, Object> base = new LinkedHashMap<>();
      base.put(ServiceBeans.REQUIRED, true);
      base.put("endpoints.refresh.enabled", true);
      base.put("limiter.management.show-subjects", false); // the demo itself has other defaults
      base.put("limiter.overrides.enabled", false);
      BASES.put(kind, base);
    }
    for (Kind kind : List.of(Kind.MEMORY, Kind.REDIS, Kind.POLICIES)) {
      base(kind, "limiter.address.trusted-proxies", List.of("127.0.0.1"));
    }
    for (Kind kind : List.of(Kind.MEMORY, Kind.POLICIES)) {
      base(kind, "limiter.redis.enabled", false);
    }
    for (Kind kind : List.of(Kind.MEMORY, Kind.REDIS)) {
      for (int count : List.of(1, 5)) {
        String policy = count == 1 ? "one" : "five";
        base(
            kind,
            "limiter.policies." + policy + ".rules",
            List.of(Map.of("count", count, "time", "60s")));
        route(kind, policy);
      }
    }
    memory();
    redis();
    parts();
    policies();
    rules();
    routes();
  }

  private static void memory() {
    Kind kind = Kind.MEMORY;
    base(kind, "limiter.policies.users.rules", List.of(Map.of("count", 5, "time", "60s")));
    base(kind, "limiter.policies.users.limit-type", "user_id");
    base(kind, "limiter.policies.near.rules", List.of(Map.of("count", 2, "time", "60s")));
    base(kind, "limiter.policies.near.warn-at", 0.5);
    route(kind, "near");
    base(kind, "limiter.policies.banned.rules", List.of(Map.of("count", 1, "time", "60s")));
    base(
        kind,
        "limiter.policies.banned.ban",
        Map.of("violations", 1, "within", "60s", "time", "60s"));
    base(kind, "limiter.policies.twice.duplicate", Map.of("enabled", true, "by", "caller"));
    for (String policy : List.of("users", "banned", "twice")) {
      route(kind, policy);
    }
    base(kind, "limiter.block.addresses", List.of("198.51.100.1"));
    base(kind, "limiter.exempt.tokens", List.of(digest()));

    row(
        kind,
        "limiter.address.ipv6-prefix",
        48,
        service -> {
          String network = "2001:db8:" + service.stranger().replaceFirst(".*\\.", "");
          service.from(network + ":1::1", "/t/five");
          return service
              .from(network + ":2::1", "/t/five")
              .field("RateLimit")
              .replaceFirst(";t=.*", "");
        },
        "\"5-per-60s\";r=3",
        "\"5-per-60s\";r=4");
    row(kind, "limiter.anonymous", "reject", s -> s.statuses(1, "/t/users"), "400", "200");
    row(kind, "limiter.block.status", 446, s -> "" + blocked(s).status(), "446", "403");
    row(
        kind,
        "limiter.block.message",
        "Go away",
        s -> message(blocked(s)),
        "Go away",
        "This caller is blocked");
    bound(kind, "limiter.client.jitter", 0.25, "0.25");
    bound(kind, "limiter.client.max-retry-after", "61s", "PT1M1S");
    bound(kind, "limiter.client.max-servers", 4321, "4321");
    bound(kind, "limiter.client.max-wait", "1234ms", "PT1.234S");
    bound(kind, "limiter.client.max-waiters", 4322, "4322");
    overload(kind);
    String key = "YW4gZXhhbXBsZSBrZXkhIQ==";
    String idempotency = "limiter.idempotency.";
    base(kind, idempotency + "encryption.keys", Map.of("usual", key, "other", key));
    base(kind, idempotency + "encryption.current", "usual");
    bound(kind, idempotency + "encryption.current", "other", "other");
    row(
        kind,
        idempotency + "encryption.keys.tried",
        key,
        s -> s.get("/beans").body().contains("tried=") ? "bound" : "not bound",
        "bound",
        "not bound");
    row(
        kind,
        idempotency + "anonymous-by-address",
        false,
        s -> "" + s.pay("a" + s.stranger()).status(),
        "400",
        "201");
    bound(kind, idempotency + "client-methods", List.of("PUT"), "PUT");
    bound(kind, idempotency + "longest-run", "61m", "PT1H1M");
    bound(kind, idempotency + "max-answer", 4323, "4323");
    bound(kind, idempotency + "max-body", 4324, "4324");
    bound(kind, idempotency + "max-bytes", 4325, "4325");
    bound(kind, idempotency + "max-bytes-in-redis", 4326, "4326");
    bound(kind, idempotency + "max-bytes-of-subject", 4327, "4327");
    bound(kind, idempotency + "max-entries", 4328, "4328");
    bound(kind, idempotency + "max-pending-bytes", 4329, "4329");
    bound(kind, idempotency + "max-waiting", 4330, "4330");
    bound(kind, idempotency + "max-waiting-of-subject", 4331, "4331");
    bound(kind, idempotency + "without-headers", List.of("X-Kept"), "x-kept");
    denial("banned-code", "b1", s -> code(last(s, 3, "/t/banned")), "banned");
    denial(
        "banned-message",
        "b2",
        s -> message(last(s, 3, "/t/banned")),
        "Too many denied requests: access is blocked temporarily");
    denial("banned-status", 418, s -> "" + last(s, 3, "/t/banned").status(), "429");
    denial("code", "c1", s -> code(last(s, 2, "/t/one")), "rate_limited");
    denial(
        "message", "c2", s -> message(last(s, 2, "/t/one")), "Too many requests, try again later");
    denial("status", 420, s -> "" + last(s, 2, "/t/one").status(), "429");
    denial("duplicate-code", "d1", s -> code(last(s, 2, "/t/twice")), "duplicate_submission");
    denial(
        "duplicate-message",
        "d2",
        s -> message(last(s, 2, "/t/twice")),
        "This request was already submitted");
    denial("duplicate-status", 425, s -> "" + last(s, 2, "/t/twice").status(), "409");
    bound(kind, "limiter.denial.in-flight-message", "f1", "f1");
    denial(
        "too-costly-message",
        "t1",
        s -> message(last(s, 1, "/items?n=101")),
        "The request exceeds the amount that is allowed at once");
    bound(kind, "limiter.events.queue-size", 4323, "4323");
    String name = "limiter-tried-%s.csv".formatted(ProcessHandle.current().pid());
    Path recorded = Path.of(System.getProperty("java.io.tmpdir"), name); // of one instance
    recorded.toFile().deleteOnExit();
    bound(kind, "limiter.recorder.file", recorded.toString(), recorded.toString());
    bound(kind, "limiter.recorder.files", 437, "437");
    bound(kind, "limiter.recorder.max-size", "43MB", "45088768");
    bound(kind, "limiter.recorder.share", 0.377, "0.377");
    row(
        kind,
        "limiter.exempt.header",
        "X-Let-Me",
        s -> s.statuses(2, "/t/one", "X-Let-Me", TOKEN),
        "200 200",
        "200 " + 429);
    row(
        kind,
        "limiter.headers.debug",
        false,
        s -> field("X-Decided-By").at(s, "five"),
        "",
        "STORE");
    row(
        kind,
        "limiter.headers.warning",
        true,
        s -> field("X-RateLimit-Warning").at(s, "near"),
        "\"2-per-60s\"",
        "");
    row(
        kind,
        "limiter.management.show-subjects",
        true,
        s -> {
          last(s, 2, "/t/one");
          return s.operator("/limits/one").body().contains("\"clear\"") ? "clear" : "digests";
        },
        "clear",
        "digests");
    bound(kind, "limiter.max-count", 4324, "4324");
    bound(kind, "limiter.memory.max-subjects", 4325, "4325");
    row(
        kind,
        "limiter.overrides.enabled",
        true,
        s ->
            ""
                + s.post(
                        "/limits/five/override",
                        "{\"address\": \"198.51.100.9\", \"unlimited\": true, \"time\": \"10m\"}")
                    .status(),
        "200",
        "400");
    bound(kind, "limiter.overrides.interval", "1235ms", "PT1.235S");
    bound(kind, "limiter.tier-lookup.cache-size", 4326, "4326");
    bound(kind, "limiter.tier-lookup.cache-time", "62s", "PT1M2S");
    bound(kind, "limiter.tier-lookup.headers", "X-Api-Key", "X-Api-Key");
    bound(kind, "limiter.tier-lookup.timeout", "236ms", "PT0.236S");
    bound(kind, "limiter.zone", "Asia/Tokyo", "Asia/Tokyo");
  }

  private static void denial(String name, Object value, Look look, String usual) {
    row(Kind.MEMORY, "limiter.denial." + name, value, look, value.toString(), usual);
  }

  private static Answer blocked(PackedService service) {
    return service.from("198.51.100.1", "/health-free");
  }

  private static void redis() {
    Kind kind = Kind.REDIS;
    base(kind, "limiter.policies.dear.rules", List.of(Map.of("count", 5, "time", "60s")));
    base(kind, "limiter.policies.dear.fallback", "deny");
    route(kind, "dear");
    row(
        kind,
        "limiter.headers.retry-after-jitter",
        1,
        s -> longestWait(s, "/articles") > 60 ? "longer than the window" : "as the window has it",
        "longer than the window",
        "as the window has it");
    row(
        kind,
        "limiter.block.addresses",
        List.of("198.51.100.2", "198.51.100.4/31"),
        s ->
            s.from("198.51.100.2", "/health-free").status()
                + " "
                + s.from("198.51.100.5", "/health-free").status(),
        "403 403",
        "200 200");
    row(
        kind,
        "limiter.block.users",
        List.of("bob"),
        s -> s.statuses(1, "/t/five", "Authorization", PackedService.basic("bob")),
        "403",
        "200");
    row(
        kind,
        "limiter.exempt.addresses",
        List.of("198.51.100.3"),
        s -> {
          s.from("198.51.100.3", "/t/one");
          return "" + s.from("198.51.100.3", "/t/one").status();
        },
        "200",
        "429");
    row(
        kind,
        "limiter.exempt.tokens",
        List.of(digest()),
        s -> s.statuses(2, "/t/one", "X-RateLimit-Exempt", TOKEN),
        "200 200",
        "200 429");
    row(
        kind,
        "limiter.exempt.users",
        List.of("ann"),
        s -> s.statuses(2, "/t/one", "Authorization", PackedService.basic("ann")),
        "200 200",
        "200 429");
    row(
        kind,
        "limiter.deny-cache.enabled",
        false,
        s -> last(s, 3, "/t/one").field("X-Decided-By"),
        "STORE",
        "DENY_CACHE");
    bound(kind, "limiter.deny-cache.max-age", "345ms", "PT0.345S");
    bound(kind, "limiter.deny-cache.max-size", 4327, "4327");
    bound(kind, "limiter.redis.batch-size", 13, "13");
    bound(kind, "limiter.redis.connections", "shared", "SHARED");
    bound(kind, "limiter.redis.deadline", "1236ms", "PT1.236S");
    bound(kind, "limiter.redis.hard-deadline", "6437ms", "PT6.437S");
    bound(kind, "limiter.redis.key-prefix", "tried:", "tried:");
    row(
        kind,
        "limiter.redis.key-secret",
        "a secret of sixteen characters",
        s -> s.log().contains("limiter.redis.key-secret is not set") ? "none" : "secret",
        "secret",
        "none");
    bound(kind, "limiter.redis.max-connections", 113, "113");
    bound(kind, "limiter.redis.sentinel.password", "for-sentinels", "for-sentinels");
    bound(kind, "limiter.redis.sentinel.username", "who-asks", "who-asks");
    row(
        kind,
        "limiter.redis.shared-settings.enabled",
        true,
        s ->
            s.post("/limits/five", "{\"observe\": false}")
                .body()
                .replaceFirst(".*\"changed\":\"([^\"]*)\".*", "$1"),
        "all instances",
        "this instance");
    bound(kind, "limiter.redis.shared-settings.interval", "3439ms", "PT3.439S");
    bound(kind, "limiter.redis.slots", "proxy", "PROXY");
    bound(kind, "limiter.redis.start-timeout", "1238ms", "PT1.238S");

    member(
        kind,
        "deny-cache",
        false,
        (s, policy) -> last(s, 3, "/t/" + policy).field("X-Decided-By"),
        "STORE",
        "DENY_CACHE");
    member(
        kind,
        "deadline",
        "1500ms",
        (s, policy) -> {
          s.post("/redis/stop", "{}");
          try {
            long begin = System.nanoTime();
            s.statuses(1, "/t/" + policy);
            return System.nanoTime() - begin >= Duration.ofMillis(1_400).toNanos()
                ? "a second and a half"
                : "less";
          } finally {
            s.post("/redis/continue", "{}");
          }
        },
        "a second and a half",
        "less");
    member(
        kind,
        "fallback",
        "deny",
        (s, policy) ->
            whileAway(it -> last(it, 1, "/t/" + policy).status() < 500 ? "local" : "deny").at(s),
        "deny",
        "local");
    away(
        "limiter.idempotency.fallback",
        "local",
        s -> "" + s.pay("a" + s.stranger()).status(),
        "201",
        "503");
    away("limiter.fallback", "allow", s -> s.statuses(3, "/t/one"), "200 200 200", "200 429 429");
    away(
        "limiter.denial.unavailable-code",
        "u1",
        s -> code(last(s, 1, "/t/dear")),
        "u1",
        "limiter_unavailable");
    away(
        "limiter.denial.unavailable-message",
        "u2",
        s -> message(last(s, 1, "/t/dear")),
        "u2",
        "The service is busy, try again in a moment");
    away("limiter.denial.unavailable-status", 599, s -> s.statuses(1, "/t/dear"), "599", "503");
    away(
        "limiter.health.required",
        true,
        s ->
            json(s.get("/health").body()).get("details") instanceof Map<?, ?> all
                    && all.get("limiter") instanceof Map<?, ?> limiter
                ? limiter.get("status").toString()
                : "none",
        "DOWN",
        "UP");
  }

  private static void away(String setting, Object value, Look look, String set, String usual) {
    row(Kind.REDIS, setting, value, whileAway(look), set, usual);
  }

  private static void parts() {
    Kind kind = Kind.PARTS_OFF;
    PolicyLook fromFour =
        (s, unused) -> {
          String last = "";
          for (int i = 0; i < 4; i++) {
            String address = s.stranger();
            last = "" + s.from(address, "/passcodes", "CF-Connecting-IP", address).status();
          }
          return last;
        };
    row(
        kind,
        "limiter.address.trusted-proxies",
        List.of("127.0.0.1"),
        s -> fromFour.at(s, ""),
        "200",
        "429");
    row(kind, "limiter.address.header", "CF-Connecting-IP", s -> fromFour.at(s, ""), "200", "429");
    row(
        kind,
        "limiter.headers.format",
        "none",
        s -> s.get("/argument?needed=a").field("RateLimit").isEmpty() ? "none" : "sent",
        "none",
        "sent");
    row(
        kind,
        "limiter.memory.instances",
        2,
        s -> s.statuses(6, "/articles"),
        "200 200 200 200 200 429",
        "200 200 200 200 200 200");
    row(
        kind,
        "limiter.headers.retry-after",
        false,
        s -> last(s, 11, "/articles").field("Retry-After").isEmpty() ? "none" : "sent",
        "none",
        "sent");
    row(
        kind,
        "limiter.health.enabled",
        false,
        s -> s.get("/health").body().contains("\"limiter\"") ? "there" : "absent",
        "absent",
        "there");
    row(
        kind,
        "limiter.metrics.enabled",
        false,
        s -> s.get("/prometheus").body().contains("limiter_decisions") ? "there" : "absent",
        "absent",
        "there");
    row(
        kind,
        "limiter.overload.enabled",
        false,
        s -> s.operator("/limits").body().contains("\"http\":{\"overloaded\"") ? "there" : "absent",
        "absent",
        "there");
    row(
        kind,
        "limiter.redis.enabled",
        false,
        s -> s.log().contains("limiter.redis.enabled is false") ? "memory" : "Redis",
        "memory",
        "Redis");
    row(
        kind,
        "limiter.denial.body",
        "problem",
        s -> last(s, 20, "/articles").field("Content-Type"),
        "application/problem+json",
        "application/json");
    base(Kind.GATE, "limiter.denial.body", "problem");
    row(
        Kind.GATE,
        "limiter.idempotency.problem-type",
        "/docs/keys",
        s -> s.post("/checkout/payment", "{}").body().contains("/docs/keys") ? "own" : "draft",
        "own",
        "draft");
    row(
        Kind.GATE,
        "limiter.denial.numbers",
        true,
        s -> last(s, 20, "/articles").body().contains("\"limit\":10") ? "numbers" : "none",
        "numbers",
        "none");
    row(
        Kind.GATE,
        "limiter.gate.enabled",
        false,
        s -> s.get("/argument").field("RateLimit").isEmpty() ? "guard" : "gate",
        "guard",
        "gate");
    row(
        Kind.OFF,
        "limiter.enabled",
        false,
        s -> s.statuses(4, "/hyphens"),
        "200 200 200 200",
        "200 200 200 429");
  }

  private static void policies() {
    Kind kind = Kind.POLICIES;
    row(
        kind,
        "limiter.policies.argument.enabled",
        false,
        s -> s.get("/argument?needed=a").field("RateLimit").isEmpty() ? "off" : "on",
        "off",
        "on");
    member(kind, "observe", true, statuses(2), "200 200", "200 429");
    member(kind, "limit-type", "global", byAddress(), "200 429", "200 200");
    member(kind, "header", "X-Key", byHeader("X-Key"), "200 200", "200 429");
    member(kind, "subject", "by-who", byHeader("X-Who"), "200 200", "200 429");
    member(kind, "anonymous", "reject", statuses(1), "400", "200", "header", "X-Key");
    member(
        kind, "cost", 2, left(), "r=2", "r=3", "rules", List.of(Map.of("count", 4, "time", "60s")));
    member(kind, "condition", "not-free", statuses(2, "X-Free", "yes"), "200 200", "200 429");
    member(
        kind,
        "failed-on",
        List.of(404),
        statusesOf(2, 400),
        "400 400",
        "400 429",
        "rules",
        List.of(Map.of("count", 1, "time", "60s", "counts", "failures")));
    member(kind, "count-if", "missing", statusesOf(2, 400), "400 400", "400 429");
    row(
        kind,
        "limiter.policies.streamed.stream.step",
        4,
        s -> shown("stream.step").at(s, "streamed"),
        "4",
        "");
    row(
        kind,
        "limiter.policies.streamed.stream.end",
        "cut",
        s -> s.get("/streamed", "X-Key", UUID.randomUUID().toString()).body(),
        "[a,b,c,d,e]",
        "[a,b,c,d,e,f,g]");
    member(kind, "before-security", true, shown("before-security"), "true", "");
    member(kind, "early", true, shown("early"), "true", "");
    member(kind, "lease", "100ms", shown("lease"), "100ms", "");
    member(kind, "warn-at", 0.7, shown("warn-at"), "0.7", "");
    member(
        kind,
        "anonymous-rules",
        List.of(Map.of("count", 2, "time", "60s")),
        statuses(3),
        "200 200 429",
        "200 429 429",
        "header",
        "X-Key");
    member(
        kind,
        "trial",
        List.of(Map.of("count", 77, "time", "60s")),
        (s, p) -> s.operator("/limits/" + p).body().contains("77-per-60s") ? "tried" : "none",
        "tried",
        "none");
    member(kind, "status", 418, statuses(2), "200 418", "200 429");
    member(kind, "code", "c3", (s, p) -> code(last(s, 2, "/t/" + p)), "c3", "rate_limited");
    member(
        kind,
        "message",
        "c4",
        (s, p) -> message(last(s, 2, "/t/" + p)),
        "c4",
        "Too many requests, try again later");

    Object[] ban = {
      "rules", List.of(Map.of("count", 1, "time", "10s")),
      "ban", Map.of("violations", 2, "within", "60s", "time", "50s")
    };
    member(
        kind,
        "ban.violations",
        1,
        (s, p) -> code(last(s, 2, "/t/" + p)),
        "banned",
        "rate_limited",
        ban);
    member(kind, "ban.within", "40s", shown("ban.within"), "40s", "60s", ban);
    member(
        kind,
        "ban.time",
        "30s",
        (s, p) -> last(s, 4, "/t/" + p).field("Retry-After"),
        "30",
        "50",
        ban);
    member(kind, "ban.growth", 3, shown("ban.growth"), "3", "", ban);
    member(
        kind,
        "ban.longest",
        "2h",
        shown("ban.longest"),
        "2h",
        "",
        "ban",
        Map.of("violations", 2, "within", "60s", "time", "50s", "growth", 2));

    Object[] five = {"rules", List.of(Map.of("count", 5, "time", "60s"))};
    Map<String, Object> caller = Map.of("enabled", true, "by", "caller");
    member(kind, "duplicate.enabled", true, statuses(2), "200 409", "200 200", five);
    member(
        kind,
        "duplicate.by",
        "caller",
        shown("duplicate.by"),
        "caller",
        "",
        with(five, Map.of("enabled", true)));
    member(
        kind, "duplicate.count", 2, statuses(3), "200 200 409", "200 409 409", with(five, caller));
    member(kind, "duplicate.time", "20s", shown("duplicate.time"), "20s", "", with(five, caller));
    member(
        kind,
        "duplicate.release-on-failure",
        false,
        statusesOf(2, 500),
        "500 409",
        "500 500",
        with(five, caller));
    member(
        kind,
        "duplicate.release-on",
        List.of(402),
        statusesOf(2, 402),
        "402 402",
        "402 409",
        with(five, caller));
    member(kind, "duplicate.status", 425, statuses(2), "200 425", "200 409", with(five, caller));
    member(
        kind,
        "duplicate.code",
        "d3",
        (s, p) -> code(last(s, 2, "/t/" + p)),
        "d3",
        "duplicate_submission",
        with(five, caller));
    member(
        kind,
        "duplicate.message",
        "d4",
        (s, p) -> message(last(s, 2, "/t/" + p)),
        "d4",
        "This request was already submitted",
        with(five, caller));
    member(
        kind,
        "duplicate.claim",
        "45s",
        shown("duplicate.claim"),
        "45s",
        "",
        with(five, Map.of("enabled", true, "by", "caller", "time", "1h")));
    row(
        kind,
        "limiter.policies.passcodes.rules",
        List.of(Map.of("count", 1, "time", "60s")),
        s -> s.statuses(4, "/passcodes"),
        "200 429 429 429",
        "200 200 200 429");

    base(
        kind,
        "limiter.tiers.free.tiered",
        Map.of("rules", List.of(Map.of("count", 2, "time", "60s"))));
    base(kind, "limiter.policies.tiered.rules", List.of(Map.of("count", 1, "time", "60s")));
    route(kind, "tiered");
    row(
        kind,
        "limiter.tiers.default",
        "free",
        s -> s.statuses(2, "/t/tiered"),
        "200 200",
        "200 429");
    row(
        kind,
        "limiter.tiers.pro.tiered",
        "unlimited",
        s -> s.statuses(2, "/t/tiered", "X-Tier", "pro"),
        "200 200",
        "200 429");
  }

  private static Object[] with(Object[] rules, Map<String, Object> duplicate) {
    return new Object[] {rules[0], rules[1], "duplicate", duplicate};
  }

  private static void rules() {
    ofRule(
        "count", 2, field("RateLimit-Policy"), "\"2-per-60s\";q=2;w=60", "\"3-per-60s\";q=3;w=60");
    ofRule(
        "time",
        "30s",
        field("RateLimit-Policy"),
        "\"3-per-30s\";q=3;w=30",
        "\"3-per-60s\";q=3;w=60");
    ofRule(
        "name", "named", field("RateLimit-Policy"), "\"named\";q=3;w=60", "\"3-per-60s\";q=3;w=60");
    ofRule(
        "algorithm",
        "sliding_window_counter",
        algorithm(),
        "SLIDING_WINDOW_COUNTER",
        "SLIDING_WINDOW_LOG");
    ofRule(
        "counts",
        "failures",
        (s, policy) ->
            last(s, 2, "/t/" + policy).field("RateLimit").replaceFirst(".*?;(r=\\d+).*", "$1"),
        "r=2",
        "r=1");
    ofRule("observe", true, statuses(2), "200 200", "200 429", "count", 1);
    ofRule("limit-type", "global", byAddress(), "200 429", "200 200", "count", 1);
    ofRule("header", "X-Key", byHeader("X-Key"), "200 200", "200 429", "count", 1);
    ofRule("subject", "by-who", byHeader("X-Who"), "200 200", "200 429", "count", 1);
    ofRule("fixed-window.aligned", true, algorithm(), "FIXED_WINDOW", "SLIDING_WINDOW_LOG");
    ofRule(
        "fixed-window.zone",
        "Asia/Tokyo",
        midnight(),
        "midnight in Asia/Tokyo",
        "midnight in UTC",
        "time",
        "1d",
        "fixed-window",
        Map.of("aligned", true));
    ofRule(
        "fixed-window.anchor",
        "2024-01-01T00:30",
        shown("fixed-window.anchor"),
        "2024-01-01T00:30",
        "",
        "time",
        "1h",
        "fixed-window",
        Map.of("aligned", true));
    member(
        Kind.POLICIES,
        "rules[0].fixed-window.calendar",
        "month",
        field("RateLimit-Policy"),
        "\"3-per-month\";q=3;w=2678400",
        "\"3-per-60s\";q=3;w=60",
        "rules",
        List.of(Map.of("count", 3)));
    ofRule(
        "token-bucket.refill",
        1,
        field("RateLimit-Policy"),
        "\"3-at-1-per-60s\";q=3;w=180",
        "\"3-per-60s\";q=3;w=60");
    ofRule(
        "token-bucket.greedy",
        false,
        shown("token-bucket.greedy"),
        "false",
        "",
        "token-bucket",
        Map.of("refill", 1));
    ofRule("token-bucket.initial", 1, left(), "r=0", "r=2", "token-bucket", Map.of("refill", 1));
    ofRule("leaky-bucket.queue", 1, algorithm(), "LEAKY_BUCKET", "SLIDING_WINDOW_LOG");
    ofRule(
        "leaky-bucket.max-wait",
        "7s",
        shown("leaky-bucket.max-wait"),
        "7s",
        "",
        "leaky-bucket",
        Map.of("queue", 1));
    ofRule(
        "leaky-bucket.fair",
        false,
        shown("leaky-bucket.fair"),
        "false",
        "",
        "leaky-bucket",
        Map.of("queue", 1));
  }

  /** A list takes the place of the whole list, so it has also the routes of the other policies. */
  private static void routes() {
    Kind kind = Kind.POLICIES;
    base(kind, "limiter.policies.routed.rules", List.of(Map.of("count", 1, "time", "60s")));
    Object others = BASES.get(kind).get("limiter.routes");
    route(kind, "routed");
    Object all = BASES.get(kind).put("limiter.routes", others);
    row(kind, "limiter.routes", all, s -> s.statuses(2, "/t/routed"), "200 429", "200 200");
  }

  /** The zone whose midnight ends a window of a day. */
  private static PolicyLook midnight() {
    return (service, policy) -> {
      long left =
          Long.parseLong(
              field("RateLimit").at(service, policy).replaceFirst(".*;t=(\\d+).*", "$1"));
      for (String zone : List.of("UTC", "Asia/Tokyo")) {
        ZonedDateTime now = ZonedDateTime.now(ZoneId.of(zone));
        ZonedDateTime end = LocalDate.from(now).plusDays(1).atStartOfDay(ZoneId.of(zone));
        if (Math.abs(Duration.between(now, end).toSeconds() - left) < 60) {
          return "midnight in " + zone;
        }
      }
      return left + " s";
    };
  }

  /** As the documentation has it: {@code printf %s "$TOKEN" | sha256sum}. */
  static String digest() {
    try {
      return java.util.HexFormat.of()
          .formatHex(java.security.MessageDigest.getInstance("SHA-256").digest(TOKEN.getBytes()));
    } catch (java.security.NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }
}
