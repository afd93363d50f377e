// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.testing.RedisProcess;
import io.limiter.core.testing.TypedCommand;
import io.limiter.micronaut.annotation.Idempotent;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.env.PropertySource;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MediaType;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Consumes;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Two instances of a service on one Redis repeat the answers of each other, whatever their clients
 * do.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ReplayInstancesTest {

  private static final String SPEC = "ReplayInstancesTest";
  private static final String KEY = "Idempotency-Key";
  private static final String REPLAYED = "Idempotency-Replayed";
  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final int MAX_BODY = 500;

  /** Far less than the claim of 30 s: what a request waits for if no claim was leaked. */
  private static final Duration SOON = Duration.ofSeconds(5);

  private final RedisProcess redis = RedisProcess.onFreePort().start();

  /** A source that changes, as that of a configuration server does. */
  private final Map<String, Object> changing = new ConcurrentHashMap<>();

  private List<TestServer> instances = List.of();

  /** How often the route of one instance has run, and what its next runs wait for. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Runs {
    final AtomicInteger count = new AtomicInteger();
    volatile CompletableFuture<Integer> status = CompletableFuture.completedFuture(200);
  }

  @Controller("/replay")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    private final Runs runs;

    Routes(Runs runs) {
      this.runs = runs;
    }

    /** Its answer has bytes of its own in each run. */
    @Post(value = "/payment", produces = MediaType.TEXT_PLAIN)
    @Consumes(MediaType.APPLICATION_OCTET_STREAM)
    @Idempotent
    @RateLimiter("payments")
    CompletableFuture<HttpResponse<String>> pay(@Body byte[] body) {
      runs.count.incrementAndGet();
      String run = HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong());
      String answer = run + " for " + HexFormat.of().formatHex(body);
      return runs.status.thenApply(
          status ->
              HttpResponse.<String>status(HttpStatus.valueOf(status))
                  .header("Location", "/payments/" + run)
                  .body(answer));
    }
  }

  @BeforeAll
  void start() {
    Map<String, Object> settings =
        HttpService.settings(
            HttpService.AT_ROOT,
            true,
            "redis.uri",
            redis.uri(),
            "limiter.redis.key-prefix",
            "replay:",
            "limiter.idempotency.max-body",
            MAX_BODY,
            "endpoints.refresh.enabled",
            true,
            "endpoints.refresh.sensitive",
            false,
            "micronaut.netty.event-loops.default.num-threads",
            2);
    instances = List.of(TestServer.start(SPEC, settings), TestServer.start(SPEC, settings));
    for (TestServer instance : instances) {
      instance
          .context()
          .getEnvironment()
          .addPropertySource(PropertySource.of("changing", changing, 1_000));
    }
  }

  @AfterAll
  void stop() {
    instances.forEach(TestServer::close);
    redis.close();
  }

  @BeforeEach
  void clear() {
    for (TestServer instance : instances) {
      Runs runs = instance.bean(Runs.class);
      runs.count.set(0);
      runs.status = CompletableFuture.completedFuture(200);
    }
  }

  /** Holds back the runs that begin from now on, until they have their status. */
  private CompletableFuture<Integer> hold() {
    CompletableFuture<Integer> status = new CompletableFuture<>();
    instances.forEach(instance -> instance.bean(Runs.class).status = status);
    return status;
  }

  private int runs() {
    return instances.stream().mapToInt(instance -> instance.bean(Runs.class).count.get()).sum();
  }

  private TestServer instance(int number) {
    return instances.get(number % instances.size());
  }

  private static String newKey() {
    return UUID.randomUUID().toString();
  }

  private CompletableFuture<java.net.http.HttpResponse<String>> payAsync(int number, String key) {
    return instance(number)
        .exchangeAsync(
            "POST",
            "/replay/payment",
            "{}",
            KEY,
            key,
            "Content-Type",
            MediaType.APPLICATION_OCTET_STREAM);
  }

  private java.net.http.HttpResponse<String> pay(int number, String key) {
    return payAsync(number, key).join();
  }

  /** All received the same, and one of them as the first. */
  private static void assertOneAnswer(List<java.net.http.HttpResponse<String>> answers) {
    assertThat(answers).extracting(java.net.http.HttpResponse::statusCode).containsOnly(200);
    assertThat(answers.stream().map(java.net.http.HttpResponse::body).distinct()).hasSize(1);
    assertThat(answers.stream().map(answer -> field(answer, "Location")).distinct()).hasSize(1);
    assertThat(answers.stream().map(answer -> field(answer, "Content-Type")).distinct()).hasSize(1);
    assertThat(answers.stream().filter(answer -> answer.headers().firstValue(REPLAYED).isEmpty()))
        .hasSizeLessThanOrEqualTo(1);
  }

  @Test
  void twoHundredRepetitionsRunOnceAndReceiveTheSameBytes() {
    String key = newKey();
    CompletableFuture<Integer> status = hold();
    List<CompletableFuture<java.net.http.HttpResponse<String>>> all =
        IntStream.range(0, 200).mapToObj(number -> payAsync(number, key)).toList();
    await().atMost(PATIENCE).until(() -> runs() == 1);
    status.complete(200);

    List<java.net.http.HttpResponse<String>> answers =
        all.stream().map(CompletableFuture::join).toList();
    assertOneAnswer(answers);
    assertThat(answers.stream().filter(answer -> answer.headers().firstValue(REPLAYED).isEmpty()))
        .hasSize(1);
    assertThat(runs()).isEqualTo(1);
  }

  /** The first one ends without an answer: one of those that wait runs in its place. */
  @Test
  void whenTheFirstRunFailsTheNextOneIsRepeated() {
    String key = newKey();
    CompletableFuture<Integer> failed = hold();
    var first = payAsync(0, key);
    await().atMost(PATIENCE).until(() -> runs() == 1);
    clearStatus();
    List<CompletableFuture<java.net.http.HttpResponse<String>>> waiting =
        IntStream.range(0, 100).mapToObj(number -> payAsync(number, key)).toList();
    failed.complete(500);

    assertThat(first.join().statusCode()).isEqualTo(500);
    assertOneAnswer(waiting.stream().map(CompletableFuture::join).toList());
    assertThat(runs()).isEqualTo(2);
  }

  private void clearStatus() {
    instances.forEach(
        instance -> instance.bean(Runs.class).status = CompletableFuture.completedFuture(200));
  }

  /** A key is claimed with the last byte, so that a slow client keeps no other one waiting. */
  @Test
  void aBodyThatArrivesSlowlyHoldsNothing() throws Exception {
    String key = newKey();
    String other = newKey();
    List<SlowClient> slow = new ArrayList<>();
    for (int number = 0; number < 200; number++) {
      slow.add(new SlowClient(instance(number), number % 2 == 0 ? key : other, 10));
    }
    for (SlowClient client : slow) {
      client.send("012345678");
    }
    assertThat(runs()).isZero();
    String fast = pay(0, key).body();
    assertThat(runs()).as("a fast request with the key of a slow one").isEqualTo(1);

    for (SlowClient client : slow) {
      client.send("9");
    }
    List<String> expected = new ArrayList<>();
    for (int number = 0; number < slow.size(); number++) {
      RawAnswer answer = slow.get(number).answer();
      assertThat(answer.status()).isEqualTo(number % 2 == 0 ? 422 : 200);
      if (number % 2 != 0) {
        expected.add(answer.body());
      }
    }
    assertThat(expected.stream().distinct())
        .singleElement()
        .asString()
        .endsWith(
            " for " + HexFormat.of().formatHex("0123456789".getBytes(StandardCharsets.US_ASCII)));
    assertThat(runs()).isEqualTo(2);
    assertThat(pay(1, key).body()).isEqualTo(fast);
  }

  @Test
  void aClientThatLeavesInTheMiddleOfItsBodyLeavesNothing() throws Exception {
    String key = newKey();
    long keys = stored();
    try (LoggedWarnings warnings = LoggedWarnings.begin()) {
      for (int number = 0; number < 100; number++) {
        SlowClient client = new SlowClient(instance(number), key, 10);
        client.send("01234");
        if (number % 4 < 2) { // half of them while the server is at it
          Thread.sleep(1);
        }
        client.leave();
      }
      assertThat(pay(0, newKey()).statusCode()).isEqualTo(200);
      assertThat(stored()).as("the last one alone").isEqualTo(keys + 1);
      assertThat(runs()).isEqualTo(1);
      assertThat(warnings.excess()).isEmpty();
    }
    assertThat(pay(1, key).statusCode()).isEqualTo(200);
  }

  /** The claims and answers. */
  private long stored() throws IOException {
    return TypedCommand.reply(redis.port(), "KEYS *a.*")
        .lines()
        .filter(line -> line.startsWith("replay:"))
        .count();
  }

  /**
   * @param status of the run that they wait for: it is kept, or its claim goes to one of those who
   *     have left
   */
  @ParameterizedTest
  @ValueSource(ints = {200, 500})
  void clientsThatLeaveWhileTheyWaitLeaveNothing(int status) throws Exception {
    String key = newKey();
    CompletableFuture<Integer> held = hold();
    var first = payAsync(0, key);
    await().atMost(PATIENCE).until(() -> runs() == 1);
    long asked = scripts();
    List<SlowClient> waiting = new ArrayList<>();
    for (int number = 0; number < 200; number++) {
      SlowClient client = new SlowClient(instance(number), key, 2);
      client.send("{}");
      waiting.add(client);
    }
    await().atMost(PATIENCE).until(() -> scripts() >= asked + waiting.size());
    for (SlowClient client : waiting) {
      client.leave();
    }
    Thread.sleep(200); // the servers see that they have left
    clearStatus();
    held.complete(status);
    String body = first.join().body();

    var again = CompletableFuture.supplyAsync(() -> pay(1, key));
    assertThat(again).succeedsWithin(SOON);
    assertThat(again.join().statusCode()).isEqualTo(200);
    if (status == 200) {
      assertThat(again.join().body()).isEqualTo(body);
    }
    assertThat(pay(0, key).body()).isEqualTo(again.join().body());
    assertThat(runs()).isEqualTo(status == 200 ? 1 : 2);
    assertSilent();
  }

  /** A result that is not kept frees the key, whether or not its client is there to receive it. */
  @ParameterizedTest
  @ValueSource(ints = {200, 500})
  void aClientThatLeavesWhileItsRouteRunsLeavesNothing(int status) throws Exception {
    List<String> keys = IntStream.range(0, 50).mapToObj(number -> newKey()).toList();
    CompletableFuture<Integer> held = hold();
    List<SlowClient> clients = new ArrayList<>();
    for (int number = 0; number < keys.size(); number++) {
      SlowClient client = new SlowClient(instance(number), keys.get(number), 2);
      client.send("{}");
      clients.add(client);
    }
    await().atMost(PATIENCE).until(() -> runs() == keys.size());
    for (SlowClient client : clients) {
      client.leave();
    }
    Thread.sleep(200); // the servers see that they have left
    clearStatus();
    held.complete(status);

    for (int number = 0; number < keys.size(); number++) {
      String key = keys.get(number);
      int other = number + 1;
      var again = CompletableFuture.supplyAsync(() -> pay(other, key));
      assertThat(again).succeedsWithin(SOON);
      assertThat(again.join().statusCode()).isEqualTo(200);
    }
    assertThat(runs()).isEqualTo(status == 200 ? keys.size() : 2 * keys.size());
    assertSilent();
  }

  private long scripts() throws IOException {
    Matcher calls =
        Pattern.compile("cmdstat_evalsha:calls=(\\d+)")
            .matcher(TypedCommand.reply(redis.port(), "INFO commandstats"));
    assertThat(calls.find()).isTrue();
    return Long.parseLong(calls.group(1));
  }

  /** No instance asks for an answer, or renews a claim, any more. */
  private void assertSilent() throws Exception {
    long[] before = {scripts()};
    await()
        .pollInterval(Duration.ofMillis(500)) // five times as long as between two questions
        .atMost(SOON)
        .until(
            () -> {
              long now = scripts();
              return now == before[0] || (before[0] = now) < 0;
            });
  }

  @Test
  void aRefreshInBetweenChangesNoAnswer() {
    String answered = newKey();
    String body = pay(0, answered).body();
    String key = newKey();
    CompletableFuture<Integer> status = hold();
    List<CompletableFuture<java.net.http.HttpResponse<String>>> all = new ArrayList<>();
    IntStream.range(0, 20).forEach(number -> all.add(payAsync(number, key)));
    await().atMost(PATIENCE).until(() -> runs() == 2);

    changing.put("limiter.policies.payments.duplicate.replay", "2h");
    changing.put("limiter.policies.payments.duplicate.claim", "5s");
    changing.put("limiter.policies.payments.duplicate.max-wait", "10s");
    refresh(0);
    IntStream.range(0, 20).forEach(number -> all.add(payAsync(number, key)));
    refresh(1);
    IntStream.range(0, 20).forEach(number -> all.add(payAsync(number, key)));
    status.complete(200);

    assertOneAnswer(all.stream().map(CompletableFuture::join).toList());
    assertThat(pay(0, answered).body()).isEqualTo(body);
    assertThat(pay(1, answered).body()).isEqualTo(body);
    assertThat(runs()).isEqualTo(2);

    changing.clear();
    refresh(0);
    refresh(1);
    assertThat(pay(1, answered).body()).isEqualTo(body);
  }

  private void refresh(int number) {
    assertThat(instance(number).post("/refresh", "{\"force\": false}").statusCode()).isEqualTo(200);
  }

  /**
   * Keys and bodies of any bytes, of which many are equal. A model knows the answers: each request
   * is rejected, or has its first answer, or that of the same request before.
   */
  @Test
  void keysAndBodiesOfAnyBytesAreAnsweredAsAModelKnows() throws Exception {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    Map<String, String> bodies = new HashMap<>();
    Map<String, String> answers = new HashMap<>();
    int[] seen = new int[600];
    for (int number = 0; number < 3_000; number++) {
      byte[] field = randomField(random);
      byte[] body =
          bytes(
              random,
              random.nextInt(50) == 0 ? MAX_BODY + 1 : 1 + random.nextInt(2),
              "a\u0000\u00ff");
      String named =
          "request %s of seed %s: %s, body %s"
              .formatted(number, seed, HexFormat.of().formatHex(field), body.length);
      Optional<String> key = key(field);
      String sent = HexFormat.of().formatHex(body);
      int expected =
          key.isEmpty()
              ? 400
              : body.length > MAX_BODY
                  ? 413
                  : sent.equals(bodies.computeIfAbsent(key.get(), any -> sent)) ? 200 : 422;

      RawAnswer answer = RawAnswer.to(instance(random.nextInt(2)), field, body);

      assertThat(answer.status()).as(named).isEqualTo(expected);
      seen[expected]++;
      if (expected == 200) {
        boolean again = answers.containsKey(key.get());
        assertThat(
                answer.head().toLowerCase(Locale.ROOT).contains(REPLAYED.toLowerCase(Locale.ROOT)))
            .as(named)
            .isEqualTo(again);
        assertThat(answer.body()).as(named).endsWith(" for " + sent);
        assertThat(answers.computeIfAbsent(key.get(), any -> answer.body()))
            .as(named)
            .isEqualTo(answer.body());
      }
    }
    assertThat(runs()).isEqualTo(answers.size());
    assertThat(List.of(seen[200], seen[400], seen[413], seen[422]))
        .as("how many had each status")
        .allMatch(many -> many > 5);
  }

  private static byte[] randomField(Random random) {
    return switch (random.nextInt(10)) {
      case 0 -> bytes(random, 250 + random.nextInt(10), "a");
      case 1 -> bytes(random, random.nextInt(12), "\\\"\\\"a");
      case 2, 3 -> quoted(bytes(random, random.nextInt(3), "ab \\\""));
      case 4 -> quoted(bytes(random, random.nextInt(3), "ab"));
      case 5 -> bytes(random, random.nextInt(4), "ab\"\\ \t\u00e9\u007f\u0001\u0000\u0080\u00ff");
      default -> bytes(random, random.nextInt(4), "abc ");
    };
  }

  private static byte[] quoted(byte[] text) {
    byte[] quoted = new byte[text.length + 2];
    System.arraycopy(text, 0, quoted, 1, text.length);
    quoted[0] = '"';
    quoted[quoted.length - 1] = '"';
    return quoted;
  }

  private static byte[] bytes(Random random, int length, String alphabet) {
    byte[] bytes = new byte[length];
    for (int i = 0; i < length; i++) {
      bytes[i] = (byte) alphabet.charAt(random.nextInt(alphabet.length()));
    }
    return bytes;
  }

  /** A quoted string of RFC 9651, or bare text; empty for what is neither. */
  private static Optional<String> key(byte[] field) {
    String text = new String(field, StandardCharsets.ISO_8859_1).replaceAll("^[ \t]+|[ \t]+$", "");
    String key = text;
    if (text.startsWith("\"")) {
      if (!text.matches("\"([^\"\\\\]|\\\\[\"\\\\])*\"")) {
        return Optional.empty();
      }
      key = text.substring(1, text.length() - 1).replaceAll("\\\\(.)", "$1");
    }
    return Optional.of(key).filter(some -> some.matches("[ -~]{1,255}") && !some.isBlank());
  }

  /** What one connection received. */
  private record RawAnswer(String head, String body) {

    int status() {
      return Integer.parseInt(head.substring(9, 12));
    }

    /** Sends a request on a connection of its own. */
    static RawAnswer to(TestServer server, byte[] key, byte[] body) throws IOException {
      try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
        socket.getOutputStream().write(SlowClient.head(key, body.length));
        socket.getOutputStream().write(body);
        return of(socket);
      }
    }

    static RawAnswer of(Socket socket) throws IOException {
      socket.setSoTimeout((int) PATIENCE.toMillis());
      String all = new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
      String[] parts = all.split("\r\n\r\n", 2);
      return new RawAnswer(parts[0], parts[1]);
    }
  }

  /** A client that sends its body bit by bit, and may leave. */
  private record SlowClient(Socket socket) {

    SlowClient(TestServer server, String key, int length) throws IOException {
      this(new Socket(InetAddress.getLoopbackAddress(), server.port()));
      socket.setTcpNoDelay(true);
      socket.getOutputStream().write(head(key.getBytes(StandardCharsets.US_ASCII), length));
    }

    static byte[] head(byte[] key, int length) {
      String head =
          "POST /replay/payment HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/octet-stream\r\nContent-Length: %s\r\n%s: %s\r\n\r\n"
              .formatted(
                  Integer.toString(length), KEY, new String(key, StandardCharsets.ISO_8859_1));
      return head.getBytes(StandardCharsets.ISO_8859_1);
    }

    void send(String bytes) throws IOException {
      socket.getOutputStream().write(bytes.getBytes(StandardCharsets.US_ASCII));
    }

    RawAnswer answer() throws IOException {
      try (socket) {
        return RawAnswer.of(socket);
      }
    }

    /** With RST in place of FIN, as when a machine is switched off. */
    void leave() throws IOException {
      socket.setSoLinger(true, 0);
      socket.close();
    }
  }
}
