// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Verdict;
import io.limiter.core.testing.ClusterGroup;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.limiter.micronaut.testing.MicronautVersion;
import io.limiter.micronaut.testing.StoreDecorator;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.event.BeanCreatedEvent;
import io.micronaut.context.event.BeanCreatedEventListener;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.scheduling.annotation.ExecuteOn;
import io.micronaut.websocket.annotation.OnError;
import io.micronaut.websocket.annotation.OnMessage;
import io.micronaut.websocket.annotation.OnOpen;
import io.micronaut.websocket.annotation.ServerWebSocket;
import jakarta.inject.Singleton;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Messages of one WebSocket, and requests of one HTTP/1.1 connection, go on in the order in which
 * they came, in whatever order their decisions come.
 */
@Tag("matrix")
class ConnectionOrderTest {

  private static final String SPEC = "ConnectionOrderTest";
  private static final int MESSAGES = 60;
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  /** Decisions come out of order, from many threads: some at once, most of them later. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  @Requires(property = "test.shuffled", value = "true")
  static class ShuffledStore implements BeanCreatedEventListener<LimitStore> {

    private final Random random = new Random(7);

    @Override
    public LimitStore onCreated(BeanCreatedEvent<LimitStore> event) {
      return new StoreDecorator(event.getBean()) {
        @Override
        public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
          CompletionStage<Verdict> decision = store.decide(request, mode);
          int millis = nextMillis();
          return millis < 5
              ? decision
              : decision.thenCombineAsync(later(millis), (verdict, late) -> verdict);
        }
      };
    }

    private synchronized int nextMillis() {
      return random.nextInt(20);
    }

    private static CompletableFuture<Boolean> later(int millis) {
      Executor delayed =
          CompletableFuture.delayedExecutor(
              millis, TimeUnit.MILLISECONDS, ForkJoinPool.commonPool());
      return CompletableFuture.supplyAsync(() -> true, delayed);
    }
  }

  /** What the methods have seen, in order. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Seen {

    final List<String> messages = new CopyOnWriteArrayList<>();
    final AtomicInteger running = new AtomicInteger();
    final AtomicInteger most = new AtomicInteger();

    /** Messages that say so wait for it. */
    final CountDownLatch held = new CountDownLatch(1);
  }

  /** Messages that are the same are counted together: the second of them is denied. */
  abstract static class Base {

    final Seen seen;

    Base(Seen seen) {
      this.seen = seen;
    }

    @OnError
    void error(Throwable failure) {
      Throwable cause = failure.getCause() == null ? failure : failure.getCause();
      seen.messages.add(
          failure instanceof RateLimitExceededException
                  || cause instanceof RateLimitExceededException
              ? "denied"
              : failure.toString());
    }
  }

  @ServerWebSocket("/order/mono")
  @Requires(property = "spec.name", value = SPEC)
  static class MonoSocket extends Base {
    MonoSocket(Seen seen) {
      super(seen);
    }

    @OnOpen
    void open() {}

    @OnMessage
    @RateLimiter(subject = "#{text}", rules = @RateRule(count = 1, time = 60))
    Mono<String> message(String text) {
      seen.messages.add(text);
      return Mono.just(text);
    }
  }

  @ServerWebSocket("/order/flux")
  @Requires(property = "spec.name", value = SPEC)
  static class FluxSocket extends Base {
    FluxSocket(Seen seen) {
      super(seen);
    }

    @OnOpen
    void open() {}

    @OnMessage
    @RateLimiter(subject = "#{text}", rules = @RateRule(count = 1, time = 60))
    Flux<String> message(String text) {
      seen.messages.add(text);
      return Flux.just(text);
    }
  }

  @ServerWebSocket("/order/stage")
  @Requires(property = "spec.name", value = SPEC)
  static class StageSocket extends Base {
    StageSocket(Seen seen) {
      super(seen);
    }

    @OnOpen
    void open() {}

    @OnMessage
    @RateLimiter(subject = "#{text}", rules = @RateRule(count = 1, time = 60))
    CompletionStage<String> message(String text) {
      seen.messages.add(text);
      return CompletableFuture.completedFuture(text);
    }
  }

  /** It waits for its decisions on another thread; without a limit it would run on the loop. */
  @ServerWebSocket("/order/sync")
  @Requires(property = "spec.name", value = SPEC)
  static class SyncSocket extends Base {
    SyncSocket(Seen seen) {
      super(seen);
    }

    @OnOpen
    void open() {}

    @OnMessage
    @RateLimiter(subject = "#{text}", rules = @RateRule(count = 1, time = 60))
    void message(String text) {
      seen.most.accumulateAndGet(seen.running.incrementAndGet(), Math::max);
      seen.messages.add(text);
      seen.running.decrementAndGet();
    }
  }

  abstract static class LimitedBase extends Base {
    LimitedBase(Seen seen) {
      super(seen);
    }

    @OnMessage
    @RateLimiter(subject = "#{text}", rules = @RateRule(count = 1, time = 60))
    void message(String text) {
      seen.most.accumulateAndGet(seen.running.incrementAndGet(), Math::max);
      seen.messages.add(text);
      seen.running.decrementAndGet();
    }
  }

  @ServerWebSocket("/order/inherited")
  @Requires(property = "spec.name", value = SPEC)
  static class InheritedSocket extends LimitedBase {
    InheritedSocket(Seen seen) {
      super(seen);
    }

    @OnOpen
    void open() {}
  }

  @ServerWebSocket("/order/holding")
  @Requires(property = "spec.name", value = SPEC)
  static class HoldingSocket extends Base {
    HoldingSocket(Seen seen) {
      super(seen);
    }

    @OnOpen
    @RateRule(count = 100, time = 60)
    void open(HttpRequest<?> request) throws InterruptedException {
      if (request.getParameters().contains("held")) {
        await();
      }
      seen.messages.add("open");
    }

    @OnMessage
    @RateLimiter(subject = "#{text}", rules = @RateRule(count = 1, time = 60))
    void message(String text) throws InterruptedException {
      if (text.startsWith("held")) {
        await();
      }
      seen.messages.add(text);
    }

    private void await() throws InterruptedException {
      if (!seen.held.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
        throw new IllegalStateException("Still held");
      }
    }
  }

  /** The application's executor takes precedence, and keeps no order. */
  @ServerWebSocket("/order/chosen")
  @Requires(property = "spec.name", value = SPEC)
  static class ChosenSocket extends Base {
    ChosenSocket(Seen seen) {
      super(seen);
    }

    @OnOpen
    void open() {}

    @OnMessage
    @ExecuteOn("chosen")
    @RateLimiter(subject = "#{text}", rules = @RateRule(count = 1, time = 60))
    void message(String text) {
      seen.messages.add(text + " on " + Thread.currentThread().getName().replaceAll("-.*", ""));
    }
  }

  @Controller("/order/http")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    private final Seen seen;

    Routes(Seen seen) {
      this.seen = seen;
    }

    @Get("/by-request/{number}")
    @RateRule(count = 9_000, time = 60)
    String byRequest(String number) {
      seen.messages.add(number);
      return number;
    }

    @Get("/by-argument/{number}")
    @RateLimiter(subject = "#{number}", rules = @RateRule(count = 9_000, time = 60))
    Mono<String> byArgument(String number) {
      seen.messages.add(number);
      return Mono.just(number);
    }
  }

  static Stream<Arguments> sockets() {
    return Stream.of("mono", "flux", "stage", "sync", "inherited")
        .flatMap(
            kind ->
                Stream.of("shuffled", "shared", "one-loop", "event-loop", "own-threads")
                    .map(decisions -> Arguments.of(kind, decisions)));
  }

  /** The threads of event loops that are configured are not known as such to Micronaut. */
  private static TestServer start(String decisions) {
    Map<String, Object> settings = new LinkedHashMap<>();
    if (!decisions.equals("own-threads")) {
      settings.put("micronaut.netty.event-loops.default.num-threads", 4);
    }
    switch (decisions) {
      case "shuffled" -> settings.put("test.shuffled", true);
      case "shared" -> settings.put("limiter.redis.connections", "shared");
      case "one-loop" -> settings.put("limiter.redis.max-connections", 1);
      default -> {}
    }
    return TestServer.start(SPEC, settings);
  }

  @ParameterizedTest
  @MethodSource("sockets")
  void messagesGoOnInTheirOrder(String kind, String decisions) {
    messagesGoOnInTheirOrder(kind, start(decisions));
  }

  /** Its primaries answer each on a connection of its own. */
  @Test
  void messagesGoOnInTheirOrderOnACluster() {
    try (ClusterGroup group = ClusterGroup.withoutReplicas()) {
      for (String kind : List.of("mono", "sync")) {
        messagesGoOnInTheirOrder(kind, TestServer.start(SPEC, Map.of("redis.uris", group.uris())));
      }
    }
  }

  private static void messagesGoOnInTheirOrder(String kind, TestServer started) {
    try (TestServer server = started) {
      Seen seen = server.bean(Seen.class);
      for (int connection = 0; connection < 4; connection++) {
        seen.messages.clear();
        WebSocket client = open(server, kind);
        // The deny cache answers every third message but the first such, at once.
        List<String> expected = new ArrayList<>();
        for (int i = 0; i < MESSAGES; i++) {
          boolean denied = i % 3 == 2;
          String text = connection + (denied ? " again" : " message " + i);
          client.sendText(text, true).join();
          if (!denied || i == 2) {
            expected.add(text);
          } else if (MicronautVersion.IS_5
              || !kind.equals("stage")) { // 4 drops what a stage fails with
            expected.add("denied");
          }
        }
        await()
            .atMost(PATIENCE)
            .untilAsserted(
                () -> assertThat(seen.messages).hasSameSizeAs(expected).doesNotContainNull());
        assertThat(seen.messages).containsExactlyElementsOf(expected);
        client.sendClose(WebSocket.NORMAL_CLOSURE, "").join();
      }
      assertThat(seen.most.get()).isLessThanOrEqualTo(1);
    }
  }

  /** More than may wait for one: the connection is not read for so long. */
  @Test
  void aFloodIsKeptInOrderToo() {
    int flood = 2_000;
    try (TestServer server = start("shared")) {
      Seen seen = server.bean(Seen.class);
      WebSocket client = open(server, "sync");
      CompletableFuture<?> sent = CompletableFuture.completedFuture(client);
      for (int i = 0; i < flood; i++) {
        String message = "message " + i;
        sent = sent.thenCompose(before -> client.sendText(message, true));
      }
      await().atMost(Duration.ofSeconds(60)).until(() -> seen.messages.size() == flood);
      assertThat(seen.messages)
          .containsExactlyElementsOf(
              IntStream.range(0, flood).mapToObj(i -> "message " + i).toList());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"event-loop", "own-threads"})
  void aMessageInFragmentsKeepsItsPlace(String loops) {
    try (TestServer server = start(loops)) {
      Seen seen = server.bean(Seen.class);
      WebSocket client = open(server, "sync");
      for (int i = 0; i < MESSAGES; i++) {
        if (i % 2 == 0) {
          client.sendText("message ", false).join();
          client.sendText("", false).join();
        }
        client.sendText(i % 2 == 0 ? String.valueOf(i) : "message " + i, true).join();
      }
      await().atMost(PATIENCE).until(() -> seen.messages.size() == MESSAGES);
      assertThat(seen.messages)
          .containsExactlyElementsOf(
              IntStream.range(0, MESSAGES).mapToObj(i -> "message " + i).toList());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"event-loop", "own-threads"})
  void messagesWaitForTheirOpening(String loops) {
    try (TestServer server = start(loops)) {
      Seen seen = server.bean(Seen.class);
      WebSocket client = open(server, "holding?held=true");
      client.sendText("one", true).join();
      client.sendText("two", true).join();
      await().during(Duration.ofMillis(300)).until(seen.messages::isEmpty);
      seen.held.countDown();
      await().atMost(PATIENCE).until(() -> seen.messages.size() == 3);
      assertThat(seen.messages).containsExactly("open", "one", "two");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"event-loop", "own-threads"})
  void connectionsDoNotWaitForEachOther(String loops) {
    Map<String, Object> oneLoop = Map.of("micronaut.netty.event-loops.default.num-threads", 1);
    try (TestServer server =
        loops.equals("own-threads") ? start(loops) : TestServer.start(SPEC, oneLoop)) {
      Seen seen = server.bean(Seen.class);
      WebSocket held = open(server, "holding");
      held.sendText("held", true).join();
      held.sendText("after", true).join();
      WebSocket other = open(server, "holding");
      other.sendText("other", true).join();
      await().atMost(PATIENCE).until(() -> seen.messages.contains("other"));
      assertThat(seen.messages).containsExactly("open", "open", "other");
      seen.held.countDown();
      await().atMost(PATIENCE).until(() -> seen.messages.size() == 5);
      assertThat(seen.messages).containsExactly("open", "open", "other", "held", "after");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"event-loop", "own-threads"})
  void whatWaitsWhenAConnectionClosesIsHandledInOrder(String loops) {
    try (TestServer server = start(loops)) {
      Seen seen = server.bean(Seen.class);
      WebSocket client = open(server, "holding");
      client.sendText("held", true).join();
      client.sendText("one", true).join();
      client.sendText("two", true).join();
      client.sendPing(ByteBuffer.allocate(0)).join();
      await().during(Duration.ofMillis(300)).until(() -> seen.messages.size() == 1);
      client.abort();
      WebSocket next = open(server, "holding");
      next.sendText("next", true).join();
      await().atMost(PATIENCE).until(() -> seen.messages.contains("next"));
      seen.held.countDown();
      await().atMost(PATIENCE).until(() -> seen.messages.size() == 6);
      assertThat(seen.messages).containsExactly("open", "open", "next", "held", "one", "two");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"event-loop", "own-threads"})
  void anExecutorOfTheApplicationTakesPrecedence(String loops) {
    Map<String, Object> settings = new LinkedHashMap<>();
    settings.put("micronaut.executors.chosen.type", "fixed");
    settings.put("micronaut.executors.chosen.number-of-threads", 1);
    if (loops.equals("event-loop")) {
      settings.put("micronaut.netty.event-loops.default.num-threads", 1);
    }
    try (TestServer server = TestServer.start(SPEC, settings)) {
      Seen seen = server.bean(Seen.class);
      WebSocket client = open(server, "chosen");
      client.sendText("one", true).join();
      client.sendText("two", true).join();
      await().atMost(PATIENCE).until(() -> seen.messages.size() == 2);
      assertThat(seen.messages).containsExactly("one on chosen", "two on chosen");
    }
  }

  private static WebSocket open(TestServer server, String kind) {
    return HttpClient.newHttpClient()
        .newWebSocketBuilder()
        .buildAsync(
            URI.create("ws://localhost:" + server.port() + "/order/" + kind),
            new WebSocket.Listener() {})
        .join();
  }

  static Stream<Arguments> routes() {
    return Stream.of("by-request", "by-argument")
        .flatMap(
            route ->
                Stream.of("shuffled", "shared").map(decisions -> Arguments.of(route, decisions)));
  }

  @ParameterizedTest
  @MethodSource("routes")
  void requestsOfOneConnectionGoOnInTheirOrder(String route, String decisions) throws Exception {
    int requests = 20;
    try (TestServer server = start(decisions);
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
      socket.setSoTimeout((int) PATIENCE.toMillis());
      StringBuilder all = new StringBuilder();
      for (int i = 0; i < requests; i++) {
        all.append("GET /order/http/%s/%s HTTP/1.1\r\nHost: localhost\r\n".formatted(route, i));
        all.append(i == requests - 1 ? "Connection: close\r\n\r\n" : "\r\n");
      }
      socket.getOutputStream().write(all.toString().getBytes(StandardCharsets.US_ASCII));
      BufferedReader in =
          new BufferedReader(
              new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
      long answers = in.lines().filter(line -> line.contains("HTTP/1.1 200")).count();

      assertThat(answers).isEqualTo(requests);
      assertThat(server.bean(Seen.class).messages)
          .containsExactlyElementsOf(
              IntStream.range(0, requests).mapToObj(String::valueOf).toList());
    }
  }
}
