// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.limiter.core.outage.FallbackCounts;
import io.micronaut.http.HttpRequestWrapper;
import io.micronaut.http.exceptions.HttpStatusException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The page of the demo, and what the service does for it. */
@Tag("matrix")
class DemoPageTest {

  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final Pattern COUNTS =
      Pattern.compile("\"instances\":\\[(\\d+),(\\d+),(\\d+),(\\d+)]");

  private final Demo demo = Demo.start();

  @AfterEach
  void close() {
    demo.close();
  }

  /** The stream of an open page. */
  private static final class Stream implements AutoCloseable {

    private final Socket socket;
    private final Queue<String> lines = new ConcurrentLinkedQueue<>();

    Stream(int port, String page) {
      try {
        socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket
            .getOutputStream()
            .write(
                "GET /events?page=%s HTTP/1.1\r\nHost: localhost:%d\r\nAccept: text/event-stream\r\n\r\n"
                    .formatted(page, port)
                    .getBytes(UTF_8));
        BufferedReader reader =
            new BufferedReader(new InputStreamReader(socket.getInputStream(), UTF_8));
        Thread thread = new Thread(() -> read(reader), "page-stream");
        thread.setDaemon(true);
        thread.start();
      } catch (IOException e) {
        throw new AssertionError(e);
      }
    }

    private void read(BufferedReader reader) {
      try {
        for (String line = reader.readLine(); line != null; line = reader.readLine()) {
          lines.add(line);
        }
      } catch (IOException closed) {
        lines.add("closed");
      }
    }

    void await(String regex) {
      Pattern pattern = Pattern.compile(regex);
      org.awaitility.Awaitility.await()
          .atMost(PATIENCE)
          .untilAsserted(
              () -> assertThat(lines).as(regex).anyMatch(line -> pattern.matcher(line).find()));
    }

    @Override
    public void close() {
      try {
        socket.close();
      } catch (IOException e) {
        throw new AssertionError(e);
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "/, text/html",
    "/page.css, text/css",
    "/page.js, text/javascript",
    "/page.svg, image/svg+xml"
  })
  void thePageIsServedWithAStrictPolicyAndNoLimit(String path, String type) {
    HttpResponse<String> answer = demo.get(path);

    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(field(answer, "Content-Type")).isEqualTo(type + ";charset=utf-8");
    assertThat(field(answer, "Content-Security-Policy"))
        .contains("default-src 'none'", "script-src 'self'", "style-src 'self'")
        .contains("frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'")
        .doesNotContain("unsafe", "http:", "*");
    assertThat(field(answer, "X-Content-Type-Options")).isEqualTo("nosniff");
    assertThat(answer.headers().map()).doesNotContainKeys("ratelimit", "ratelimit-policy");
  }

  /** As a browser, a link preview and a script ask for it. */
  @ParameterizedTest
  @ValueSource(strings = {"text/html", "text/html,*/*;q=0.8", "*/*", "application/json"})
  void itIsGivenWhateverIsAccepted(String accept) {
    HttpResponse<String> page = demo.get("/", "Accept", accept);
    assertThat(page.statusCode()).isEqualTo(200);
    assertThat(page.headers().firstValue("Content-Type").orElse("")).startsWith("text/html");
  }

  @Test
  void itHasNothingInlineAndNothingFromElsewhere() {
    String page = demo.get("/").body();
    String script = demo.get("/page.js").body();

    assertThat(page).doesNotContain("<style", " style=", "javascript:", "http://", "https://");
    assertThat(page).doesNotContainPattern("\\son[a-z]+=").doesNotContainPattern("<script(?! src)");
    assertThat(script).doesNotContain("innerHTML", "outerHTML", "insertAdjacentHTML", "eval(");
    assertThat(demo.get("/page.css").body()).doesNotContain("@import", "url(");
  }

  @Test
  void eachCardHasTheAnnotationOfItsSource() throws IOException {
    String cards = demo.get("/page/cards").body();

    assertThat(Cards.source("ArticleController", "list"))
        .isEqualTo(
            """
            @Get
            @RateRule(count = 10, time = 60)
            @RateRule(count = 100, time = 3600)
            List<String> list()""");
    assertThat(cards)
        .contains("@RateRule(count = 10, time = 60)\\n@RateRule(count = 100, time = 3600)");
    Matcher card =
        Pattern.compile("\"file\":\"(\\w+).java\",\"source\":\"((?:[^\"\\\\]|\\\\.)*)\"")
            .matcher(cards);
    int seen = 0;
    while (card.find()) {
      String source =
          Files.readString(
              Path.of("src/main/java/io/limiter/demo/%s.java".formatted(card.group(1))));
      List<String> lines = source.lines().map(String::strip).toList();
      String shown = card.group(2).replace("\\\"", "\"");
      for (String line : shown.split("\\\\n", -1)) {
        assertThat(lines)
            .anyMatch(one -> one.equals(line.strip()) || one.equals(line.strip() + " {"));
      }
      seen++;
    }
    assertThat(seen).isEqualTo(25);
  }

  @Test
  void aPageHearsOfEachDecisionAsItIsMade() {
    try (Stream page = new Stream(demo.port(), "mine")) {
      page.await("\"pages\":1");
      for (int i = 0; i < 10; i++) {
        demo.get("/articles", PageController.PAGE, "mine");
      }
      page.await("\"articles.admitted\":10");
      page.await("\"card\":\"articles\",.*\"outcome\":\"admitted\",\"by\":\"STORE\".*\"own\":true");
      page.await("\"name\":\"10-per-60s\".*\"left\":0,");

      demo.get("/articles", PageController.PAGE, "other");
      page.await("\"outcome\":\"denied\",\"by\":\"\\w+\",\"retryMs\":\\d+.*\"own\":false");
      page.await("\"articles.denied\":1");

      demo.post("/orders", "{\"item\":\"tea\"}");
      demo.post("/orders", "{\"item\":\"tea\"}");
      page.await("\"card\":\"orders\",.*\"outcome\":\"duplicate\"");

      for (int i = 0; i < 40; i++) {
        demo.get("/search");
      }
      page.await("\"outcome\":\"banned\"");
      page.await("A caller of search is banned for 30 s");
      assertThat(page.lines).as("no stream has a subject").noneMatch(it -> it.contains("subject"));
    }
  }

  @Test
  void aPageHearsWhatRemainsForItAsTimePasses() {
    try (Stream page = new Stream(demo.port(), "mine")) {
      page.await("event: hello");
      for (int i = 0; i < 5; i++) {
        demo.get("/algorithms/bucket", PageController.PAGE, "mine");
      }
      for (String left : List.of("0", "1", "2")) { // no call in between
        page.await("\"left\":\\{.*\"bucket\":\\{\"5-at-1-per-2s\":%s}".formatted(left));
      }
    }
  }

  @Test
  void aPageThatLeavesIsForgotten() {
    try (Stream stays = new Stream(demo.port(), "stays")) {
      try (Stream leaves = new Stream(demo.port(), "leaves")) {
        leaves.await("\"pages\":2");
        stays.await("\"pages\":2");
        stays.lines.clear();
      }
      stays.await("\"pages\":1");
    }
  }

  @Test
  void atMostFiftyPagesAreOpen() {
    List<Stream> open = new ArrayList<>();
    try {
      for (int i = 0; i < Live.MAX_PAGES; i++) {
        Stream one = new Stream(demo.port(), "p" + i);
        open.add(one);
        one.await("event: hello");
      }
      HttpResponse<String> more = demo.get("/events?page=more");
      assertThat(more.statusCode()).isEqualTo(503);
      assertThat(more.body()).contains("50 pages are open");

      open.remove(0).close();
      open.get(0).await("\"pages\":49");
      try (Stream again = new Stream(demo.port(), "again")) {
        again.await("event: hello");
      }
    } finally {
      open.forEach(Stream::close);
    }
  }

  @Test
  void callsThatAreNotDrawnAreCounted() {
    int calls = Live.MAX_WAITING * 2;
    try (Stream page = new Stream(demo.port(), "flood")) {
      page.await("event: hello");
      List<java.util.concurrent.CompletableFuture<HttpResponse<String>>> all = new ArrayList<>();
      for (int i = 0; i < calls; i++) {
        all.add(demo.getLater("/quota"));
      }
      all.forEach(java.util.concurrent.CompletableFuture::join);

      page.await("\"quota.denied\":" + (calls - 30));
      page.await("\"by.");
      await()
          .atMost(PATIENCE)
          .untilAsserted(
              () ->
                  assertThat(drawn(page) + dropped(page)).as("drawn and dropped").isEqualTo(calls));
    }
  }

  private static long drawn(Stream page) {
    return page.lines.stream()
        .mapToLong(line -> Pattern.compile("\"card\":\"quota\"").matcher(line).results().count())
        .sum();
  }

  private static long dropped(Stream page) {
    return page.lines.stream()
        .flatMap(line -> Pattern.compile("\"dropped\":(\\d+)").matcher(line).results())
        .mapToLong(found -> Long.parseLong(found.group(1)))
        .sum();
  }

  @Test
  void twoInstancesHaveOneLimit() {
    assertThat(demo.post("/page/instances/start", "").statusCode()).isEqualTo(200);
    assertThat(demo.post("/page/instances/start", "").statusCode())
        .as("one at most")
        .isEqualTo(200);

    String burst = demo.post("/page/instances/burst", "").body();

    Matcher counts = COUNTS.matcher(burst);
    assertThat(counts.find()).as(burst).isTrue();
    List<Integer> each =
        List.of(
            Integer.valueOf(counts.group(1)),
            Integer.valueOf(counts.group(2)),
            Integer.valueOf(counts.group(3)),
            Integer.valueOf(counts.group(4)));
    assertThat(each.get(0) + each.get(2)).as(burst).isEqualTo(5);
    assertThat(each.get(1) + each.get(3)).as(burst).isEqualTo(7);
    assertThat(each.get(0)).isPositive();
    assertThat(each.get(2)).isPositive();
    try (Stream page = new Stream(demo.port(), "mine")) {
      page.await("\"second\":true");
      assertThat(demo.post("/page/instances/stop", "").statusCode()).isEqualTo(200);
      page.await("\"second\":false");
    }
    assertThat(demo.post("/page/instances/more", "").statusCode()).isEqualTo(404);
  }

  /**
   * What is left of the leases has gone back, and was spent by the other instance or by neither.
   */
  @Test
  void aFloodToTwoInstancesIsDecidedByTheirLeases() {
    HttpResponse<String> flood = demo.post("/page/flood", "");

    assertThat(flood.statusCode()).as(flood.body()).isEqualTo(200);
    List<Map<String, Long>> both =
        Pattern.compile("\\{[^{}]*\"units\":\\{[^}]*}[^}]*}")
            .matcher(flood.body())
            .results()
            .map(found -> numbers(found.group()))
            .toList();
    assertThat(both).as(flood.body()).hasSize(2);
    for (Map<String, Long> one : both) {
      // A unit counts as spent, too, that a call took as its lease ended, and has given back.
      assertThat(one.get("lease"))
          .isPositive()
          .isBetween(one.get("spent") - Flood.AT_ONCE, one.get("spent"));
      assertThat(one.get("spent") + one.get("returned") + one.get("expired"))
          .isEqualTo(one.get("granted"));
      assertThat(one.get("held")).isZero();
    }
    assertThat(both.stream().mapToLong(one -> one.get("lease") + one.get("store")).sum())
        .isGreaterThanOrEqualTo(1_960);
  }

  /** While it is slow it can answer 80 calls a second of 400: the rest is not kept waiting. */
  @Test
  void callsOfASlowDatabaseAreRejectedAtOnce() {
    HttpResponse<String> slow = demo.post("/page/database/slow", "");

    assertThat(slow.statusCode()).as(slow.body()).isEqualTo(200);
    List<Map<String, Long>> phases =
        Pattern.compile("\\{[^{}]*}")
            .matcher(slow.body())
            .results()
            .map(found -> numbers(found.group()))
            .toList();
    assertThat(phases).as(slow.body()).hasSize(3);
    assertThat(phases.get(1).get("rejected")).isGreaterThan(500);
    assertThat(phases.get(1).get("limit")).isLessThan(32);
    for (int usual : List.of(0, 2)) {
      assertThat(phases.get(usual).get("rejected")).isLessThan(phases.get(1).get("rejected"));
    }
    assertThat(phases).allSatisfy(one -> assertThat(one.get("answered")).isGreaterThan(100));
  }

  private static Map<String, Long> numbers(String json) {
    return Pattern.compile("\"(\\w+)\":(\\d+)")
        .matcher(json)
        .results()
        .collect(Collectors.toMap(one -> one.group(1), one -> Long.valueOf(one.group(2))));
  }

  @Test
  void anotherFormatComesFromAnInstanceThatIsSetToIt() {
    for (int i = 0; i < 5; i++) {
      assertThat(demo.get("/via/problem/reports").statusCode()).isEqualTo(200);
    }
    HttpResponse<String> problem = demo.get("/via/problem/reports", "Accept-Language", "zh-CN");
    assertThat(problem.statusCode()).isEqualTo(429);
    assertThat(field(problem, "Content-Type")).isEqualTo("application/problem+json");
    assertThat(problem.body()).contains("\"Quota Exceeded\"", "请求过于频繁");

    HttpResponse<String> template = demo.get("/via/template/reports");
    assertThat(template.statusCode()).as("one limit").isEqualTo(429);
    assertThat(template.body()).contains("\"ok\":false", "\"rules\":[\"5-per-10s\"]");
    assertThat(demo.get("/reports").body()).contains("\"logref\":\"rate_limited\"");
    assertThat(demo.get("/via/other/reports").statusCode()).isEqualTo(404);
    for (String path :
        List.of("limits", "page/observe/true", "/evil.example/", "%2fevil.example")) {
      assertThat(demo.get("/via/problem/" + path).statusCode()).as(path).isEqualTo(404);
    }
    assertThat(demo.post("/via/problem/orders", "{\"item\":\"tea\"}").statusCode()).isEqualTo(201);
    assertThat(demo.post("/via/problem/orders", "{\"item\":\"tea\"}").statusCode()).isEqualTo(409);
    String key = "Idempotency-Key";
    String payment = demo.post("/via/problem/checkout/payment", "{}", key, "one").body();
    assertThat(demo.post("/checkout/payment", "{}", key, "one").body()).isEqualTo(payment);
  }

  @Test
  void allPoliciesCanBeMadeToOnlyObserve() {
    assertThat(demo.post("/page/observe/true", "").statusCode()).isEqualTo(200);
    for (int i = 0; i < 12; i++) {
      assertThat(demo.get("/articles").statusCode()).isEqualTo(200);
    }
    for (int i = 0; i < 7; i++) {
      assertThat(demo.get("/via/problem/reports").statusCode()).as("started later").isEqualTo(200);
    }
    assertThat(demo.post("/page/observe/false", "").statusCode()).isEqualTo(200);
    assertThat(demo.get("/via/problem/reports").statusCode()).isEqualTo(429);
    assertThat(demo.get("/articles").statusCode()).isEqualTo(429);
  }

  @ParameterizedTest
  @CsvSource({
    "Origin, http://evil.example",
    "Origin, null",
    "Sec-Fetch-Site, cross-site",
    "Sec-Fetch-Site, same-site"
  })
  void pagesOfOtherSitesChangeNothing(String name, String value) {
    assertThat(demo.post("/page/instances/stop", "", name, value).statusCode()).isEqualTo(403);
    assertThat(demo.post("/page/flood", "", name, value).statusCode()).isEqualTo(403);
    assertThat(demo.post("/page/database/slow", "", name, value).statusCode()).isEqualTo(403);
    assertThat(demo.post("/page/observe/true", "", name, value).statusCode()).isEqualTo(403);
    assertThat(demo.get("/via/problem/reports", name, value).statusCode()).isEqualTo(403);
    assertThat(demo.get("/events", name, value).statusCode()).isEqualTo(403);
  }

  @Test
  void itsOwnPageAndProgramsMay() {
    String own = "http://127.0.0.1:" + demo.port();
    assertThat(demo.post("/page/instances/stop", "", "Origin", own).statusCode()).isEqualTo(200);
    assertThat(demo.post("/page/instances/stop", "").statusCode()).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(strings = {"evil.example", "localhost.evil.example:8080", "127.0.0.1.evil.example"})
  void aHostNameThatIsNotLocalhostIsRejected(String host) throws IOException {
    assertThat(statusFor(host, "POST /page/instances/stop")).contains(" 403 ");
    assertThat(statusFor("localhost:" + demo.port(), "POST /page/instances/stop"))
        .contains(" 200 ");
    String limits = "GET /limits HTTP/1.1\r\nAuthorization: Basic YWRtaW46YWRtaW4=\r\nX-Ignored:";
    assertThat(statusFor(host, limits)).contains(" 403 ");
  }

  private String statusFor(String host, String begin) throws IOException {
    String line = begin.contains("HTTP/1.1") ? begin : begin + " HTTP/1.1\r\nX-Ignored:";
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), demo.port())) {
      socket
          .getOutputStream()
          .write(
              "%s 1\r\nHost: %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                  .formatted(line, host)
                  .getBytes(UTF_8));
      return new BufferedReader(new InputStreamReader(socket.getInputStream(), UTF_8))
          .lines()
          .limit(1)
          .collect(Collectors.joining());
    }
  }

  @Test
  void noOtherSiteStopsRedis() {
    EmbeddedRedis redis = EmbeddedRedis.down();
    RedisController controller = new RedisController(redis, new FallbackCounts());
    var fromHere =
        new HttpRequestWrapper<>(
            io.micronaut.http.HttpRequest.POST("/redis/kill", "")
                .header("Host", "localhost:8080")
                .header("Origin", "http://evil.example")) {
          @Override
          public InetSocketAddress getRemoteAddress() {
            return new InetSocketAddress(InetAddress.getLoopbackAddress(), 54321);
          }
        };

    assertThatThrownBy(() -> controller.run(fromHere, "kill"))
        .isInstanceOf(HttpStatusException.class)
        .hasMessageStartingWith("Only from the demo's own page");
  }

  @Test
  void otherMachinesReadThePageAndChangeNothing() throws Exception {
    Optional<String> other =
        NetworkInterface.networkInterfaces()
            .flatMap(NetworkInterface::inetAddresses)
            .filter(Inet4Address.class::isInstance)
            .filter(address -> !address.isLoopbackAddress())
            .map(InetAddress::getHostAddress)
            .findFirst();
    Assumptions.assumeTrue(other.isPresent(), "this machine has only its loopback address");
    try (Demo all = new Demo(Demo.newService(), Map.of("micronaut.server.host", "0.0.0.0"))) {
      String base = "http://%s:%d".formatted(other.get(), all.port());
      HttpClient client = HttpClient.newHttpClient();
      HttpRequest page = HttpRequest.newBuilder(URI.create(base + "/")).build();
      assertThat(client.send(page, BodyHandlers.ofString()).statusCode()).isEqualTo(200);
      for (String path :
          List.of(
              "/page/instances/start",
              "/page/flood",
              "/page/database/slow",
              "/page/observe/true",
              "/via/problem/orders")) {
        HttpRequest post =
            HttpRequest.newBuilder(URI.create(base + path))
                .header("X-Forwarded-For", "127.0.0.1")
                .header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString("{}"))
                .build();
        assertThat(client.send(post, BodyHandlers.ofString()).statusCode()).as(path).isEqualTo(403);
      }
    }
  }

  private static String field(HttpResponse<?> answer, String name) {
    return answer.headers().firstValue(name).orElse("");
  }
}
