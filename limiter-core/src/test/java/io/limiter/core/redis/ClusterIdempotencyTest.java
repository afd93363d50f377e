// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static io.limiter.core.idempotency.IdempotencyStoreContract.join;
import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.SlotHash;
import io.limiter.core.Claim;
import io.limiter.core.Claim.State;
import io.limiter.core.LimitRequest;
import io.limiter.core.Policy;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.Submission;
import io.limiter.core.Verdict;
import io.limiter.core.idempotency.IdempotencyStore;
import io.limiter.core.idempotency.IdempotencyStoreContract;
import io.limiter.core.redis.cluster.ClusterConnections;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.store.Mode;
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
              Claim claim = join(store().claim(new Submission(key, SAME, MINUTE)));
              assertThat(claim.state()).isEqualTo(State.CLAIMED);
              assertThat(answer(claim, "answer-" + i)).isTrue();
              assertThat(
                      new String(join(store().claim(new Submission(key, SAME, MINUTE))).answer()))
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
      Claim meanwhile = join(store().claim(new Submission(later, SAME, MINUTE)));
      assertThat(meanwhile.state()).isEqualTo(State.CLAIMED);
      assertThat(renew(before, HOUR)).isTrue();
      assertThat(answer(before, "before")).isTrue();
      assertAnswered("before", HOUR);
      assertThat(release(meanwhile)).isTrue();
      assertThat(join(store().claim(new Submission(later, OTHER, MINUTE))).state())
          .isEqualTo(State.CLAIMED);
    } finally {
      move.end();
    }
    assertAnswered("before", HOUR);
    assertThat(join(store().claim(new Submission(later, OTHER, MINUTE))).state())
        .isEqualTo(State.RUNNING);
    join(store().forget(KEY));
    claimed();
  }

  /** Of one subject and limit key; otherwise the store does not claim. */
  @Test
  void aSubmissionIsClaimedWithTheDecisionIfAllKeysAreInItsSlot() {
    IdempotencyStore answers = store();
    LimitRequest own = call(new Subject("user", "ann"));
    LimitRequest other = call(new Subject("user", "bob"));
    Submission order = new Submission(own.charge(0).key().answers("order"), SAME, MINUTE);
    assertThat(limits.claims(own.submitting(order))).isTrue();
    assertThat(limits.claims(other.submitting(order))).isFalse();
    assertThat(limits.claims(own.and(other).submitting(order))).isFalse();

    Verdict first = join(limits.decide(own.submitting(order), Mode.ACQUIRE));
    assertThat(first.claim().orElseThrow().state()).isEqualTo(State.CLAIMED);
    assertThat(answer(first.claim().orElseThrow(), "answer")).isTrue();
    Verdict second = join(limits.decide(own.submitting(order), Mode.ACQUIRE));
    assertThat(second.isRepetition()).isTrue();
    assertThat(join(limits.decide(own, Mode.PEEK)).rules().get(0).remaining()).isEqualTo(1);
    assertThat(answers).isSameAs(store());
  }

  /** Redis decides about several keys of a slot that migrates only if all of them are there. */
  @Test
  void whileItsSlotMigratesACallIsDecidedWithoutItsSubmission() {
    assertThat(store()).isNotNull();
    LimitRequest call = call(new Subject("user", "ann"));
    StateKey key = call.charge(0).key();
    SlotMove move = SlotMove.of(group, SlotHash.getSlot(SETTINGS.name(key)));
    Submission order = new Submission(key.answers("order"), SAME, MINUTE);
    assertThat(join(limits.decide(call, Mode.ACQUIRE)).allowed()).isTrue();
    move.begin();
    try {
      Verdict verdict = join(limits.decide(call.submitting(order), Mode.ACQUIRE));
      assertThat(verdict.allowed()).isTrue();
      assertThat(verdict.claim()).isEmpty();
      assertThat(join(store().claim(order)).state()).isEqualTo(State.CLAIMED);
    } finally {
      move.end();
    }
    assertThat(join(limits.decide(call.submitting(order), Mode.ACQUIRE)).isRepetition()).isTrue();
  }

  private static LimitRequest call(Subject subject) {
    return LimitRequest.of(Policy.of("orders", SlidingWindowLogRule.of(2, MINUTE)), subject);
  }
}
