// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static io.limiter.core.idempotency.IdempotencyStoreContract.join;
import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.SlotHash;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.idempotency.Claim;
import io.limiter.core.idempotency.Claim.State;
import io.limiter.core.idempotency.IdempotencyStore;
import io.limiter.core.idempotency.IdempotencyStoreContract;
import io.limiter.core.redis.cluster.ClusterConnections;
import io.limiter.core.testing.ClusterGroup;
import io.limiter.core.testing.SlotMove;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Claims and answers on a Redis Cluster. */
@Tag("matrix")
class ClusterIdempotencyTest implements IdempotencyStoreContract {

  private static final Duration READY = Duration.ofSeconds(20);
  private static final RedisSettings SETTINGS = new RedisSettings("test:", Duration.ofSeconds(10));
  private static final int SLOT = SlotHash.getSlot(SETTINGS.name(KEY));

  private static ClusterGroup group;
  private static RedisStore limits;

  @BeforeAll
  static void connect() {
    group = ClusterGroup.withoutReplicas();
    ClusterConnections connections =
        ClusterConnections.open(group.uris().stream().map(RedisURI::create).toList(), SETTINGS);
    assertThat(connections.firstAttempt()).succeedsWithin(READY).isEqualTo(true);
    limits = new RedisStore(connections, SETTINGS);
  }

  @AfterAll
  static void disconnect() {
    limits.close();
    group.close();
  }

  @AfterEach
  void forgetAll() {
    group.servers().forEach(server -> group.admin(server).flushall());
  }

  @Override
  public IdempotencyStore store() {
    return limits.idempotency();
  }

  /** On whichever node the key is. */
  @Override
  public void pass(Duration time) {
    String name = new String(SETTINGS.name(KEY), StandardCharsets.US_ASCII);
    group.servers().stream()
        .map(group::admin)
        .filter(node -> !node.clusterGetKeysInSlot(SLOT, 1).isEmpty())
        .forEach(node -> node.pexpire(name, node.pttl(name) - time.toMillis()));
  }

  @Test
  void anAnswerIsInTheSlotOfItsSubject() {
    assertThat(SLOT).isEqualTo(SlotHash.getSlot(SETTINGS.name(SUBJECT)));
  }

  @Test
  void eachSubmissionIsKeptByTheNodeOfItsSlot() {
    assertThat(IntStream.range(0, 30))
        .allSatisfy(
            i -> {
              StateKey key = StateKey.of("orders", new Subject("user", "user-" + i)).answers("key");
              Claim claim = join(store().claim(key, SAME, MINUTE));
              assertThat(claim.state()).isEqualTo(State.CLAIMED);
              assertThat(answer(claim, "answer-" + i)).isTrue();
              assertThat(new String(join(store().claim(key, SAME, MINUTE)).answer()))
                  .isEqualTo("answer-" + i);
            });
    assertThat(group.servers())
        .allSatisfy(server -> assertThat(group.admin(server).dbsize()).isPositive());
  }

  /** A claim of before that stays or moves, and one that is made in the meantime. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void claimsAreKeptWhileTheirSlotMigrates(boolean moved) {
    StateKey later = SUBJECT.answers("later");
    Claim before = claimed();
    SlotMove move = SlotMove.of(group, SLOT);
    move.begin();
    try {
      if (moved) {
        move.moveKeys();
      }
      assertRuns(MINUTE);
      Claim meanwhile = join(store().claim(later, SAME, MINUTE));
      assertThat(meanwhile.state()).isEqualTo(State.CLAIMED);
      assertThat(renew(before, HOUR)).isTrue();
      assertThat(answer(before, "before")).isTrue();
      assertAnswered("before", HOUR);
      assertThat(release(meanwhile)).isTrue();
      assertThat(join(store().claim(later, OTHER, MINUTE)).state()).isEqualTo(State.CLAIMED);
    } finally {
      move.end();
    }
    assertAnswered("before", HOUR);
    assertThat(join(store().claim(later, OTHER, MINUTE)).state()).isEqualTo(State.RUNNING);
    join(store().forget(KEY));
    claimed();
  }
}
