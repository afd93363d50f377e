// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import static io.limiter.core.StoreHarness.units;
import static io.limiter.core.faults.FaultAssertions.assertAnsweredInTime;
import static io.limiter.core.faults.FaultAssertions.assertNotOverAdmitted;
import static io.limiter.core.faults.LimiterBench.HOUR;
import static io.limiter.core.faults.LimiterBench.call;
import static io.limiter.core.faults.LimiterBench.leased;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Verdict;
import io.limiter.core.lease.LeaseStore;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.testing.FaultProxy;
import io.limiter.core.testing.RedisProcess;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Redis replies before its replicas have received its writes. */
@Tag("faults")
class LostWritesTest {

  private static final int COUNT = 100;
  private static final int LEASED = 1_000;
  private static final LimitRequest CALL = call("lost-writes", COUNT, HOUR);

  @Test
  @DisplayName(
      "F18: two failovers in one window, each loses what was written since a moment before")
  void eachFailoverGivesTheCountOnceMore() {
    try (SentinelBench bench = SentinelBench.start()) {
      List<TimedVerdict> answers = new ArrayList<>();
      for (int loss = 0; loss < 2; loss++) {
        try (FaultProxy link = bench.replicateThrough()) {
          link.blackHoleOpenConnections();
          answers.addAll(Load.burst(bench.limiter, CALL, 2 * COUNT));
          RedisProcess lost = bench.group.primary();
          assertThat(bench.used(CALL)).as("counted by the primary alone").isEqualTo(COUNT);

          lost.kill();
          bench.group.awaitPrimaryInsteadOf(lost);
          bench.assertHeals();
        }
        assertThat(bench.used(CALL)).as("what the new primary knows").isZero();
      }
      answers.addAll(Load.burst(bench.limiter, CALL, 2 * COUNT));

      assertAnsweredInTime(answers);
      assertNotOverAdmitted(answers, DecidedBy.STORE, 3 * COUNT, HOUR);
      bench.assertNothingRanTwice();
    }
  }

  /**
   * Each of two instances holds a lease that was replicated, and the next one, which was not: its
   * units are what the new primary does not know.
   */
  @Test
  @DisplayName("F18: a failover loses the last lease of two instances, which they spend meanwhile")
  void leasesAddNoMoreThanTheirUnits() {
    try (SentinelBench bench = SentinelBench.start()) {
      LimitRequest call = leased(SlidingWindowLogRule.of(LEASED, HOUR), Duration.ofSeconds(10));
      List<Instance> instances =
          List.of(new Instance(bench.limiter, call), new Instance(bench.another(), call));
      instances.forEach(Instance::awaitGrant);
      bench.awaitReplicated();
      RedisProcess lost = bench.group.primary();
      long known = bench.used(call);
      long counted;
      try (FaultProxy link = bench.replicateThrough()) {
        link.blackHoleOpenConnections();
        for (Instance instance : instances) {
          long before = units(instance.leases).granted();
          instance.awaitGrant();
          assertThat(units(instance.leases).granted() - before)
              .as("the next lease, of a quarter of what was left at the last grant")
              .isBetween(1L, LEASED / 4L);
        }
        counted = bench.used(call);
        lost.kill();
        instances.forEach(Instance::spendAll);
        bench.group.awaitPrimaryInsteadOf(lost);
        bench.assertHeals();
        instances.forEach(instance -> SentinelBench.awaitDecided(instance.leases));
      }
      assertThat(bench.used(call)).as("what the new primary knows").isEqualTo(known);
      long calls = 0;
      while (instances.stream().filter(Instance::call).count() > 0) {
        assertThat(++calls).as("calls until all are denied").isLessThan(3 * LEASED);
      }

      long admitted = instances.stream().mapToLong(instance -> instance.admitted).sum();
      assertThat(admitted).isBetween(LEASED + 1L, LEASED + counted - known);
    }
  }

  /** An instance with leases, which makes calls one by one. */
  private static final class Instance {

    private final LeaseStore leases;
    private final LimitRequest request;
    private long admitted;
    private long spent;

    Instance(LimitStore store, LimitRequest request) {
      this.leases = new LeaseStore(store);
      this.request = request;
    }

    /** Makes a call; returns whether it was admitted. */
    boolean call() {
      Verdict verdict = leases.decide(request, Mode.ACQUIRE).toCompletableFuture().join();
      admitted += verdict.allowed() ? 1 : 0;
      spent += verdict.decidedBy() == DecidedBy.LEASE ? 1 : 0;
      return verdict.allowed();
    }

    /** Makes calls until a lease is granted. */
    void awaitGrant() {
      long before = units(leases).granted();
      await()
          .pollDelay(Duration.ZERO)
          .pollInterval(Duration.ofMillis(1))
          .until(() -> call() && units(leases).granted() > before);
    }

    /** Spends what is left of its leases. */
    void spendAll() {
      while (spent < units(leases).granted()) {
        long before = spent;
        assertThat(call()).isTrue();
        assertThat(spent).as("spent without Redis").isEqualTo(before + 1);
      }
    }
  }
}
