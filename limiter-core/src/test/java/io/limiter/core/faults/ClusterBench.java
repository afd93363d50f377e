// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import static io.limiter.core.faults.FaultBench.HOUR;
import static io.limiter.core.faults.FaultBench.NOISE;
import static io.limiter.core.faults.FaultBench.call;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.SlotHash;
import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.outage.FallbackStore;
import io.limiter.core.redis.AuditedStore;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.RedisStore;
import io.limiter.core.redis.TestRedis;
import io.limiter.core.redis.cluster.ClusterConnections;
import io.limiter.core.testing.ClusterGroup;
import io.limiter.core.testing.RedisProcess;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.stream.IntStream;

/** A limiter as an application uses it, on a Redis Cluster of its own. */
final class ClusterBench implements AutoCloseable {

  /**
   * The time limit in which the replica of a lost primary decides: the time until the others
   * consider it lost, as much again for the election, and two seconds of the limiter's own.
   */
  static final Duration REPLACED = ClusterGroup.NODE_TIMEOUT.multipliedBy(2).plusSeconds(2);

  final ClusterGroup group;
  final ClusterConnections connections;
  final LimitStore store;
  final LimitStore limiter;

  private ClusterBench(ClusterGroup group, boolean audited, Duration deadline) {
    RedisSettings settings = new RedisSettings(RedisSettings.DEFAULT_PREFIX, deadline);
    this.group = group;
    this.connections =
        ClusterConnections.open(group.uris().stream().map(RedisURI::create).toList(), settings);
    this.store =
        audited
            ? AuditedStore.ofCluster(connections, deadline)
            : new RedisStore(connections, settings);
    this.limiter = new FallbackStore(store, new MemoryStore());
    assertThat(connections.firstAttempt()).succeedsWithin(Duration.ofSeconds(10)).isEqualTo(true);
  }

  /** Connected and warm; closes the Cluster, too. */
  static ClusterBench on(ClusterGroup group) {
    return new ClusterBench(group, false, FaultBench.DEADLINE);
  }

  /** The same with a deadline for a healthy Cluster. */
  static ClusterBench patient(ClusterGroup group) {
    return new ClusterBench(group, false, FaultBench.PATIENT);
  }

  /** The same with a record of what ran; not for slots that move, where that is a key too many. */
  static ClusterBench audited(ClusterGroup group) {
    return new ClusterBench(group, true, FaultBench.DEADLINE);
  }

  Verdict ask(LimitRequest call) {
    return limiter.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
  }

  /** Units taken under the keys of this call, according to Redis: one number for each charge. */
  List<Long> used(LimitRequest call) {
    Verdict verdict = store.decide(call, Mode.PEEK).toCompletableFuture().join();
    return verdict.rules().stream().map(rule -> rule.rule().count() - rule.remaining()).toList();
  }

  static int slot(LimitRequest call) {
    return SlotHash.getSlot(AuditedStore.name(call.charge(0).key()));
  }

  /** The primary that a call is decided by. */
  RedisProcess owner(LimitRequest call) {
    return group.owner(slot(call));
  }

  /**
   * Calls of so many subjects, whose keys are with one of the primaries as they were at the start.
   */
  static List<LimitRequest> callsOf(int primary, int subjects, long count, Duration window) {
    return IntStream.iterate(0, i -> i + 1)
        .mapToObj(i -> call("user-" + i, count, window))
        .filter(call -> slot(call) * ClusterGroup.PRIMARIES / SlotHash.SLOT_COUNT == primary)
        .limit(subjects)
        .toList();
  }

  /** Names of so many subjects whose keys are in this slot. */
  static List<String> subjectsIn(int slot, int subjects) {
    return IntStream.iterate(0, i -> i + 1)
        .mapToObj(i -> "user-" + i)
        .filter(name -> slot(call(name, 1, HOUR)) == slot)
        .limit(subjects)
        .toList();
  }

  /** Redis decides these calls again; returns how long it took. */
  Duration assertReplaced(Collection<LimitRequest> calls) {
    long began = System.nanoTime();
    for (LimitRequest call : calls) {
      await()
          .pollInterval(Duration.ofMillis(20))
          .atMost(REPLACED.multipliedBy(NOISE))
          .until(() -> ask(call).decidedBy() == DecidedBy.STORE);
    }
    return Duration.ofNanos(System.nanoTime() - began);
  }

  /** No script ran twice on one key, according to the nodes that are up. */
  void assertNothingRanTwice() {
    for (RedisProcess server : group.servers()) {
      if (server.isRunning()) {
        for (String list : TestRedis.keys(group.admin(server), AuditedStore.AUDIT + "*")) {
          if (group.owner(SlotHash.getSlot(list)) == server) {
            assertThat(OverAdmissionChecker.repeated(group.admin(server).lrange(list, 0, -1)))
                .isEmpty();
          }
        }
      }
    }
  }

  @Override
  public void close() {
    limiter.close();
    group.close();
  }
}
