// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.limiter.core.testing.FaultProxy;
import io.limiter.core.testing.RedisProcess;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Redis fails just as the method ends: the client has its response, and the method runs once. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class EndsOverHttpTest {

  private static final String SPEC = "EndsOverHttpTest";
  private static final String KEY = "Idempotency-Key";

  private enum Fault {
    CONNECTIONS_RESET,
    NO_REPLY,
    ONE_REPLY_LOST,
    SLOW,
    NO_REPLICAS,
    OUT_OF_MEMORY,
    READ_ONLY,
    PAUSED
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Runs {
    final AtomicInteger count = new AtomicInteger();
    volatile CountDownLatch gate = new CountDownLatch(0);
  }

  @Controller("/ends")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    private final Runs runs;

    Routes(Runs runs) {
      this.runs = runs;
    }

    @Post
    @Idempotent(claim = "10s", maxWait = "0s")
    @ExecuteOn(TaskExecutors.BLOCKING)
    String run() throws InterruptedException {
      int run = runs.count.incrementAndGet();
      runs.gate.await(20, TimeUnit.SECONDS);
      return "run " + run;
    }
  }

  private final RedisProcess redis = RedisProcess.onFreePort();
  private FaultProxy proxy;
  private IdempotentService server;
  private RedisClient client;
  private StatefulRedisConnection<String, String> direct;

  @BeforeAll
  void start() {
    redis.start();
    proxy = new FaultProxy(RedisURI.create(redis.uri()).getPort());
    client = RedisClient.create(redis.uri());
    direct = client.connect();
    server =
        IdempotentService.start(
            SPEC,
            Map.of(
                "redis.uri",
                proxy.uri(),
                "limiter.redis.deadline",
                "200ms",
                "limiter.idempotency.anonymous-by-address",
                true));
  }

  @AfterAll
  void stop() {
    server.close();
    client.shutdown();
    proxy.close();
    redis.close();
  }

  private void begin(Fault fault) {
    switch (fault) {
      case CONNECTIONS_RESET -> {
        proxy.rejectConnections();
        proxy.reset();
      }
      case NO_REPLY -> proxy.blackHole();
      case ONE_REPLY_LOST -> proxy.swallowReplyAfter(0);
      case SLOW -> proxy.delay(Duration.ofMillis(500));
      case NO_REPLICAS -> direct.sync().configSet("min-replicas-to-write", "1");
      case OUT_OF_MEMORY -> direct.sync().configSet("maxmemory", "1");
      case READ_ONLY -> direct.sync().replicaof("127.0.0.1", 1);
      case PAUSED -> redis.suspend();
    }
  }

  private void end(Fault fault) {
    switch (fault) {
      case CONNECTIONS_RESET, NO_REPLY, ONE_REPLY_LOST, SLOW -> proxy.pass();
      case NO_REPLICAS -> direct.sync().configSet("min-replicas-to-write", "0");
      case OUT_OF_MEMORY -> direct.sync().configSet("maxmemory", "0");
      case READ_ONLY -> direct.sync().replicaofNoOne();
      case PAUSED -> redis.resume();
    }
  }

  @ParameterizedTest
  @EnumSource(Fault.class)
  void theEndIsWrittenUntilRedisHasIt(Fault fault) throws Exception {
    Runs runs = server.bean(Runs.class);
    runs.count.set(0);
    runs.gate = new CountDownLatch(1);
    String key = UUID.randomUUID().toString();
    var attempts = new AtomicReference<>(server.postAsync("/ends", "", KEY, key));
    await()
        .until(
            () -> {
              if (attempts.get().isDone()) { // 503, until Redis is back from the fault before
                assertThat(attempts.get().join().statusCode()).isEqualTo(503);
                attempts.set(server.postAsync("/ends", "", KEY, key));
              }
              return runs.count.get() == 1;
            });
    var first = attempts.get();
    begin(fault);
    long ended = System.nanoTime();
    runs.gate.countDown();
    assertThat(first.join().body()).isEqualTo("run 1");
    assertThat(Duration.ofNanos(System.nanoTime() - ended)).isLessThan(Duration.ofSeconds(5));
    Thread.sleep(2_000);
    end(fault);
    await()
        .atMost(Duration.ofSeconds(40))
        .pollInterval(Duration.ofMillis(200))
        .untilAsserted(
            () -> {
              var again = server.post("/ends", "", KEY, key);
              if (fault == Fault.OUT_OF_MEMORY) { // there is room for the end, but no answer
                assertThat(again.body()).contains("idempotent_answer_unavailable");
                return;
              }
              assertThat(again.headers().firstValue("Idempotency-Replayed")).contains("true");
              assertThat(again.body()).isEqualTo("run 1");
            });
    assertThat(runs.count).hasValue(1);
  }
}
