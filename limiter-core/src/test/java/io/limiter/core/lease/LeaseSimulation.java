// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.lease;

import io.limiter.core.Charge;
import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.lease.RuleBounds.Admitted;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.core.store.DelegatingStore;
import java.time.Duration;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.LongConsumer;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Some instances with leases on one store, in simulated time: commands take time to reach the store
 * and back, the clocks of the instances run a little faster or slower than the store's, instances
 * pause in the middle of a call or lose what they hold, the store's clock is set back, calls have
 * several costs and subjects, and some are refunded. The times of all admitted units are kept, and
 * compared with the bound of each rule.
 */
public final class LeaseSimulation {

  /** A multiple of all windows. */
  public static final long START = 1_700_000_000_000_000L;

  /** Of each scenario. */
  public static final int STEPS = 2_000;

  private static final long[] LEASES = {20_000, 50_000, 100_000};

  private final Random random;
  private final long seed;
  private final LongConsumer setClock;
  private final SlowStore store;
  private final LimitStore seen;
  private final double rate;
  private final long leaseMicros;
  private final Policy policy;
  private final RuleStack stack;
  private final RuleStack exact;
  private final List<Instance> instances = new ArrayList<>();
  private final List<Call> calls = new ArrayList<>();
  private final List<Call> callsOfBoth = new ArrayList<>();
  private final List<Long> writes = new ArrayList<>();
  private long now = START;
  private long setBack;
  private boolean pauses;

  /** Windows by the clock are moved by it, so that their bounds could not be compared. */
  private final boolean setsBack;

  private long leased;

  /** What a call took, at the true time; that of a store's decision may be earlier. */
  private record Call(Admitted admitted, Verdict verdict) {}

  /**
   * @param store shared by the instances
   * @param setClock sets the clock of the store, in microseconds
   * @param rate by how much the clocks of instances differ, at most
   * @param seen what the instances use as their store, around the given one
   */
  public LeaseSimulation(
      long seed,
      LimitStore store,
      LongConsumer setClock,
      double rate,
      UnaryOperator<LimitStore> seen) {
    this.seed = seed;
    this.random = new Random(seed);
    this.setClock = setClock;
    this.store = new SlowStore(store);
    this.seen = seen.apply(this.store);
    this.rate = rate;
    this.leaseMicros = LEASES[random.nextInt(LEASES.length)];
    List<Rule> rules = new ArrayList<>(List.of(rule("first")));
    if (random.nextInt(3) == 0) {
      rules.add(rule("second"));
    }
    this.stack = RuleStack.of(rules).withLease(micros(leaseMicros));
    this.exact = RuleStack.of(List.of(rule("exact")));
    this.setsBack =
        Stream.concat(stack.rules().stream(), exact.rules().stream())
            .noneMatch(
                rule ->
                    rule instanceof FixedWindowRule || rule instanceof SlidingWindowCounterRule);
    this.policy = new Policy("p" + seed, "p" + seed, List.of(stack), Optional.empty());
    for (int i = 1 + random.nextInt(5); i > 0; i--) {
      instances.add(new Instance());
    }
    advance(0);
  }

  private Rule rule(String name) {
    long count = 50 + random.nextInt(random.nextBoolean() ? 300 : 2_000);
    long windowMicros = leaseMicros * (1 + random.nextInt(random.nextBoolean() ? 3 : 40));
    Duration window = micros(windowMicros);
    return switch (random.nextInt(6)) {
      case 0, 1 -> new SlidingWindowLogRule(name, count, window);
      case 2 -> new SlidingWindowCounterRule(name, count, window);
      case 3 -> FixedWindowRule.of(count, window).withName(name);
      case 4 ->
          FixedWindowRule.aligned(count, Duration.ofSeconds(1), ZoneOffset.UTC).withName(name);
      default -> {
        long refill = Math.max(1, count / (5 + random.nextInt(4)));
        boolean greedy = random.nextInt(3) > 0;
        yield new TokenBucketRule(name, count, refill, micros(leaseMicros), greedy, count);
      }
    };
  }

  private static Duration micros(long micros) {
    return Duration.ofNanos(micros * 1_000);
  }

  /** One process. */
  private final class Instance {
    private final double faster = 1 + (2 * random.nextDouble() - 1) * rate;
    private final long offset = random.nextLong();
    LeaseStore leases = new LeaseStore(seen, this::nanos);

    private long nanos() {
      if (pauses) {
        pauses = false;
        advance(random.nextLong(2 * leaseMicros));
      }
      return offset + (long) ((double) (now - START) * 1_000 * faster);
    }
  }

  /** A command for a lease, on its way to the store and back. */
  private final class Asked {
    final LimitRequest units;
    final Duration time;
    final long arrives = now + random.nextLong(leaseMicros / 4);
    final long returns = arrives + random.nextLong(leaseMicros / 4);
    final CompletableFuture<LimitStore.Grant> answer = new CompletableFuture<>();
    CompletableFuture<LimitStore.@Nullable Grant> grant = new CompletableFuture<>();
    boolean executed;

    Asked(LimitRequest units, Duration time) {
      this.units = units;
      this.time = time;
    }
  }

  private final class SlowStore extends DelegatingStore {
    private final List<Asked> under = new ArrayList<>();
    private long decidedAt;

    SlowStore(LimitStore store) {
      super(store);
    }

    @Override
    public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
      decidedAt = now;
      CompletionStage<Verdict> decided = store.decide(request, mode);
      return CompletableFuture.completedFuture(decided.toCompletableFuture().join());
    }

    @Override
    public CompletionStage<Grant> lease(LimitRequest units, Duration time) {
      Asked asked = new Asked(units, time);
      under.add(asked);
      return asked.answer;
    }

    void run() {
      for (Asked asked : List.copyOf(under)) {
        if (!asked.executed && now >= asked.arrives) {
          asked.executed = true;
          Grant grant = store.lease(asked.units, asked.time).toCompletableFuture().join();
          asked.grant = CompletableFuture.completedFuture(grant);
          if (grant.isGranted()) {
            writes.add(now);
          }
        }
        if (asked.executed && now >= asked.returns) {
          under.remove(asked);
          asked.answer.complete(asked.grant.join());
        }
      }
    }
  }

  private void advance(long micros) {
    now += micros;
    setClock.accept(now - setBack);
  }

  /** Runs the scenario. Returns the most units by which a rule was exceeded; 0 or less if none. */
  public long mostOver() {
    for (int i = 0; i < STEPS; i++) {
      step();
    }
    long most = Long.MIN_VALUE;
    for (Rule rule : stack.rules()) {
      most = Math.max(most, over(rule, calls));
    }
    return Math.max(most, over(exact.rules().get(0), callsOfBoth));
  }

  private long over(Rule rule, List<Call> some) {
    return RuleBounds.over(rule, some.stream().map(Call::admitted).toList(), writes);
  }

  /** How many units were admitted by leases. */
  public long leased() {
    return leased;
  }

  private void step() {
    switch (random.nextInt(60)) {
      case 0 -> advance(random.nextInt(4) > 0 ? 0 : leaseMicros);
      case 1 -> advance(random.nextInt(3) > 0 ? 0 : random.nextLong(leaseMicros));
      case 2 -> advance(random.nextInt(20) > 0 ? 0 : MICROS_OF_A_WINDOW);
      case 3, 4, 5, 6, 7, 8 -> advance(random.nextLong(leaseMicros / 20));
      case 9 -> pauses = random.nextInt(4) == 0;
      case 10 -> {
        if (random.nextInt(60) == 0) { // a crash: what the instance holds is lost
          Instance instance = pick();
          instance.leases = new LeaseStore(seen, instance::nanos);
        }
      }
      case 11 -> {
        if (setsBack && random.nextInt(60) == 0) {
          setBack += random.nextLong(2 * leaseMicros);
          advance(0);
        }
      }
      case 12 -> refund();
      default -> call();
    }
    store.run();
  }

  private static final long MICROS_OF_A_WINDOW = 1_000_000;

  private Instance pick() {
    return instances.get(random.nextInt(instances.size()));
  }

  private void call() {
    Charge charge = Charge.of(policy.limit(), Subject.global(), stack);
    if (random.nextInt(6) == 0) {
      charge = charge.withCost(1 + random.nextInt(4));
    }
    List<Charge> charges = new ArrayList<>(List.of(charge));
    boolean both = random.nextInt(4) == 0;
    if (both) {
      Subject user = new Subject("user", "one");
      charges.add(
          random.nextInt(2), Charge.of(policy.limit(), user, exact).withCost(charge.cost()));
    }
    LimitRequest request = new LimitRequest(policy, charges, Optional.empty());
    Instance instance = pick();
    Verdict verdict = instance.leases.decide(request, Mode.ACQUIRE).toCompletableFuture().join();
    boolean byStore = verdict.decidedBy() != DecidedBy.LEASE;
    if (verdict.allowed()) {
      long at = byStore ? store.decidedAt : now;
      calls.add(new Call(new Admitted(at, charge.cost()), verdict));
      if (both) {
        callsOfBoth.add(new Call(new Admitted(store.decidedAt, charge.cost()), verdict));
      }
      if (byStore) {
        writes.add(store.decidedAt);
      } else {
        leased += charge.cost();
      }
    }
    pauses = false;
  }

  private void refund() {
    int index = calls.size() - 1 - random.nextInt(20);
    if (index >= 0) {
      Verdict verdict = calls.remove(index).verdict();
      callsOfBoth.removeIf(each -> each.verdict() == verdict);
      verdict.reservation().refund().toCompletableFuture().join();
    }
  }

  /** Fails if a rule was exceeded. */
  public void check() {
    long over = mostOver();
    if (over > 0) {
      throw new AssertionError(
          "%s units too many with -Dlimiter.seed=%s: %s, then %s"
              .formatted(over, seed, stack, exact));
    }
  }
}
