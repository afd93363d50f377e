// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.lease;

import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.denycache.DenyCache;
import io.limiter.core.lease.LeaseStore;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.rule.Rule;
import io.limiter.core.store.DelegatingStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Many instances in simulated time: each has the stores of a service, a {@link DenyCache} in front
 * of a {@link LeaseStore}, and all share one {@link MemoryStore} in the place of Redis. Only time,
 * the network and the callers are models: calls come at random times to random instances, by
 * subjects with Zipf's distribution, and a command runs half a round trip after it was sent. How
 * long Redis is busy does not delay a command.
 *
 * <p>The same setting always gives the same result.
 */
final class Simulation {

  private static final long SEED = 43;

  /** The time of day at which it begins, a multiple of all windows. */
  private static final long START_MICROS = 1_700_000_000_000_000L;

  /**
   * What is simulated.
   *
   * @param calls a second, of all instances together
   * @param subjects the one of rank r has a part of the calls that is proportional to 1 / r
   * @param rule of each subject
   * @param lease zero if there is none
   * @param warmUp not counted
   * @param time counted
   */
  record Setting(
      int instances,
      int calls,
      int subjects,
      Rule rule,
      Duration lease,
      Duration roundTrip,
      Duration warmUp,
      Duration time) {}

  /**
   * What was counted.
   *
   * @param calls of all instances
   * @param leased the calls that were decided by a lease
   * @param decisions scripts that decided one call
   * @param grants scripts that were asked for a lease
   * @param refusals the grants that were refused
   * @param givenBack scripts that gave units back
   * @param hot for each time of a lease, the pairs of an instance and a subject that spent one
   * @param possible units that the rules allow, and that callers have asked for
   * @param admitted the units of these that were admitted
   */
  record Outcome(
      Setting setting,
      long calls,
      long leased,
      long decisions,
      long grants,
      long refusals,
      long givenBack,
      long hot,
      long possible,
      long admitted) {

    long scripts() {
      return decisions + grants + givenBack;
    }

    double scriptsOfCall() {
      return (double) scripts() / (double) calls;
    }

    double leasedPart() {
      return (double) leased / (double) calls;
    }

    double scriptsPerSecond() {
      return (double) scripts() * 1e9 / (double) setting.time.toNanos();
    }

    /** How many scripts a lease took: its grant, and what gave its units back. */
    double scriptsOfLease() {
      return hot == 0 ? 0 : (double) (grants + givenBack) / (double) hot;
    }

    double admittedPart() {
      return (double) admitted / (double) possible;
    }
  }

  private record Event(long nanos, long number, Runnable action) implements Comparable<Event> {
    @Override
    public int compareTo(Event other) {
      int byTime = Long.compare(nanos, other.nanos);
      return byTime != 0 ? byTime : Long.compare(number, other.number);
    }
  }

  private final Setting setting;
  private final SplittableRandom random = new SplittableRandom(SEED);
  private final Policy policy;
  private final @Nullable LimitRequest[] requests;
  private final double[] upTo;
  private final List<LimitStore> instances = new ArrayList<>();
  private final PriorityQueue<Event> events = new PriorityQueue<>();
  private final Set<Long> hotPairs = new HashSet<>();
  private final int[] asked;
  private final int[] admittedOf;
  private long number;
  private long nowNanos;

  private long calls;
  private long leased;
  private long decisions;
  private long grants;
  private long refusals;
  private long givenBack;
  private long hot;
  private long possible;
  private long admitted;

  private Simulation(Setting setting) {
    this.setting = setting;
    Policy exact = Policy.of("simulated", setting.rule);
    this.policy =
        setting.lease.isZero()
            ? exact
            : exact.withStacks(List.of(exact.stacks().get(0).withLease(setting.lease)));
    this.requests = new @Nullable LimitRequest[setting.subjects];
    this.asked = new int[setting.subjects];
    this.admittedOf = new int[setting.subjects];
    this.upTo = new double[setting.subjects];
    double sum = 0;
    for (int rank = 0; rank < upTo.length; rank++) {
      sum += 1.0 / (rank + 1);
      upTo[rank] = sum;
    }
    Network network =
        new Network(
            new MemoryStore(setting.subjects + 1_000, () -> START_MICROS + nowNanos / 1_000));
    for (int i = 0; i < setting.instances; i++) {
      instances.add(
          new DenyCache(
              new LeaseStore(network, () -> nowNanos),
              of -> true,
              DenyCache.DEFAULT_SIZE,
              DenyCache.MAX_AGE,
              () -> nowNanos));
    }
  }

  static Outcome run(Setting setting) {
    return new Simulation(setting).run();
  }

  private Outcome run() {
    long window = setting.rule.window().toNanos();
    long slot = setting.lease.isZero() ? Long.MAX_VALUE / 2 : setting.lease.toNanos();
    long begin = setting.warmUp.toNanos();
    long end = begin + setting.time.toNanos();
    long nextWindow = window;
    long nextSlot = slot;
    boolean counting = false;
    double gap = 1e9 / setting.calls;
    double next = 0;
    while (true) {
      next -= StrictMath.log(1 - random.nextDouble()) * gap; // the same on each machine
      long at = (long) next;
      long until = Math.min(at, end);
      while (!events.isEmpty() && events.peek().nanos <= until) {
        Event event = events.poll();
        nowNanos = event.nanos;
        event.action.run();
      }
      nowNanos = until;
      for (; nextSlot <= nowNanos; nextSlot += slot) {
        hot += hotPairs.size();
        hotPairs.clear();
      }
      for (; nextWindow <= nowNanos; nextWindow += window) {
        endWindow();
      }
      if (!counting && nowNanos >= begin) {
        counting = true;
        forget();
      }
      if (at >= end) {
        break;
      }
      call();
    }
    if (end % window != 0) {
      endWindow();
    }
    return new Outcome(
        setting, calls, leased, decisions, grants, refusals, givenBack, hot, possible, admitted);
  }

  /** What came before does not count. */
  private void forget() {
    calls = leased = decisions = grants = refusals = givenBack = hot = possible = admitted = 0;
  }

  private void endWindow() {
    long count = setting.rule.count();
    for (int rank = 0; rank < asked.length; rank++) {
      if (asked[rank] > 0) {
        possible += Math.min(count, asked[rank]);
        admitted += admittedOf[rank];
        asked[rank] = 0;
        admittedOf[rank] = 0;
      }
    }
  }

  private void call() {
    int rank = rank();
    int instance = random.nextInt(setting.instances);
    calls++;
    asked[rank]++;
    LimitRequest request = requests[rank];
    if (request == null) {
      request = LimitRequest.of(policy, new Subject("user", Integer.toString(rank)));
      requests[rank] = request;
    }
    CompletionStage<Verdict> decided = instances.get(instance).decide(request, Mode.ACQUIRE);
    var unused =
        decided.thenAccept(
            verdict -> {
              if (verdict.allowed()) {
                admittedOf[rank]++;
              }
              if (verdict.decidedBy() == DecidedBy.LEASE) {
                leased++;
                hotPairs.add((long) rank * setting.instances + instance);
              }
            });
  }

  private int rank() {
    double at = random.nextDouble() * upTo[upTo.length - 1];
    int low = 0;
    int high = upTo.length - 1;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (upTo[middle] > at) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  /** The way to the store and back; counts the commands. */
  private final class Network extends DelegatingStore {

    Network(LimitStore store) {
      super(store);
    }

    @Override
    public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
      decisions++;
      return send(() -> store.decide(request, mode));
    }

    @Override
    public CompletionStage<Grant> lease(LimitRequest units, Duration time) {
      grants++;
      return send(
          () ->
              store
                  .lease(units, time)
                  .thenApply(
                      grant -> {
                        refusals += grant.isGranted() ? 0 : 1;
                        return new Grant(
                            grant.verdict(),
                            grant.micros(),
                            some -> {
                              givenBack++;
                              return send(() -> grant.giveBack().apply(some));
                            });
                      }));
    }

    private <T> CompletionStage<T> send(Supplier<CompletionStage<T>> command) {
      CompletableFuture<T> answer = new CompletableFuture<>();
      long half = setting.roundTrip.toNanos() / 2;
      after(
          half,
          () -> {
            T result = command.get().toCompletableFuture().join();
            after(half, () -> answer.complete(result));
          });
      return answer;
    }

    private void after(long nanos, Runnable action) {
      events.add(new Event(nowNanos + nanos, number++, action));
    }
  }
}
