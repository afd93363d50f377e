// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static io.limiter.core.StoreHarness.HOUR;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisURI;
import io.limiter.core.Mode;
import io.limiter.core.Verdict;
import io.limiter.core.testing.RedisProcess;
import io.limiter.core.testing.TypedCommand;
import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Managed services refuse commands. None of these is needed to decide. */
class RefusedCommandsTest {

  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final Pattern EVALSHA = Pattern.compile("cmdstat_evalsha:calls=(\\d+),");

  private final MultiThreadIoEventLoopGroup group =
      new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  private final EventLoop loop = (EventLoop) group.iterator().next();
  private RedisProcess redis = RedisProcess.onFreePort();

  @AfterEach
  void close() {
    group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    redis.close();
  }

  private RedisStore store() {
    RedisSettings settings = new RedisSettings(RedisSettings.DEFAULT_PREFIX, PATIENCE);
    LoopConnections connections =
        LoopConnections.open(List.of(loop), RedisURI.create(redis.uri()), settings);
    assertThat(connections.firstAttempt().toCompletableFuture())
        .succeedsWithin(PATIENCE)
        .isEqualTo(true);
    return new RedisStore(connections, settings);
  }

  /** Decisions of one turn of the event loop. */
  private List<Verdict> decideTogether(RedisStore store) {
    CompletableFuture<List<CompletableFuture<Verdict>>> sent = new CompletableFuture<>();
    loop.execute(
        () ->
            sent.complete(
                IntStream.range(0, 8)
                    .mapToObj(i -> call("subject-" + i, rule(100, HOUR)))
                    .map(call -> store.decide(call, Mode.ACQUIRE).toCompletableFuture())
                    .toList()));
    return sent.join().stream()
        .map(one -> one.orTimeout(PATIENCE.toSeconds(), TimeUnit.SECONDS).join())
        .toList();
  }

  private void assertDecides(RedisStore store) {
    assertThat(decideTogether(store)).hasSize(8).allMatch(Verdict::allowed);
    Verdict verdict =
        store.decide(call("alone", rule(5, HOUR)), Mode.ACQUIRE).toCompletableFuture().join();
    assertThat(verdict.rules().get(0).remaining()).isEqualTo(4);
    assertHealthy(store);
  }

  private static void assertHealthy(RedisStore store) {
    assertThat(store.health().check().toCompletableFuture().join())
        .allSatisfy(node -> assertThat(node.failure()).isEmpty());
  }

  @ParameterizedTest
  @ValueSource(strings = {"CLIENT", "EVAL", "HELLO", "PING", "SCRIPT", "UNLINK"})
  void whereACommandIsMissingRedisDecides(String command) {
    redis = RedisProcess.onFreePort("--rename-command", command, "");
    redis.start();
    try (RedisStore store = store()) {
      assertDecides(store);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"client", "eval", "info", "ping", "script", "unlink"})
  void whereTheUserMayNotRunACommandRedisDecides(String command) throws IOException {
    redis.start();
    assertThat(TypedCommand.reply(redis.port(), "ACL SETUSER default -" + command))
        .startsWith("+OK");
    try (RedisStore store = store()) {
      assertDecides(store);
    }
  }

  /** The first that meet are sent one by one, with their script. */
  @Test
  void decisionsShareACommandWhereScriptsCannotBeLoaded() {
    redis = RedisProcess.onFreePort("--rename-command", "SCRIPT", "");
    redis.start();
    try (RedisStore store = store()) {
      assertThat(decideTogether(store)).allMatch(Verdict::allowed);
      await()
          .atMost(PATIENCE)
          .untilAsserted(
              () -> {
                long before = evalsha();
                assertThat(decideTogether(store)).allMatch(Verdict::allowed);
                assertThat(evalsha() - before).isOne();
              });
    }
  }

  private long evalsha() throws IOException {
    Matcher found = EVALSHA.matcher(TypedCommand.reply(redis.port(), "INFO commandstats"));
    return found.find() ? Long.parseLong(found.group(1)) : 0;
  }

  /** The next server does not have the scripts. */
  @Test
  void aReconnectionIsUsedWhereScriptsCannotBeLoaded() {
    redis = RedisProcess.onFreePort("--rename-command", "SCRIPT", "");
    redis.start();
    try (RedisStore store = store()) {
      assertDecides(store);
      redis.kill();
      redis.start();
      await().atMost(PATIENCE).ignoreExceptions().untilAsserted(() -> assertHealthy(store));
      assertDecides(store);
    }
  }

  /** The deadline of all policies, before which a script that is missing is sent. */
  @Test
  void unitsAreRefundedAndCountsResetWhereScriptsCannotBeLoaded() {
    redis = RedisProcess.onFreePort("--rename-command", "SCRIPT", "");
    redis.start();
    try (RedisStore store = store()) {
      var call = call("order", rule(5, HOUR));
      Verdict verdict = store.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
      assertThat(verdict.reservation().refund().toCompletableFuture().join()).isOne();
      store.reset(List.of(call.charge(0).key())).toCompletableFuture().join();
      Verdict next = store.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
      assertThat(next.rules().get(0).remaining()).isEqualTo(4);
    }
  }
}
