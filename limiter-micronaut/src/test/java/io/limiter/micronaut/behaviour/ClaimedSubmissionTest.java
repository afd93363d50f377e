// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import io.limiter.core.testing.FaultProxy;
import io.limiter.core.testing.RecordedLog;
import io.limiter.core.testing.RedisFixture;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.env.PropertySource;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.runtime.context.scope.refresh.RefreshEvent;
import java.net.InetSocketAddress;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A duplicate guard that is claimed for a second at a time while the method runs. */
class ClaimedSubmissionTest {

  private static final String SPEC = "ClaimedSubmissionTest";
  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final Duration LONGER_THAN_THE_CLAIM = Duration.ofMillis(1_500);
  private static final Duration TIME = Duration.ofSeconds(3);
  private static final long CLAIM = 1_000;
  private static final long ROUNDING = 2; // of milliseconds

  /** Each method runs until {@code /claimed/end} is called with how it ends. */
  @Controller("/claimed")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    private final AtomicInteger entered = new AtomicInteger();
    private volatile CompletableFuture<String> running = new CompletableFuture<>();

    /** Decided in the gate. */
    @Post("/by-caller")
    @RateLimiter(
        value = "claimed",
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(time = 1, timeUnit = TimeUnit.HOURS),
        duplicate = @Duplicate(by = DuplicateBy.CALLER, claim = "1s"))
    CompletionStage<String> byCaller(@Body String order) {
      return run();
    }

    /** Decided around the method. */
    @Post("/by-argument")
    @RateLimiter(
        rules = @RateRule(count = 100),
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(time = 1, timeUnit = TimeUnit.HOURS),
        duplicate = @Duplicate(key = "#{order}", claim = "1s"))
    CompletionStage<String> byArgument(@Body String order) {
      return run();
    }

    @Post("/short")
    @RateLimiter(
        value = "short",
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(time = 3, timeUnit = TimeUnit.SECONDS),
        duplicate = @Duplicate(by = DuplicateBy.CALLER, claim = "1s"))
    CompletionStage<String> shorter(@Body String order) {
      return run();
    }

    @Post("/observed")
    @RateLimiter(
        value = "observed",
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(time = 1, timeUnit = TimeUnit.HOURS),
        duplicate = @Duplicate(by = DuplicateBy.CALLER, claim = "1s"))
    CompletionStage<String> observed(@Body String order) {
      return run();
    }

    private CompletionStage<String> run() {
      CompletableFuture<String> until = running;
      entered.incrementAndGet();
      return until;
    }

    @Get("/end/{how}")
    String end(String how) {
      CompletableFuture<String> before = running;
      running = new CompletableFuture<>();
      if (how.equals("fail")) {
        before.completeExceptionally(new IllegalStateException("fails"));
      } else {
        before.complete(how);
      }
      return how;
    }
  }

  private final String prefix = UUID.randomUUID().toString().substring(0, 8) + ":";
  private final List<HttpService> services = new ArrayList<>();
  private final RedisClient client = RedisClient.create(RedisFixture.uri());
  private final RedisCommands<String, String> redis = client.connect().sync();

  @AfterEach
  void close() {
    services.forEach(HttpService::close);
    client.shutdown();
  }

  private HttpService start(String uri, Object... others) {
    Map<String, Object> settings = HttpService.settings(others);
    if (!uri.isEmpty()) {
      settings.put("redis.uri", uri);
      settings.put("limiter.redis.key-prefix", prefix);
      settings.putIfAbsent("limiter.redis.deadline", "5s");
    }
    HttpService service = HttpService.start(SPEC, settings);
    services.add(service);
    await().atMost(PATIENCE).until(() -> redis.keys(prefix + "*").isEmpty());
    return service;
  }

  private static CompletableFuture<Integer> submit(HttpService to, String route) {
    return to.postAsync("/claimed/" + route, "\"tea\"").thenApply(HttpResponse::statusCode);
  }

  private static void end(HttpService service, String how) {
    assertThat(service.get("/claimed/end/" + how).statusCode()).isEqualTo(200);
  }

  /** The time to live of the guard; below 0 if there is none. */
  private long life() {
    return redis.keys(prefix + "*:d.*").stream().mapToLong(redis::pttl).max().orElse(-2);
  }

  /** Until so many runs have begun. */
  private static void awaitRun(HttpService service, int number) {
    await().atMost(PATIENCE).until(() -> runs(service) == number);
  }

  /** Repeats a call until it is no duplicate; returns its status. */
  private static CompletableFuture<Integer> untilItRuns(HttpService service, int number) {
    return await()
        .atMost(PATIENCE)
        .until(
            () -> {
              CompletableFuture<Integer> again = submit(service, "short");
              await().until(() -> again.isDone() || runs(service) == number);
              return again;
            },
            again -> !again.isDone());
  }

  private static int runs(HttpService service) {
    return service.bean(Routes.class).entered.get();
  }

  @ParameterizedTest
  @ValueSource(strings = {"by-caller", "by-argument"})
  void isRenewedWhileItRunsAndKeptForItsTimeAfterwards(String route) {
    HttpService one = start(RedisFixture.uri());
    HttpService other = start(RedisFixture.uri());
    CompletableFuture<Integer> first = submit(one, route);
    awaitRun(one, 1);
    await()
        .during(LONGER_THAN_THE_CLAIM)
        .atMost(PATIENCE)
        .until(() -> life() > 0 && life() <= CLAIM);
    assertThat(submit(other, route).join()).isEqualTo(409);

    end(one, "done");

    assertThat(first.join()).isEqualTo(200);
    assertThat(life()).isGreaterThan(Duration.ofMinutes(59).toMillis());
    assertThat(submit(other, route).join()).isEqualTo(409);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void isHeldWhileItsMethodOutlastsItsTime(boolean inRedis) {
    HttpService one = start(inRedis ? RedisFixture.uri() : "");
    HttpService other = inRedis ? start(RedisFixture.uri()) : one;
    CompletableFuture<Integer> first = submit(one, "short");
    awaitRun(one, 1);
    await()
        .during(TIME.plus(LONGER_THAN_THE_CLAIM))
        .atMost(PATIENCE)
        .until(() -> submit(other, "short").join() == 409);

    end(one, "done");

    assertThat(first.join()).isEqualTo(200);
    assertThat(life()).isNegative();
    CompletableFuture<Integer> second = submit(other, "short");
    awaitRun(other, other == one ? 2 : 1);
    assertThat(submit(one, "short").join()).isEqualTo(409);
    end(other, "done");
    assertThat(second.join()).isEqualTo(200);
  }

  /** Its instance knows that the method runs, however long Redis does not answer. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void isHeldWhileRedisIsSilent(boolean takenInTime) {
    RedisURI redis = RedisURI.create(RedisFixture.uri());
    try (FaultProxy proxy =
        new FaultProxy(new InetSocketAddress(redis.getHost(), redis.getPort()))) {
      Duration deadline = Duration.ofMillis(takenInTime ? 5_000 : 300);
      HttpService service =
          start(
              proxy.uri(),
              "limiter.redis.deadline",
              deadline.toMillis() + "ms",
              "limiter.policies.short.duplicate.claim",
              "2s");
      if (!takenInTime) {
        proxy.delay(deadline.multipliedBy(2));
      }
      CompletableFuture<Integer> first = submit(service, "short");
      awaitRun(service, 1);
      await().atMost(PATIENCE).until(() -> life() > 0);
      proxy.pass();
      await().during(TIME).atMost(PATIENCE).until(() -> life() > 0);
      proxy.blackHole();
      await()
          .during(TIME.plus(deadline))
          .atMost(PATIENCE)
          .until(() -> submit(service, "short").join() == 409);
      assertThat(life()).as("only this instance knows it").isNegative();

      end(service, "done");
      assertThat(first.join()).isEqualTo(200);
      CompletableFuture<Integer> second = untilItRuns(service, 2);
      end(service, "done");
      assertThat(second.join()).isEqualTo(200);
    }
  }

  /** Its time began with the call, and its end is nearer than that of the claim. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void isKeptForTheRestOfItsTime(boolean inRedis) {
    HttpService one = start(inRedis ? RedisFixture.uri() : "");
    HttpService other = inRedis ? start(RedisFixture.uri()) : one;
    long beforeNanos = System.nanoTime();
    CompletableFuture<Integer> first = submit(one, "short");
    awaitRun(one, 1);
    long begunNanos = System.nanoTime();
    await().during(TIME.minusMillis(700)).atMost(PATIENCE).until(() -> !first.isDone());
    long endNanos = System.nanoTime(); // the rest is computed later, and counts from its arrival
    end(one, "done");
    assertThat(first.join()).isEqualTo(200);
    if (inRedis) {
      long latest = TIME.toMillis() - (endNanos - begunNanos) / 1_000_000;
      assertThat(life()).isLessThanOrEqualTo(Math.max(0, latest) + ROUNDING);
    }

    CompletableFuture<Integer> second = untilItRuns(other, other == one ? 2 : 1);
    assertThat(System.nanoTime() - beforeNanos).isGreaterThanOrEqualTo(TIME.toNanos());
    end(other, "done");
    assertThat(second.join()).isEqualTo(200);
  }

  @ParameterizedTest
  @ValueSource(strings = {"by-caller", "by-argument"})
  void isFreeAfterAFailure(String route) {
    HttpService service = start(RedisFixture.uri());
    CompletableFuture<Integer> first = submit(service, route);
    awaitRun(service, 1);
    end(service, "fail");
    assertThat(first.join()).isEqualTo(500);
    assertThat(life()).isNegative();
    CompletableFuture<Integer> second = submit(service, route);
    awaitRun(service, 2);
    end(service, "done");
    assertThat(second.join()).isEqualTo(200);
  }

  /** A running call keeps to the policy by which it began. */
  @Test
  void aRefreshChangesCallsThatBeginAfterwards() {
    HttpService service = start(RedisFixture.uri());
    CompletableFuture<Integer> first = submit(service, "by-caller");
    awaitRun(service, 1);
    service
        .context()
        .getEnvironment()
        .addPropertySource(
            PropertySource.of(
                "changed", Map.of("limiter.policies.claimed.duplicate.claim", "10m"), 1_000));
    service
        .context()
        .getEventPublisher(RefreshEvent.class)
        .publishEvent(new RefreshEvent(service.context().getEnvironment().refreshAndDiff()));
    await()
        .during(LONGER_THAN_THE_CLAIM)
        .atMost(PATIENCE)
        .until(() -> life() > 0 && life() <= CLAIM);
    assertThat(submit(service, "by-caller").join()).isEqualTo(409);
    end(service, "fail");
    assertThat(first.join()).isEqualTo(500);
    CompletableFuture<Integer> second = submit(service, "by-caller");
    awaitRun(service, 2);
    assertThat(life())
        .isBetween(Duration.ofMinutes(5).toMillis(), Duration.ofMinutes(10).toMillis());
    end(service, "done");
    assertThat(second.join()).isEqualTo(200);
  }

  /** The second one has taken nothing that it could lose. */
  @Test
  void anObservedDuplicateIsNotHeld() {
    try (RecordedLog log = RecordedLog.of("io.limiter.micronaut.call.GuardedSubmissions")) {
      HttpService service = start(RedisFixture.uri(), "limiter.policies.observed.observe", true);
      CompletableFuture<Integer> first = submit(service, "observed");
      awaitRun(service, 1);
      CompletableFuture<Integer> second = submit(service, "observed");
      awaitRun(service, 2);
      await()
          .during(LONGER_THAN_THE_CLAIM)
          .atMost(PATIENCE)
          .until(() -> life() > 0 && log.messages().isEmpty());
      end(service, "done");
      assertThat(first.join()).isEqualTo(200);
      assertThat(second.join()).isEqualTo(200);
      assertThat(log.messages()).isEmpty();
      redis.del(redis.keys(prefix + "*:d.*").get(0));
      CompletableFuture<Integer> lost = submit(service, "observed");
      awaitRun(service, 3);
      redis.del(redis.keys(prefix + "*:d.*").get(0));
      await().atMost(PATIENCE).until(() -> !log.messages().isEmpty());
      end(service, "done");
      assertThat(lost.join()).isEqualTo(200);
    }
  }

  @Test
  void isKeptInMemory() {
    HttpService service = start("");
    CompletableFuture<Integer> first = submit(service, "by-caller");
    awaitRun(service, 1);
    assertThat(submit(service, "by-caller").join()).isEqualTo(409);
    end(service, "done");
    assertThat(first.join()).isEqualTo(200);
    await()
        .during(LONGER_THAN_THE_CLAIM)
        .atMost(PATIENCE)
        .until(() -> submit(service, "by-caller").join() == 409);
  }

  @Test
  void endsWithItsClaimIfRedisIsAwayAtTheEnd() {
    try (RedisProcess own = RedisProcess.onFreePort().start();
        RecordedLog log = RecordedLog.of("io.limiter.micronaut.call.LimitedCall")) {
      HttpService service = start(own.uri(), "limiter.redis.start-timeout", "10s");
      CompletableFuture<Integer> first = submit(service, "by-caller");
      awaitRun(service, 1);
      own.kill();
      end(service, "done");
      assertThat(first.join()).isEqualTo(200);
      assertThat(log.messages())
          .anyMatch(line -> line.startsWith("A submission could not be kept"));
    }
  }
}
