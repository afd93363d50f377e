// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static io.limiter.micronaut.testing.HttpService.field;
import static io.limiter.micronaut.testing.HttpService.settings;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.limiter.core.Verdict;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.BudgetEnd;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.annotation.ResultCost;
import io.limiter.micronaut.annotation.StreamBudget;
import io.limiter.micronaut.annotation.StreamEnd;
import io.limiter.micronaut.testing.HttpService;
import io.limiter.micronaut.testing.StatedCallers;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.MediaType;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.http.sse.Event;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import jakarta.inject.Singleton;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Sinks;

/**
 * A stream takes what it has estimated, then more in steps while it runs, and gives back at its end
 * what it has not sent. Callers have a hundred units an hour; ten are estimated, and a step is ten.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class StreamBudgetsTest {

  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final Pattern SCRIPTS = Pattern.compile("cmdstat_evalsha:calls=(\\d+)");

  private final RedisProcess redis = RedisProcess.onFreePort().start();
  private HttpService one;
  private HttpService other;
  private HttpService memory;
  private String caller = "";
  private int callers;

  @BeforeAll
  void start() {
    one = start("deny");
    other = start("local");
    memory = HttpService.start(StreamRoutes.SPEC, settings("test.stated-callers", true));
  }

  private HttpService start(String fallback) {
    return HttpService.start(
        StreamRoutes.SPEC,
        settings(
            "redis.uri",
            redis.uri(),
            "limiter.redis.deadline",
            "2s",
            "limiter.fallback",
            fallback,
            "micronaut.metrics.enabled",
            true,
            "test.stated-callers",
            true));
  }

  @AfterAll
  void stop() {
    one.close();
    other.close();
    memory.close();
    redis.close();
  }

  @BeforeEach
  void another() {
    caller = "caller-" + callers++;
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 9, 10, 11, 34, 99})
  void aStreamCostsWhatItHasSent(int items) {
    for (HttpService service : new HttpService[] {one, memory}) {
      HttpResponse<String> answer = get(service, "finish?n=" + items);

      assertThat(items(answer)).as(answer.body()).isEqualTo(items);
      assertThat(left(service)).isEqualTo(100 - items);
      another();
    }
  }

  @Test
  void itemsHaveCostsOfTheirOwn() {
    assertThat(items(get(one, "finish?n=3&cost=25"))).isEqualTo(3);
    assertThat(left(one)).isEqualTo(25);
  }

  /** The bean fails for a cost of 66. */
  @Test
  void anItemWhoseCostIsUnknownCostsOne() {
    assertThat(items(get(one, "finish?n=30&cost=66"))).isEqualTo(30);
    assertThat(left(one)).isEqualTo(70);
  }

  /** More than any call may cost: each item uses up all that is left. */
  @Test
  void anItemThatCostsTooMuchIsNotTheCheapest() {
    HttpResponse<String> cut = get(one, "cut?n=3&cost=3000000000");
    assertThat(cut.body()).isEqualTo("data: end of 100-per-3600s\n\n");
    assertThat(left(one)).as("nothing was sent").isEqualTo(100);

    assertThat(items(get(one, "finish?n=3&cost=3000000000"))).isEqualTo(3);
    assertThat(get(one, "finish?n=1").statusCode()).isEqualTo(429);
  }

  @Test
  void theStoreIsAskedOnceForEachStep() {
    long before = scripts();

    assertThat(items(get(one, "large?n=10000"))).isEqualTo(10_000);

    // The call, 99 steps or 100, and what is given back of the last ones.
    assertThat(scripts() - before).isBetween(100L, 103L);
    assertThat(left(one, "large")).isEqualTo(990_000);
  }

  @Test
  void aStreamThatIsCutSendsWhatIsLeftAndNoMore() {
    double before = cuts("100-per-3600s");
    HttpResponse<String> answer = get(one, "cut?n=1000");

    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(items(answer)).isEqualTo(100);
    assertThat(answer.body()).endsWith("data: end of 100-per-3600s\n\n");
    assertThat(get(one, "cut?n=1").statusCode()).isEqualTo(429);
    assertThat(cuts("100-per-3600s")).isEqualTo(before + 1);
  }

  private double cuts(String rule) {
    return one
        .bean(MeterRegistry.class)
        .find("limiter.stream.cut")
        .tag("rule", rule)
        .counters()
        .stream()
        .mapToDouble(Counter::count)
        .sum();
  }

  @Test
  void aStreamThatIsCutMayEndBelowItsBudget() {
    assertThat(items(get(one, "cut?n=10&cost=30"))).isEqualTo(3);
    assertThat(left(one)).isEqualTo(10);
  }

  @Test
  void theLastUnitsAreTakenTogether() {
    assertThat(items(get(one, "finish?n=75"))).isEqualTo(75);
    assertThat(items(get(one, "cut?n=25"))).as("none is missing").isEqualTo(25);
    another();
    assertThat(items(get(one, "finish?n=75"))).isEqualTo(75);
    HttpResponse<String> cut = get(one, "cut?n=26");
    assertThat(items(cut)).isEqualTo(25);
    assertThat(cut.body()).contains("end of");
  }

  /** There is no BudgetEnd for its items. */
  @Test
  void withoutALastItemTheStreamJustEnds() {
    HttpResponse<String> answer = get(one, "plain?n=1000");

    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(answer.body()).isEqualTo("x".repeat(100));
  }

  /** The server releases what it sends. */
  @Test
  void aBufferThatIsNotSentIsReleased() throws IOException {
    List<ByteBuf> buffers = one.bean(StreamRoutes.class).buffers;
    assertThat(get(one, "buffers?n=1000").body()).isEqualTo("x".repeat(100));
    try (Client client = new Client(one, "buffers?n=1000&id=" + caller)) {
      assertThat(client.socket.getInputStream().read()).isPositive();
    }

    assertThat(buffers).hasSizeGreaterThan(100);
    await()
        .atMost(PATIENCE)
        .untilAsserted(() -> assertThat(buffers).allMatch(buffer -> buffer.refCnt() == 0));
  }

  @Test
  void aStreamThatFinishesOwesWhatItHasSentAbove() {
    for (HttpService service : new HttpService[] {one, memory}) {
      assertThat(items(get(service, "window?n=150"))).isEqualTo(150);

      // A rule stores at most its count.
      assertThat(get(service, "window?n=1").statusCode()).isEqualTo(429);
      another();
    }
  }

  @Test
  void whatAStreamOwesIsTakenWhileItRuns() throws IOException {
    try (Client client = new Client(one, "live?id=" + caller)) {
      Sinks.Many<Integer> source = source(one);
      emit(source, 100, client);
      emit(source, 25, client);

      assertThat(get(one, "finish?n=1").statusCode()).isEqualTo(429);
      source.tryEmitComplete();
    }
  }

  @Test
  void aClientThatLeavesPaysForWhatItWasSent() throws IOException {
    try (Client client = new Client(one, "live?id=" + caller)) {
      emit(source(one), 23, client);
    }
    await().atMost(PATIENCE).untilAsserted(() -> assertThat(peek(one)).isEqualTo(77));
  }

  @Test
  void aStreamThatFailsCostsWhatItHasSent() throws IOException {
    try (Client client = new Client(one, "live?id=" + caller)) {
      Sinks.Many<Integer> source = source(one);
      emit(source, 37, client);
      source.tryEmitError(new IllegalStateException("failed"));
      await().atMost(PATIENCE).untilAsserted(() -> assertThat(peek(one)).isEqualTo(63));
    }
    another();
    assertThat(get(one, "failed").statusCode()).isEqualTo(500);
    assertThat(left(one)).as("nothing was sent").isEqualTo(100);
  }

  /** What is not read is neither requested nor taken. */
  @Test
  void aClientThatReadsSlowlyIsNotAheadOfItself() throws IOException {
    AtomicInteger produced = one.bean(StreamRoutes.class).produced;
    produced.set(0);
    try (Client client = new Client(one, "large?n=1000000&id=" + caller)) {
      client.read(1);
      await()
          .atMost(PATIENCE)
          .untilAsserted(
              () -> {
                int before = produced.get();
                Thread.sleep(500); // as long as a busy machine may pause
                int taken = 1_000_000 - peek(one, "large");
                assertThat(produced.get()).isEqualTo(before).isBetween(1, 900_000);
                // Of the step that is in use, and of the next one, not all is sent yet.
                assertThat(taken).isBetween(before, before + 200);
              });
    }
    await()
        .atMost(PATIENCE)
        .untilAsserted(() -> assertThat(1_000_000 - peek(one, "large")).isEqualTo(produced.get()));
  }

  @Test
  void twoInstancesShareABudget() {
    CompletableFuture<HttpResponse<String>> first = getAsync(one, "cut?n=1000");
    CompletableFuture<HttpResponse<String>> second = getAsync(other, "cut?n=1000");

    assertThat(items(first.join()) + items(second.join())).isEqualTo(100);
    assertThat(get(one, "cut?n=1").statusCode()).isEqualTo(429);
  }

  /** With {@code fallback: deny} the next step is denied; memory continues from what it knows. */
  @Test
  void withoutRedisTheFallbackDecidesOnTheNextStep() throws IOException {
    double before = cuts("none");
    try (Client denied = new Client(one, "live-cut?id=" + caller);
        Client finishes = new Client(one, "live?id=f-" + caller);
        Client known = new Client(other, "live-cut?id=" + caller)) {
      emit(source(one), 3, denied);
      emit(source(one, "f-" + caller), 3, finishes);
      emit(source(other), 3, known);
      redis.kill();
      try {
        emit(source(one), 7, denied);
        source(one).tryEmitNext(1);
        assertThat(denied.read(1)).as("it is cut once its units are used up").contains("end of");
        assertThat(cuts("none")).isEqualTo(before + 1);

        Sinks.Many<Integer> source = source(one, "f-" + caller);
        emit(source, 50, finishes);
        source.tryEmitComplete();

        emit(source(other), 70, known);
        source(other).tryEmitComplete();
      } finally {
        redis.start();
      }
    }
    await()
        .atMost(PATIENCE)
        .until(() -> get(one, "cut?n=0").statusCode() + get(other, "cut?n=0").statusCode() == 400);
  }

  @Test
  void streamsOfBeansTakeStepsToo() {
    StreamBean bean = memory.bean(StreamBean.class);

    assertThat(bean.stream(25).collectList().block(PATIENCE)).hasSize(25);
    assertThat(bean.stream(1_000).take(13).collectList().block(PATIENCE)).hasSize(13);
    assertThat(bean.stream(1_000).collectList().block(PATIENCE)).hasSize(62);
    assertThatThrownBy(() -> bean.stream(1).blockLast(PATIENCE)).hasMessageContaining("100-per");
  }

  private HttpResponse<String> get(HttpService service, String route) {
    return service.get("/streams/" + route, StatedCallers.ADDRESS, caller);
  }

  private CompletableFuture<HttpResponse<String>> getAsync(HttpService service, String route) {
    return service.getAsync("/streams/" + route, StatedCallers.ADDRESS, caller);
  }

  private static int items(HttpResponse<String> answer) {
    return answer.body().split("data: x").length - 1;
  }

  /** The units that are left, before this call. */
  private int left(HttpService service) {
    return left(service, "");
  }

  private int left(HttpService service, String which) {
    HttpResponse<String> answer = get(service, "left" + which);
    assertThat(answer.statusCode()).as("%s", answer.headers().map()).isEqualTo(200);
    return 1 + Integer.parseInt(field(answer, "RateLimit").replaceFirst(".*;r=(\\d+);.*", "$1"));
  }

  /** The units that are left, or -1, of which this takes none for long. */
  private int peek(HttpService service) {
    return peek(service, "");
  }

  private int peek(HttpService service, String which) {
    HttpResponse<String> answer = get(service, "peek" + which);
    return answer.statusCode() == 200
        ? 1 + Integer.parseInt(field(answer, "RateLimit").replaceFirst(".*;r=(\\d+);.*", "$1"))
        : -1;
  }

  private long scripts() {
    try (RedisClient client = RedisClient.create(redis.uri())) {
      Matcher calls = SCRIPTS.matcher(client.connect().sync().info("commandstats"));
      return calls.find() ? Long.parseLong(calls.group(1)) : 0;
    }
  }

  private Sinks.Many<Integer> source(HttpService service) {
    return source(service, caller);
  }

  private static Sinks.Many<Integer> source(HttpService service, String id) {
    return service.bean(StreamRoutes.class).source(id);
  }

  /** Sends items one by one, each of which arrives before the next. */
  private static void emit(Sinks.Many<Integer> source, int items, Client client)
      throws IOException {
    for (int i = 0; i < items; i++) {
      source.tryEmitNext(1).orThrow();
      assertThat(client.read(1)).contains("data: x");
    }
  }

  /** A client that reads events as it likes. */
  private final class Client implements AutoCloseable {

    private final Socket socket;
    private final BufferedReader lines;

    Client(HttpService service, String route) throws IOException {
      socket =
          service.open("/streams/" + route, StatedCallers.ADDRESS, caller, "Connection", "close");
      socket.setSoTimeout((int) PATIENCE.toMillis());
      lines =
          new BufferedReader(
              new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8), 256);
    }

    /** The data of some events. */
    String read(int events) throws IOException {
      StringBuilder read = new StringBuilder();
      for (int i = 0; i < events; ) {
        String line = lines.readLine();
        assertThat(line).as("the stream ended after %s", read).isNotNull();
        if (line.startsWith("data: ")) {
          read.append(line).append('\n');
          i++;
        }
      }
      return read.toString();
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }

  /** A hundred units an hour, ten of which are estimated. */
  @Controller("/streams")
  @Requires(property = "spec.name", value = StreamRoutes.SPEC)
  static class StreamRoutes {

    static final String SPEC = "StreamBudgets";

    private static final int HOUR = 3_600;

    final AtomicInteger produced = new AtomicInteger();
    final List<ByteBuf> buffers = new CopyOnWriteArrayList<>();
    private final Map<String, Sinks.Many<Integer>> sources = new ConcurrentHashMap<>();

    Sinks.Many<Integer> source(String id) {
      return sources.computeIfAbsent(id, any -> Sinks.many().unicast().onBackpressureBuffer());
    }

    @Retention(RetentionPolicy.RUNTIME)
    @RateLimiter(
        key = "units",
        cost = "10",
        resultCost = Units.class,
        rules = @RateRule(count = 100, time = HOUR))
    @interface Finishing {}

    @Retention(RetentionPolicy.RUNTIME)
    @RateLimiter(
        key = "units",
        cost = "10",
        resultCost = Units.class,
        stream = @StreamBudget(end = StreamEnd.CUT),
        rules = @RateRule(count = 100, time = HOUR))
    @interface Cutting {}

    @Get(uri = "/finish", produces = MediaType.TEXT_EVENT_STREAM)
    @Finishing
    Flux<Event<String>> finish(@QueryValue int n, @QueryValue(defaultValue = "1") long cost) {
      return events(n, cost);
    }

    @Get(uri = "/cut", produces = MediaType.TEXT_EVENT_STREAM)
    @Cutting
    Flux<Event<String>> cut(@QueryValue int n, @QueryValue(defaultValue = "1") long cost) {
      return events(n, cost);
    }

    @Get(uri = "/plain", produces = MediaType.TEXT_PLAIN)
    @Cutting
    Flux<String> plain(@QueryValue int n) {
      return Flux.range(0, n).map(i -> "x");
    }

    @Get(uri = "/buffers", produces = MediaType.TEXT_PLAIN)
    @Cutting
    Flux<ByteBuf> buffers(@QueryValue int n) {
      return Flux.range(0, n)
          .map(
              i -> {
                ByteBuf buffer = PooledByteBufAllocator.DEFAULT.directBuffer(16).writeByte('x');
                buffers.add(buffer);
                return buffer;
              });
    }

    @Get(uri = "/window", produces = MediaType.TEXT_EVENT_STREAM)
    @RateLimiter(
        cost = "10",
        resultCost = Units.class,
        rules = @RateRule(count = 100, time = HOUR, algorithm = Algorithm.FIXED_WINDOW))
    Flux<Event<String>> window(@QueryValue int n) {
      return events(n, 1);
    }

    @Get(uri = "/live", produces = MediaType.TEXT_EVENT_STREAM)
    @Finishing
    Flux<Event<String>> live(@QueryValue String id) {
      return source(id).asFlux().map(cost -> Event.of("x" + cost));
    }

    @Get(uri = "/live-cut", produces = MediaType.TEXT_EVENT_STREAM)
    @Cutting
    Flux<Event<String>> liveCut(@QueryValue String id) {
      return source(id).asFlux().map(cost -> Event.of("x" + cost));
    }

    @Get(uri = "/failed", produces = MediaType.TEXT_EVENT_STREAM)
    @Finishing
    Flux<Event<String>> failed() {
      return Flux.error(new IllegalStateException("failed"));
    }

    @Get(uri = "/large", produces = MediaType.TEXT_EVENT_STREAM)
    @RateLimiter(
        key = "large",
        cost = "100",
        resultCost = Units.class,
        rules = @RateRule(count = 1_000_000, time = HOUR, algorithm = Algorithm.FIXED_WINDOW))
    Flux<Event<String>> large(@QueryValue int n) {
      return events(n, 1).doOnNext(event -> produced.incrementAndGet());
    }

    @Get("/left")
    @RateLimiter(key = "units", rules = @RateRule(count = 100, time = HOUR))
    String left() {
      return "left";
    }

    @Get("/leftlarge")
    @RateLimiter(
        key = "large",
        rules = @RateRule(count = 1_000_000, time = HOUR, algorithm = Algorithm.FIXED_WINDOW))
    String leftLarge() {
      return "left";
    }

    @Get("/peek")
    @RateLimiter(
        key = "units",
        cost = "1",
        resultCost = Nothing.class,
        rules = @RateRule(count = 100, time = HOUR))
    String peek() {
      return "peek";
    }

    @Get("/peeklarge")
    @RateLimiter(
        key = "large",
        cost = "1",
        resultCost = Nothing.class,
        rules = @RateRule(count = 1_000_000, time = HOUR, algorithm = Algorithm.FIXED_WINDOW))
    String peekLarge() {
      return "peek";
    }

    private static Flux<Event<String>> events(int n, long cost) {
      return Flux.range(0, n).map(i -> Event.of("x" + cost));
    }
  }

  /** A bean whose callers are all together. */
  @Singleton
  @Requires(property = "spec.name", value = StreamRoutes.SPEC)
  static class StreamBean {

    @RateLimiter(
        limitType = LimitType.GLOBAL,
        cost = "10",
        resultCost = Units.class,
        stream = @StreamBudget(step = 5, end = StreamEnd.CUT),
        rules = @RateRule(count = 100, time = 3_600))
    Flux<Integer> stream(int n) {
      return Flux.range(0, n);
    }
  }

  /** An event says what it costs, other items cost one. */
  @Singleton
  @Requires(property = "spec.name", value = StreamRoutes.SPEC)
  static class Units implements ResultCost {
    @Override
    public long of(Object result) {
      long cost =
          result instanceof Event<?> event
              ? Long.parseLong(event.getData().toString().substring(1))
              : 1;
      if (cost == 66) {
        throw new IllegalStateException("66 units");
      }
      return cost;
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = StreamRoutes.SPEC)
  static class Nothing implements ResultCost {
    @Override
    public long of(Object result) {
      return 0;
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = StreamRoutes.SPEC)
  static class LastEvent implements BudgetEnd<Event<String>> {
    @Override
    public Event<String> last(Verdict denied) {
      return Event.of(
          "end of " + denied.denying().map(rule -> rule.rule().name()).orElse("a step"));
    }
  }

  /** Of items that no stream has: it must not be taken for the others. */
  @Singleton
  @Requires(property = "spec.name", value = StreamRoutes.SPEC)
  static class LastNumber implements BudgetEnd<Long> {
    @Override
    public Long last(Verdict denied) {
      return -1L;
    }
  }
}
