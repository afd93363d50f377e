// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.annotation.Idempotent;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Redis is away when a submission is claimed, while its route runs, or when its answer is kept. */
class ReplayWithoutRedisTest {

  private static final String SPEC = "ReplayWithoutRedisTest";

  private final RedisProcess redis = RedisProcess.onFreePort().start();
  private final HttpService service =
      HttpService.start(
          SPEC,
          HttpService.settings(
              "redis.uri",
              redis.uri(),
              "limiter.redis.key-prefix",
              "t" + UUID.randomUUID().toString().substring(0, 8) + ":",
              "limiter.policies.allowing.fallback",
              "allow",
              "limiter.policies.local.fallback",
              "local"));

  @Controller("/replay")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    private final AtomicInteger runs = new AtomicInteger();
    private volatile CountDownLatch gate = new CountDownLatch(0);

    @Post("/denying")
    @Idempotent(claim = "1s")
    CompletableFuture<String> denying() {
      int run = runs.incrementAndGet();
      CountDownLatch open = gate;
      return CompletableFuture.supplyAsync(
          () -> {
            try {
              assertThat(open.await(20, TimeUnit.SECONDS)).isTrue();
            } catch (InterruptedException e) {
              throw new IllegalStateException(e);
            }
            return "run " + run;
          },
          held -> new Thread(held).start()); // the common pool has one thread on two processors
    }

    @Post("/renewed")
    @Idempotent(claim = "3s")
    CompletableFuture<String> renewed() {
      return denying();
    }

    @Post("/allowing")
    @Idempotent
    @RateLimiter("allowing")
    String allowing() {
      return "run " + runs.incrementAndGet();
    }

    @Post("/local")
    @Idempotent
    @RateLimiter("local")
    String local() {
      return "run " + runs.incrementAndGet();
    }
  }

  @AfterEach
  void close() {
    service.close();
    redis.close();
  }

  private String post(String path, String key) {
    var answer = service.post("/replay/" + path, "{}", "Idempotency-Key", key);
    return answer.statusCode() == 200 ? answer.body() : String.valueOf(answer.statusCode());
  }

  private void awaitRedis() {
    await()
        .atMost(Duration.ofSeconds(20))
        .until(() -> post("denying", UUID.randomUUID().toString()).startsWith("run"));
  }

  @Test
  void thePolicyDecidesForSubmissionsThatCannotBeClaimed() {
    awaitRedis();
    redis.kill();
    assertThat(post("denying", "a")).isEqualTo("503");
    assertThat(post("allowing", "a")).startsWith("run");
    assertThat(post("allowing", "a")).startsWith("run").isNotEqualTo(post("allowing", "a"));
    String first = post("local", "a");
    assertThat(first).startsWith("run");
    assertThat(post("local", "a")).isEqualTo(first);
  }

  @Test
  void anAnswerThatRedisDoesNotTakeReachesItsClient() {
    awaitRedis();
    CountDownLatch open = new CountDownLatch(1);
    service.bean(Routes.class).gate = open;
    var first = service.postAsync("/replay/denying", "{}", "Idempotency-Key", "b");
    int before = service.bean(Routes.class).runs.get();
    await().until(() -> service.bean(Routes.class).runs.get() > before - 1);
    redis.kill();
    open.countDown();
    assertThat(first.join().body()).startsWith("run");
    assertThat(post("denying", "b")).isEqualTo("503");
  }

  /** It outlives its claim of a second: another one may run, and only that one's answer is kept. */
  @Test
  void aRouteThatOutlivesItsClaimKeepsNoAnswer() throws Exception {
    awaitRedis();
    Routes routes = service.bean(Routes.class);
    CountDownLatch open = new CountDownLatch(1);
    routes.gate = open;
    int before = routes.runs.get();
    var slow = service.postAsync("/replay/denying", "{}", "Idempotency-Key", "c");
    await().until(() -> routes.runs.get() == before + 1);
    redis.suspend(); // renewals fail, and Redis' clock goes on
    Thread.sleep(1_500);
    redis.resume();
    routes.gate = new CountDownLatch(0);
    AtomicReference<String> kept = new AtomicReference<>("");
    await() // until one of those that ran since then is repeated
        .atMost(Duration.ofSeconds(20))
        .until(
            () -> {
              String answer = post("denying", "c");
              return answer.equals(kept.getAndSet(answer)) && answer.startsWith("run");
            });
    open.countDown();
    assertThat(slow.join().body()).isEqualTo("run " + (before + 1)).isNotEqualTo(kept.get());
    assertThat(post("denying", "c")).isEqualTo(kept.get());
  }

  @Test
  void aClaimIsRenewedWhileItsRouteRuns() {
    awaitRedis();
    Routes routes = service.bean(Routes.class);
    CountDownLatch open = new CountDownLatch(1);
    routes.gate = open;
    int before = routes.runs.get();
    var slow = service.postAsync("/replay/renewed", "{}", "Idempotency-Key", "d");
    await().until(() -> routes.runs.get() == before + 1);
    for (int i = 0; i < 2; i++) {
      assertThat(post("renewed", "d")).as("after two seconds of waiting").isEqualTo("409");
    }
    assertThat(routes.runs).hasValue(before + 1);
    open.countDown();
    assertThat(slow.join().body()).isEqualTo(post("renewed", "d"));
  }
}
