// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisURI;
import io.limiter.core.FailureReason;
import io.limiter.core.Fallback;
import io.limiter.core.StoreException;
import io.limiter.core.testing.FaultProxy;
import io.limiter.core.testing.RecordedLog;
import io.limiter.core.testing.RedisFixture;
import io.limiter.core.testing.RedisProcess;
import io.limiter.idempotency.IdempotentCallException.KeyInUseException;
import io.limiter.idempotency.IdempotentCallException.KeyReusedException;
import io.limiter.idempotency.IdempotentCallException.ResultUnavailableException;
import io.micrometer.core.instrument.MeterRegistry;
import io.micronaut.context.ApplicationContext;
import io.micronaut.core.annotation.Introspected;
import io.micronaut.core.type.Argument;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Work that code outside of HTTP runs once for each key. */
class IdempotentCallsTest {

  private static final Argument<Shipment> SHIPMENT = Argument.of(Shipment.class);

  @Introspected
  record Shipment(int number, String item) {}

  /** Where claims are. */
  enum Store {
    REDIS,
    MEMORY
  }

  private final List<ApplicationContext> instances = new ArrayList<>();
  private final String prefix = "t" + UUID.randomUUID().toString().substring(0, 8) + ":";
  private final AtomicInteger runs = new AtomicInteger();

  @AfterEach
  void close() {
    instances.forEach(ApplicationContext::close);
  }

  private ApplicationContext start(Object... settings) {
    Map<String, Object> all =
        new HashMap<>(Map.of("spec.name", "none", "micronaut.metrics.enabled", true));
    for (int i = 0; i < settings.length; i += 2) {
      all.put(settings[i].toString(), settings[i + 1]);
    }
    ApplicationContext instance = ApplicationContext.run(all);
    instances.add(instance);
    return instance;
  }

  private ApplicationContext start(Store store) {
    return store == Store.MEMORY ? start() : overRedis(RedisFixture.uri());
  }

  private ApplicationContext overRedis(String uri) {
    return start(
        "redis.uri",
        uri,
        "limiter.redis.key-prefix",
        prefix,
        "limiter.redis.deadline",
        "5s",
        "limiter.redis.start-timeout",
        "10s");
  }

  private static IdempotentCalls calls(ApplicationContext instance) {
    return instance.getBean(IdempotentCalls.class);
  }

  private static <T> T join(CompletionStage<T> stage) {
    return stage.toCompletableFuture().orTimeout(20, TimeUnit.SECONDS).join();
  }

  private static <T extends Throwable> T failure(Class<T> type, CompletionStage<?> stage) {
    AtomicReference<T> found = new AtomicReference<>();
    assertThat(stage)
        .failsWithin(Duration.ofSeconds(20))
        .withThrowableOfType(ExecutionException.class)
        .satisfies(
            thrown -> {
              assertThat(thrown.getCause()).isInstanceOf(type);
              found.set(type.cast(thrown.getCause()));
            });
    return found.get();
  }

  private Supplier<CompletionStage<Shipment>> shipping(String item) {
    return () -> CompletableFuture.completedFuture(new Shipment(runs.incrementAndGet(), item));
  }

  @ParameterizedTest
  @EnumSource
  void aRepetitionReceivesTheFirstResult(Store store) {
    IdempotentCalls calls = calls(start(store));
    Shipment first = join(calls.run("ship", "1", SHIPMENT, shipping("tea")));

    assertThat(first).isEqualTo(new Shipment(1, "tea"));
    assertThat(join(calls.run("ship", "1", SHIPMENT, shipping("coffee")))).isEqualTo(first);
    assertThat(join(calls.run("ship", "2", SHIPMENT, shipping("tea"))).number()).isEqualTo(2);
    assertThat(join(calls.run("return", "1", SHIPMENT, shipping("tea"))).number()).isEqualTo(3);
  }

  @ParameterizedTest
  @EnumSource
  void nothingIsAResultToo(Store store) {
    IdempotentCalls calls = calls(start(store));
    Argument<List<Shipment>> list = Argument.listOf(Shipment.class);
    for (int i = 0; i < 2; i++) {
      assertThat(
              join(
                  calls.run(
                      "void",
                      "1",
                      Argument.VOID,
                      () -> CompletableFuture.runAsync(runs::incrementAndGet))))
          .isNull();
      assertThat(
              join(
                  calls.run(
                      "null",
                      "1",
                      SHIPMENT,
                      () -> {
                        runs.incrementAndGet();
                        return CompletableFuture.completedFuture(null);
                      })))
          .isNull();
      assertThat(
              join(calls.run("list", "1", list, () -> shipping("tea").get().thenApply(List::of))))
          .containsExactly(new Shipment(3, "tea"));
    }
    assertThat(runs).hasValue(3);
  }

  @ParameterizedTest
  @EnumSource
  void otherContentUnderAKeyFails(Store store) {
    IdempotentCalls calls = calls(start(store));
    join(calls.run("ship", "secret key", "tea".getBytes(UTF_8), SHIPMENT, shipping("tea")));

    IdempotentCallException reused =
        failure(
            KeyReusedException.class,
            calls.run("ship", "secret key", "ale".getBytes(UTF_8), SHIPMENT, shipping("ale")));
    assertThat(reused.scope()).isEqualTo("ship");
    assertThat(reused).hasMessage("'ship': this key was used with other content: use another key");
    assertThat(runs).hasValue(1);
  }

  @ParameterizedTest
  @EnumSource
  void aRepetitionWaitsForTheFirstAndThenFails(Store store) {
    ApplicationContext one = start(store);
    IdempotentCalls calls = calls(one);
    IdempotentCalls others = store == Store.REDIS ? calls(start(store)) : calls;
    CompletableFuture<Shipment> open = new CompletableFuture<>();
    CompletionStage<Shipment> first = calls.run("ship", "1", SHIPMENT, counted(open));

    await().until(() -> runs.get() == 1);
    failure(
        KeyInUseException.class,
        others.withMaxWait(Duration.ofMillis(150)).run("ship", "1", SHIPMENT, shipping("second")));
    CompletionStage<Shipment> patient =
        others.withMaxWait(Duration.ofSeconds(20)).run("ship", "1", SHIPMENT, shipping("second"));
    open.complete(new Shipment(7, "tea"));

    assertThat(join(patient)).isEqualTo(join(first)).isEqualTo(new Shipment(7, "tea"));
    assertThat(runs).hasValue(1);
  }

  private <T> Supplier<CompletionStage<T>> counted(CompletableFuture<T> result) {
    return () -> {
      runs.incrementAndGet();
      return result;
    };
  }

  @Test
  void ofManyCallsOnTwoInstancesOneRuns() {
    List<IdempotentCalls> both = List.of(calls(start(Store.REDIS)), calls(start(Store.REDIS)));
    List<CompletionStage<Shipment>> all = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      all.add(
          both.get(i % 2)
              .withMaxWait(Duration.ofSeconds(20))
              .run(
                  "ship",
                  "1",
                  SHIPMENT,
                  () ->
                      shipping("tea")
                          .get()
                          .toCompletableFuture()
                          .completeOnTimeout(null, 1, TimeUnit.SECONDS)
                          .thenApplyAsync(
                              it -> it,
                              CompletableFuture.delayedExecutor(300, TimeUnit.MILLISECONDS))));
    }
    assertThat(all).allSatisfy(one -> assertThat(join(one)).isEqualTo(new Shipment(1, "tea")));
    assertThat(runs).hasValue(1);
  }

  @ParameterizedTest
  @EnumSource
  void workThatFailsFreesItsKey(Store store) {
    IdempotentCalls calls = calls(start(store));
    IllegalStateException down = new IllegalStateException("down");

    assertThat(
            failure(
                IllegalStateException.class,
                calls.run("ship", "1", SHIPMENT, () -> CompletableFuture.failedFuture(down))))
        .isSameAs(down);
    assertThat(
            failure(
                IllegalStateException.class,
                calls.run(
                    "ship",
                    "1",
                    SHIPMENT,
                    () -> {
                      throw down;
                    })))
        .isSameAs(down);
    assertThat(failure(NullPointerException.class, calls.run("ship", "1", SHIPMENT, () -> null)))
        .hasMessage("The work has returned no stage");
    assertThat(join(calls.run("ship", "1", SHIPMENT, shipping("tea"))).number()).isEqualTo(1);
  }

  @ParameterizedTest
  @EnumSource
  void aKeyCanBeReset(Store store) {
    IdempotentCalls calls = calls(start(store));
    join(calls.run("ship", "1", SHIPMENT, shipping("tea")));
    join(calls.reset("ship", "1"));

    assertThat(join(calls.run("ship", "1", SHIPMENT, shipping("tea"))).number()).isEqualTo(2);
  }

  /** A method that is reset while it runs stores nothing over the newer result. */
  @ParameterizedTest
  @EnumSource
  void onlyTheNewestClaimKeepsAResult(Store store) {
    ApplicationContext context = start(store);
    IdempotentCalls calls = calls(context);
    CompletableFuture<Shipment> open = new CompletableFuture<>();
    CompletionStage<Shipment> slow = calls.run("ship", "1", SHIPMENT, counted(open));
    await().until(() -> runs.get() == 1);
    join(calls.reset("ship", "1"));
    Shipment newer = join(calls.run("ship", "1", SHIPMENT, shipping("newer")));
    try (RecordedLog log = RecordedLog.of(SubmissionService.class)) {
      open.complete(new Shipment(7, "older"));

      assertThat(join(slow).item()).isEqualTo("older");
      await().untilAsserted(() -> assertThat(counted(context, "lost")).isEqualTo(1));
      assertThat(log.messages())
          .singleElement()
          .asString()
          .startsWith("ship: The claim of a submission was lost before its end");
    }
    assertThat(join(calls.run("ship", "1", SHIPMENT, shipping("third")))).isEqualTo(newer);
  }

  @Test
  void aResultThatCannotBeKeptIsNotRepeatedAndItsWorkDoesNotRunAgain() {
    IdempotentCalls calls = calls(start("limiter.idempotency.max-answer", 100));
    Map<String, Object> endless = new HashMap<>();
    endless.put("itself", endless);
    try (RecordedLog log = RecordedLog.of(IdempotentCalls.class)) {
      Argument<Map<String, Object>> map = Argument.mapOf(String.class, Object.class);
      assertThat(join(calls.run("map", "1", map, () -> CompletableFuture.completedFuture(endless))))
          .isSameAs(endless);
      failure(
          ResultUnavailableException.class,
          calls.run("map", "1", map, () -> CompletableFuture.completedFuture(Map.of())));
      assertThat(log.messages())
          .containsExactly(
              "A result of 'map' is not kept, so a repetition fails, and does not run: JSON cannot represent it");
    }
    assertThat(join(calls.run("ship", "1", SHIPMENT, shipping("x".repeat(100)))).number())
        .isEqualTo(1);
    failure(ResultUnavailableException.class, calls.run("ship", "1", SHIPMENT, shipping("")));
    assertThat(runs).hasValue(1);
  }

  @Test
  void aResultOfAnotherTypeIsNotRepeated() {
    ApplicationContext instance = start();
    IdempotentCalls calls = calls(instance);
    join(calls.run("ship", "1", SHIPMENT, shipping("tea")));

    assertThat(
            failure(
                ResultUnavailableException.class,
                calls.run("ship", "1", Argument.of(Duration.class), CompletableFuture::new)))
        .hasCauseInstanceOf(Exception.class);
    assertThat(counted(instance, "unreadable")).isEqualTo(1);
  }

  private static double counted(ApplicationContext instance, String result) {
    return instance
        .getBean(MeterRegistry.class)
        .get("limiter.idempotency")
        .tag("result", result)
        .counter()
        .count();
  }

  @Test
  void callsAreCounted() {
    ApplicationContext instance = start();
    IdempotentCalls calls = calls(instance).withMaxWait(Duration.ZERO);
    calls.run("ship", "1", SHIPMENT, CompletableFuture::new);
    failure(KeyInUseException.class, calls.run("ship", "1", SHIPMENT, shipping("")));
    failure(KeyReusedException.class, calls.run("ship", "1", new byte[1], SHIPMENT, shipping("")));
    join(calls.run("ship", "2", SHIPMENT, shipping("")));
    join(calls.run("ship", "2", SHIPMENT, shipping("")));

    assertThat(counted(instance, "first")).isEqualTo(2);
    assertThat(counted(instance, "running")).isEqualTo(1);
    assertThat(counted(instance, "different")).isEqualTo(1);
    assertThat(counted(instance, "replayed")).isEqualTo(1);
  }

  @Test
  void withoutRedisTheFallbackDecides() {
    try (RedisProcess redis = RedisProcess.onFreePort().start()) {
      ApplicationContext instance =
          start("redis.uri", redis.uri(), "limiter.redis.key-prefix", prefix);
      IdempotentCalls calls = calls(instance);
      redis.kill();

      failure(StoreException.class, calls.run("ship", "1", SHIPMENT, shipping("")));
      assertThat(runs).hasValue(0);
      IdempotentCalls local = calls.withFallback(Fallback.LOCAL);
      assertThat(join(local.run("ship", "1", SHIPMENT, shipping(""))).number()).isEqualTo(1);
      assertThat(join(local.run("ship", "1", SHIPMENT, shipping(""))).number()).isEqualTo(1);
      failure(StoreException.class, calls.reset("ship", "1"));
      assertThat(counted(instance, "unavailable")).isEqualTo(1);
    }
  }

  /** Row 1: the result is written until Redis has it, and the key is taken until then. */
  @Test
  void aResultIsKeptThoughRedisIsAwayAtTheEndOfTheWork() throws Exception {
    try (RedisProcess redis = RedisProcess.onFreePort().start();
        FaultProxy proxy = new FaultProxy(RedisURI.create(redis.uri()).getPort())) {
      IdempotentCalls calls =
          calls(start("redis.uri", proxy.uri(), "limiter.redis.key-prefix", prefix))
              .withClaim(Duration.ofSeconds(1))
              .withMaxWait(Duration.ZERO);
      CompletableFuture<Shipment> open = new CompletableFuture<>();
      CompletionStage<Shipment> first = calls.run("ship", "1", SHIPMENT, counted(open));
      await().until(() -> runs.get() == 1);
      proxy.rejectConnections();
      proxy.reset();
      open.complete(new Shipment(7, "tea"));
      assertThat(join(first).number()).as("waits for no write").isEqualTo(7);
      TimeUnit.MILLISECONDS.sleep(300);
      proxy.pass();

      await()
          .atMost(Duration.ofSeconds(20))
          .ignoreExceptions()
          .untilAsserted(
              () ->
                  assertThat(join(calls.run("ship", "1", SHIPMENT, shipping("second"))))
                      .isEqualTo(new Shipment(7, "tea")));
      assertThat(runs).hasValue(1);
    }
  }

  /** The exception of a limit within the work is that of the work: no fallback follows from it. */
  @Test
  void aStoreThatFailsWithinTheWorkIsAFailureOfTheWork() {
    StoreException within = new StoreException(FailureReason.ERROR, "of the work", null);
    assertThat(
            failure(
                StoreException.class,
                calls(start())
                    .withFallback(Fallback.LOCAL)
                    .run(
                        "ship",
                        "1",
                        SHIPMENT,
                        () -> {
                          runs.incrementAndGet();
                          return CompletableFuture.failedFuture(within);
                        })))
        .isSameAs(within);
    assertThat(runs).hasValue(1);
  }

  /** Redis' threads are shared by all: the work, and what follows it, may block. */
  @Test
  void workRunsOnAThreadThatMayBlock() throws Exception {
    IdempotentCalls calls = calls(start(Store.REDIS));
    List<String> threads = new ArrayList<>();
    CountDownLatch continued = new CountDownLatch(1);
    CompletionStage<Shipment> shipped =
        calls.run(
            "ship",
            "1",
            SHIPMENT,
            () -> {
              threads.add(Thread.currentThread().getName());
              sleep(); // BlockHound fails it on an event loop
              return shipping("tea").get();
            });
    shipped.thenAccept(
        it -> {
          threads.add(Thread.currentThread().getName());
          continued.countDown();
        });
    assertThat(join(shipped).item()).isEqualTo("tea");
    assertThat(continued.await(20, TimeUnit.SECONDS)).isTrue();
    assertThat(threads).hasSize(2).noneMatch(name -> name.contains("lettuce"));
  }

  private static void sleep() {
    try {
      Thread.sleep(1);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void whatCannotBeMeantIsRejected() {
    IdempotentCalls calls = calls(start());
    assertThatIllegalArgumentException()
        .isThrownBy(() -> calls.run("ship", "", SHIPMENT, shipping("")))
        .withMessage(
            "'ship': the key is empty, so all such calls would be the same one: use the identity of the message");
    assertThatIllegalArgumentException().isThrownBy(() -> calls.reset("ship", ""));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> calls.withRetain(Duration.ZERO))
        .withMessage("retain = PT0S: use PT1S to PT8784H");
    assertThatIllegalArgumentException().isThrownBy(() -> calls.withClaim(Duration.ofMillis(999)));
    assertThatIllegalArgumentException().isThrownBy(() -> calls.withMaxWait(Duration.ofDays(1)));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> calls.withFallback(Fallback.ALLOW))
        .withMessage(
            "fallback = ALLOW: then work would run again while Redis is away: use DENY, or LOCAL, so that this instance compares its own calls");
  }

  @Test
  void everyCallRunsWhileTheLimiterIsOff() {
    IdempotentCalls calls = calls(start("limiter.enabled", false)).withRetain(Duration.ofDays(1));

    assertThat(join(calls.run("ship", "1", SHIPMENT, shipping(""))).number()).isEqualTo(1);
    assertThat(join(calls.run("ship", "1", SHIPMENT, shipping(""))).number()).isEqualTo(2);
    assertThat(join(calls.reset("ship", "1"))).isNull();
    assertThatExceptionOfType(IllegalArgumentException.class)
        .isThrownBy(() -> calls.run("ship", "", SHIPMENT, shipping("")));
  }
}
