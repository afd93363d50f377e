// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.sync.RedisCommands;
import io.limiter.core.DecidedBy;
import io.limiter.core.Verdict;
import io.limiter.core.testing.RedisProcess;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Redis may lose its scripts at any time, without any effect on calls. */
class ScriptLossTest {

  private final RedisProcess redis = RedisProcess.onFreePort().start();
  private final RedisClient client = RedisClient.create(redis.uri());
  private final RedisCommands<String, String> commands = client.connect().sync();

  /** A busy machine is no matter here, so the deadline is long. */
  private final Service service = Service.start(redis, "limiter.redis.deadline", "10s");

  @AfterEach
  void close() {
    service.close();
    client.shutdown();
    redis.close();
  }

  @Test
  void theNextCallIsDecidedInRedis() {
    for (int i = 1; i <= 3; i++) {
      commands.scriptFlush();
      Verdict verdict = service.call();

      assertThat(verdict.decidedBy()).isEqualTo(DecidedBy.STORE);
      assertThat(verdict.rules().get(0).remaining()).isEqualTo(Service.COUNT - i);
    }
  }

  @Test
  void itIsSentAgainOnlyOnceForEachLoss() {
    commands.scriptFlush();
    commands.configResetstat();

    service.call();
    service.call();

    assertThat(commands.info("commandstats"))
        .contains("cmdstat_eval:calls=1,")
        .containsPattern("cmdstat_evalsha:calls=2,");
  }

  @Test
  void callsAtTheSameTimeAreCountedExactly() {
    List<CompletableFuture<Verdict>> calls = new ArrayList<>();
    for (int i = 0; i < 4 * Service.COUNT; i++) {
      if (i % 10 == 0) {
        commands.scriptFlush();
      }
      calls.add(service.calling());
    }
    List<Verdict> verdicts = calls.stream().map(CompletableFuture::join).toList();

    assertThat(verdicts).extracting(Verdict::decidedBy).doesNotContain(DecidedBy.FALLBACK);
    assertThat(verdicts).filteredOn(Verdict::allowed).hasSize(Service.COUNT);
    assertThat(service.used()).isEqualTo(Service.COUNT);
  }
}
