// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.server;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.util.Locale.ROOT;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.benchmarks.server.BenchmarkService.Script;
import io.limiter.core.testing.RedisFixture;
import io.micronaut.runtime.server.EmbeddedServer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The answers that generators expect, over a real Redis. */
class BenchmarkServiceTest {

  private static final String FIELD = "RateLimit";

  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  private static EmbeddedServer shared;

  @BeforeAll
  static void start() {
    shared = start(Script.DECISION);
  }

  @AfterAll
  static void stop() {
    shared.close();
  }

  private static EmbeddedServer start(Script script) {
    return BenchmarkService.start(
        RedisFixture.uri(),
        "test:" + UUID.randomUUID().toString().substring(0, 8) + ":",
        script,
        Map.of(
            "micronaut.server.port",
            -1,
            // On a busy machine the default could end a decision, and memory would count it.
            "limiter.redis.deadline",
            "10s",
            "limiter.redis.start-timeout",
            "10s"));
  }

  private HttpResponse<String> get(EmbeddedServer server, String path) throws Exception {
    return client.send(request(server, path), BodyHandlers.ofString());
  }

  private static HttpRequest request(EmbeddedServer server, String path) {
    return HttpRequest.newBuilder(server.getURI().resolve(path)).build();
  }

  private static Optional<String> limit(HttpResponse<?> answer) {
    return answer.headers().firstValue(FIELD);
  }

  /** Of the first rule. */
  private static String remaining(HttpResponse<?> answer) {
    return limit(answer).orElseThrow().replaceFirst("\"1000-per-60s\";r=([0-9]+);.*", "$1");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/limited",
        "/limited-arg/one?page=2",
        "/limited-async",
        "/limited-call",
        "/limited-call-async"
      })
  void eachCallIsAnotherCallers(String path) throws Exception {
    for (int i = 0; i < 3; i++) {
      HttpResponse<String> answer = get(shared, path);
      assertThat(answer.statusCode()).isEqualTo(200);
      assertThat(answer.body()).isEqualTo("ok");
      assertThat(remaining(answer)).isEqualTo("999");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"/hot", "/hot-leased"})
  void allCallsAreOneSubjects(String path) throws Exception {
    for (int i = 1; i <= 20; i++) {
      HttpResponse<String> answer = get(shared, path);
      assertThat(answer.statusCode()).isEqualTo(200);
      assertThat(limit(answer)).hasValueSatisfying(field -> assertThat(field).contains(";r=9999"));
    }
  }

  @Test
  void aFirstRequestHasAKeyOfItsOwnAndTheOthersShareOne() throws Exception {
    String replayed = "Idempotency-Replayed";
    for (int i = 0; i < 3; i++) {
      HttpResponse<String> first = get(shared, "/first");
      assertThat(first.body()).isEqualTo("ok");
      assertThat(limit(first)).isPresent();
      assertThat(first.headers().firstValue(replayed)).isEmpty();
      HttpResponse<String> again = get(shared, "/replayed");
      assertThat(again.body()).isEqualTo("ok");
      assertThat(again.headers().firstValue(replayed).isPresent()).isEqualTo(i > 0);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"/denied", "/denied-uncached"})
  void allButTheFirstAreDeniedInFull(String path) throws Exception {
    assertThat(get(shared, path).statusCode()).isEqualTo(200);
    for (int i = 0; i < 3; i++) {
      HttpResponse<String> answer = get(shared, path);
      assertThat(answer.statusCode()).isEqualTo(429);
      assertThat(answer.body()).contains("Too many requests");
      assertThat(limit(answer)).hasValueSatisfying(field -> assertThat(field).contains(";r=0;"));
      assertThat(answer.headers().firstValue("Retry-After")).isPresent();
    }
  }

  @Test
  void anUnlimitedRouteAsksNoStore() throws Exception {
    HttpResponse<String> answer = get(shared, "/plain");
    assertThat(answer.body()).isEqualTo("ok");
    assertThat(limit(answer)).isEmpty();
  }

  @Test
  void aScriptThatDoesNothingAdmitsEachCall() throws Exception {
    try (EmbeddedServer server = start(Script.NO_OP)) {
      for (int i = 0; i < 2; i++) {
        HttpResponse<String> unlimited = get(server, "/denied");
        assertThat(unlimited.statusCode()).isEqualTo(200);
      }
      assertThat(get(server, "/limited").statusCode()).isEqualTo(200);
      assertThat(limit(get(server, "/limited"))).isPresent();
      assertThat(get(server, "/fallbacks").body()).isEqualTo("0");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "-call"})
  void aFloorAnswersAsManyBytesAsItsRouteAndSendsAsMany(String way) throws Exception {
    String floor = raw(shared, "/floor" + way);
    String limited = raw(shared, "/limited" + way);
    assertThat(floor).startsWith("HTTP/1.1 200 ").endsWith("ok").hasSameSizeAs(limited);
    assertThat(fieldNames(floor)).isEqualTo(fieldNames(limited)).contains(FIELD.toLowerCase(ROOT));

    try (Monitor redis = new Monitor()) {
      String unused = raw(shared, "/floor" + way);
      List<Integer> sent = redis.lengthsInNextScript();
      String unusedToo = raw(shared, "/limited" + way);
      assertThat(sent).isEqualTo(redis.lengthsInNextScript());
    }
  }

  @Test
  void theFloorOfDenialsAnswersAsManyBytesAsADenial() throws Exception {
    try (EmbeddedServer server = start(Script.DECISION)) { // of which no other test uses the call
      String admitted = raw(server, "/denied");
      String denied = raw(server, "/denied");
      String floor = raw(server, "/floor-denied");
      assertThat(admitted).startsWith("HTTP/1.1 200 ");
      assertThat(denied).startsWith("HTTP/1.1 429 ");
      assertThat(floor).startsWith("HTTP/1.1 429 ").hasSameSizeAs(denied);
      assertThat(fieldNames(floor)).isEqualTo(fieldNames(denied)).contains("retry-after");
    }
  }

  /** Everything that the service answers. */
  private static String raw(EmbeddedServer server, String path) throws Exception {
    try (Socket socket = new Socket(server.getHost(), server.getPort())) {
      socket.setSoTimeout(30_000);
      socket
          .getOutputStream()
          .write(
              "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                  .formatted(path)
                  .getBytes(ISO_8859_1));
      return new String(socket.getInputStream().readAllBytes(), ISO_8859_1);
    }
  }

  private static Set<String> fieldNames(String answer) {
    return answer
        .lines()
        .skip(1)
        .takeWhile(line -> !line.isEmpty())
        .map(line -> line.substring(0, line.indexOf(':')).toLowerCase(ROOT))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** Sees the commands that Redis receives. */
  private static final class Monitor implements AutoCloseable {

    private static final Pattern ARGUMENT = Pattern.compile("\"((?:[^\"\\\\]|\\\\.)*)\"");

    private final Socket socket;
    private final BufferedReader commands;

    Monitor() throws IOException {
      URI uri = URI.create(RedisFixture.uri());
      socket = new Socket(uri.getHost(), uri.getPort());
      socket.setSoTimeout(30_000);
      commands = new BufferedReader(new InputStreamReader(socket.getInputStream(), ISO_8859_1));
      socket.getOutputStream().write("MONITOR\r\n".getBytes(ISO_8859_1));
      assertThat(commands.readLine()).isEqualTo("+OK");
    }

    /** Of its keys and arguments, as they come in. */
    List<Integer> lengthsInNextScript() throws IOException {
      String line = commands.readLine();
      while (!line.toLowerCase(ROOT).contains("\"evalsha\"")) {
        line = commands.readLine();
      }
      return ARGUMENT
          .matcher(line)
          .results()
          .skip(3) // the command, the script's name, and the number of keys
          .map(argument -> argument.group(1).replaceAll("\\\\(?:x[0-9a-f]{2}|.)", "?"))
          .map(String::length)
          .toList();
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }
}
