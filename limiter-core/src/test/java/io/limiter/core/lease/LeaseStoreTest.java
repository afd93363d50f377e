// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.lease;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.limiter.core.Charge;
import io.limiter.core.Completion;
import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.Fallback;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.Reservation;
import io.limiter.core.RuleVerdict;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.denycache.DenyCache;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.outage.FallbackCounts;
import io.limiter.core.outage.FallbackStore;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.core.store.DelegatingStore;
import java.time.Duration;
import java.time.ZoneOffset;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.helpers.NOPLogger;

/** How calls spend leases: each row of the tables in docs/internals/leases.md. */
class LeaseStoreTest {

  private static final Duration LEASE = Duration.ofMillis(100);
  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final Rule WINDOW = FixedWindowRule.of(1_000, MINUTE);
  private static final Subject ALL = Subject.global();
  private static final Subject USER = new Subject("user", "ada");

  private final AtomicLong micros = new AtomicLong(1_700_000_000_000_000L);
  private final MemoryStore memory = new MemoryStore(20_000, micros::get);
  private final Seen seen = new Seen(memory);
  private final LeaseStore store = new LeaseStore(seen, this::nanos);

  private long nanos() {
    return micros.get() * 1_000;
  }

  /** Counts what reaches the store, and fails or answers late where a test wants it. */
  private static final class Seen extends DelegatingStore {
    private int decisions;
    private int leases;
    private int givenBack;
    private boolean away;
    private boolean closed;
    private @Nullable LimitRequest last;
    private @Nullable CompletableFuture<Verdict> verdict; // in place of the next one
    private @Nullable Supplier<CompletionStage<Grant>> grant; // in place of each
    private CompletableFuture<Void> granting = CompletableFuture.completedFuture(null);
    private CompletableFuture<Void> givingBack = CompletableFuture.completedFuture(null);
    private CompletableFuture<Void> resetting = CompletableFuture.completedFuture(null);

    Seen(LimitStore store) {
      super(store);
    }

    private <T> CompletionStage<T> failure() {
      return CompletableFuture.failedFuture(
          new StoreException(FailureReason.DISCONNECTED, "away", null));
    }

    @Override
    public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
      decisions++;
      last = request;
      CompletableFuture<Verdict> scripted = verdict;
      verdict = null;
      return scripted != null ? scripted : away ? failure() : store.decide(request, mode);
    }

    @Override
    public CompletionStage<Grant> lease(LimitRequest units, Duration time) {
      leases++;
      last = units;
      if (grant != null) {
        return grant.get();
      }
      return away
          ? failure()
          : store
              .lease(units, time)
              .thenApply(
                  grant ->
                      new Grant(
                          grant.verdict(),
                          grant.micros(),
                          some -> {
                            givenBack++;
                            return grant
                                .giveBack()
                                .apply(some)
                                .thenCombine(givingBack, (back, any) -> back);
                          }))
              .thenCombine(granting, (grant, any) -> grant);
    }

    @Override
    public CompletionStage<Void> reset(Collection<StateKey> keys) {
      return away ? failure() : resetting.thenCompose(any -> store.reset(keys));
    }

    /** The memory stays open, for the test to look at. */
    @Override
    public void close() {
      closed = true;
    }
  }

  private static RuleStack leased(Rule... rules) {
    return RuleStack.of(List.of(rules)).withLease(LEASE);
  }

  private static LimitRequest call(Charge... charges) {
    Policy policy = new Policy("p", "p", List.of(charges[0].stack()), Optional.empty());
    return new LimitRequest(policy, List.of(charges), Optional.empty());
  }

  private static LimitRequest call(Rule... rules) {
    return call(Charge.of("p", ALL, leased(rules)));
  }

  private Verdict decide(LimitRequest request) {
    return decide(request, Mode.ACQUIRE);
  }

  private Verdict decide(LimitRequest request, Mode mode) {
    return store.decide(request, mode).toCompletableFuture().join();
  }

  /** Makes the subject hot, so that its next calls are decided by a lease. */
  private void heat(LimitRequest request) {
    for (int i = 0; i < 100; i++) {
      if (decide(request).decidedBy() == DecidedBy.LEASE) {
        return;
      }
    }
    throw new AssertionError("no lease");
  }

  private void advance(Duration time) {
    micros.addAndGet(time.toNanos() / 1_000);
  }

  private long remaining(LimitRequest request) {
    return memory.decide(request, Mode.PEEK).toCompletableFuture().join().rules().stream()
        .mapToLong(RuleVerdict::remaining)
        .min()
        .orElseThrow();
  }

  @Test
  void aSubjectWithFewCallsIsDecidedByTheStore() {
    LimitRequest call = call(WINDOW);
    for (int i = 0; i < 50; i++) {
      assertThat(decide(call).decidedBy()).isEqualTo(DecidedBy.STORE);
      advance(LEASE.dividedBy(5));
    }
    assertThat(seen.leases).isZero();
  }

  @ParameterizedTest
  @CsvSource({"9, 0", "10, 1"})
  void aSubjectIsHotWhoseCallsCostTenUnits(int cost, int leases) {
    decide(call(Charge.of("p", ALL, leased(WINDOW)).withCost(cost)));
    assertThat(seen.leases).isEqualTo(leases);
  }

  /** The last hundredth of a count is decided one by one, of a log the last fiftieth. */
  @ParameterizedTest
  @CsvSource({
    "window, 10000, 10, 100, 0",
    "window, 10000, 10, 112, 12",
    "log, 10000, 10, 200, 0",
    "log, 10000, 10, 215, 15",
    "window, 1000, 10, 79, 0",
    "window, 1000, 10, 80, 10",
    "window, 1000, 10, 900, 17",
    "window, 100000, 20000, 80000, 10000",
    "log, 100000, 20000, 80000, 4096"
  })
  void aLeaseLeavesUnitsToOthers(String rule, int count, int cost, int left, int leased) {
    boolean log = rule.equals("log");
    Charge charge =
        Charge.of(
            "p",
            ALL,
            leased(
                log ? SlidingWindowLogRule.of(count, MINUTE) : FixedWindowRule.of(count, MINUTE)));
    int others = count - left - cost;
    if (others > 0) {
      memory.decide(call(charge.withCost(others)), Mode.RECORD);
    }
    assertThat(decide(call(charge.withCost(cost))).rules().get(0).remaining()).isEqualTo(left);

    assertThat(seen.leases).isEqualTo(leased > 0 ? 1 : 0);
    assertThat(remaining(call(charge))).isEqualTo(left - leased);
    advance(MINUTE.plus(LEASE));
    heat(call(charge)); // which finds a new window
  }

  /** A sixteenth of its time, or twice as long as the store takes, but a quarter at most. */
  @ParameterizedTest
  @CsvSource({"0, 92719", "5, 88900", "60, 74175"})
  void theNextLeaseIsAskedForBeforeTheEnd(int tookMillis, int asksMicros) {
    Charge one = Charge.of("p", ALL, leased(WINDOW));
    seen.granting = new CompletableFuture<>();
    decide(call(one.withCost(10)));
    advance(Duration.ofMillis(tookMillis));
    seen.granting.complete(null);
    micros.addAndGet(asksMicros - 1 - tookMillis * 1_000);
    assertThat(decide(call(one)).decidedBy()).isEqualTo(DecidedBy.LEASE);
    assertThat(seen.leases).isEqualTo(1);
    micros.incrementAndGet();
    assertThat(decide(call(one)).decidedBy()).isEqualTo(DecidedBy.LEASE);
    assertThat(seen.leases).isEqualTo(2);
  }

  @Test
  void theNextLeaseIsAskedForWhenASixteenthOfItsUnitsIsLeft() {
    Charge one = Charge.of("p", ALL, leased(WINDOW));
    memory.decide(call(one.withCost(860)), Mode.RECORD);
    decide(call(one.withCost(10)));
    assertThat(remaining(call(one))).as("an eighth of 130 is leased").isEqualTo(114);
    for (int i = 1; i <= 15; i++) {
      assertThat(seen.leases).isEqualTo(1);
      assertThat(decide(call(one)).decidedBy()).isEqualTo(DecidedBy.LEASE);
    }
    assertThat(seen.leases).isEqualTo(2);
  }

  @ParameterizedTest
  @ValueSource(strings = {"denied", "failed", "thrown"})
  void aStoreThatGrantsNoneIsAskedAgainAfterTheTimeOfALease(String how) {
    seen.grant =
        () ->
            switch (how) {
              case "denied" -> CompletableFuture.completedFuture(LimitStore.Grant.NONE);
              case "failed" -> seen.failure();
              default -> throw new IllegalStateException("of a custom store");
            };
    LimitRequest call = call(WINDOW);
    for (int i = 0; i < 20; i++) {
      assertThat(decide(call).decidedBy()).isEqualTo(DecidedBy.STORE);
    }
    assertThat(seen.leases).isEqualTo(1);
    seen.grant = null;
    advance(LEASE.minusNanos(1_000));
    decide(call);
    assertThat(seen.leases).isEqualTo(1);
    advance(Duration.ofNanos(1_000));
    heat(call);
    assertThat(seen.leases).isEqualTo(2);
  }

  @Test
  void aHotSubjectSpendsUnitsWithoutTheStore() {
    LimitRequest call = call(WINDOW);
    heat(call);
    int before = seen.decisions;
    Verdict verdict = decide(call);

    assertThat(verdict.decidedBy()).isEqualTo(DecidedBy.LEASE);
    assertThat(verdict.outcome()).isEqualTo(Outcome.ALLOWED);
    assertThat(seen.decisions).isEqualTo(before);
  }

  /** What it can still spend, and what the store has left. */
  @Test
  void aVerdictStatesWhatIsLeftAsOfTheGrant() {
    LimitRequest call = call(WINDOW);
    heat(call);
    RuleVerdict first = decide(call).rules().get(0);
    advance(Duration.ofMillis(10));
    RuleVerdict second = decide(call).rules().get(0);

    assertThat(first.taken()).isEqualTo(1);
    assertThat(second.remaining()).isEqualTo(first.remaining() - 1);
    assertThat(first.resetAfter().minus(second.resetAfter())).isEqualTo(Duration.ofMillis(10));
    assertThat(second.rule()).isEqualTo(WINDOW);
  }

  @Test
  void oneLeaseAfterTheOtherLastsAsLongAsTheCalls() {
    LimitRequest call = call(FixedWindowRule.of(1_000_000, MINUTE));
    heat(call);
    int before = seen.decisions;
    for (int i = 0; i < 2_000; i++) {
      assertThat(decide(call).decidedBy()).isEqualTo(DecidedBy.LEASE);
      advance(Duration.ofMillis(1));
    }
    assertThat(seen.decisions).isEqualTo(before);
    assertThat(seen.leases).as("in 2 s").isBetween(20, 30);
    assertThat(seen.givenBack).as("of %s leases", seen.leases).isLessThan(seen.leases / 4);
  }

  /** A window by the clock ends the leases of all instances at once. */
  @Test
  void aSubjectThatWasHotStaysHotWhenItsWindowEnds() {
    LimitRequest call =
        call(FixedWindowRule.aligned(1_000_000, Duration.ofSeconds(1), ZoneOffset.UTC));
    heat(call);
    int before = seen.decisions;
    for (int i = 0; i < 4_000; i++) {
      assertThat(decide(call).allowed()).isTrue();
      advance(Duration.ofMillis(1));
    }
    assertThat(seen.decisions - before).as("after 4 windows").isBetween(4, 20);
  }

  /** Else the second one would be held unspent, and end with the first. */
  @Test
  void callsThatAreUnderWayWhenALeaseIsGrantedAskForNoOther() {
    List<Runnable> replies = new ArrayList<>();
    DelegatingStore slow =
        new DelegatingStore(seen) {
          @Override
          public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
            CompletableFuture<Verdict> decided = new CompletableFuture<>();
            store.decide(request, mode).thenAccept(v -> replies.add(() -> decided.complete(v)));
            return decided;
          }
        };
    LeaseStore leases = new LeaseStore(slow, this::nanos);
    for (int i = 0; i < 30; i++) {
      var unused = leases.decide(call(WINDOW), Mode.ACQUIRE);
    }
    replies.forEach(Runnable::run);

    assertThat(seen.leases).isEqualTo(1);
  }

  /** The lease that was asked for in the burst is hardly spent when it is about to end. */
  @Test
  void afterABurstLeasesFollowEachOther() {
    LimitRequest call = call(FixedWindowRule.of(10_000, MINUTE));
    heat(call);
    spendUntilLeases(2, call);
    advance(Duration.ofMillis(5));
    spendUntilLeases(3, call);
    int exact = 0;
    for (int i = 0; i < 500; i++) {
      advance(Duration.ofMillis(1));
      exact += decide(call).decidedBy() == DecidedBy.STORE ? 1 : 0;
    }
    assertThat(exact).as("of 500 calls").isLessThan(25);
  }

  private void spendUntilLeases(int count, LimitRequest call) {
    while (seen.leases < count) {
      assertThat(decide(call).decidedBy()).isEqualTo(DecidedBy.LEASE);
    }
  }

  @Test
  void nothingIsSpentAfterTheEnd() {
    LimitRequest call = call(WINDOW);
    heat(call);
    advance(LEASE);

    assertThat(decide(call).decidedBy()).isEqualTo(DecidedBy.STORE);
  }

  /** As by SIGSTOP: the clock is read after the units are taken. */
  @Test
  void aThreadThatIsPausedWhileItSpendsDoesNotSpendLate() {
    AtomicLong pause = new AtomicLong();
    LeaseStore paused = new LeaseStore(seen, () -> (micros.addAndGet(pause.getAndSet(0))) * 1_000);
    LimitRequest call = call(WINDOW);
    Verdict verdict;
    do {
      verdict = paused.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
    } while (verdict.decidedBy() != DecidedBy.LEASE);
    pause.set(5_000_000);

    verdict = paused.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
    assertThat(verdict.decidedBy()).isEqualTo(DecidedBy.STORE);
  }

  @Test
  void aLeaseEndsWithItsWindow() {
    LimitRequest call = call(WINDOW);
    decide(call);
    advance(MINUTE.minusMillis(30));
    heat(call);
    advance(Duration.ofMillis(30));

    assertThat(decide(call).decidedBy()).isEqualTo(DecidedBy.STORE);
  }

  @Test
  void theLastUnitsAreDecidedOneByOne() {
    LimitRequest call = call(WINDOW);
    int admitted = 0;
    while (decide(call).allowed()) {
      admitted++;
    }
    assertThat(admitted).isEqualTo(1_000);
    assertThat(decide(call).decidedBy()).isEqualTo(DecidedBy.STORE);
  }

  @Test
  void whatIsLeftAtTheEndGoesBackWithTheNextCall() {
    LimitRequest call = call(WINDOW);
    heat(call);
    long taken = 1_000 - remaining(call);
    advance(LEASE.plusMillis(1));
    decide(call);

    assertThat(1_000 - remaining(call)).isLessThan(taken);
  }

  @Test
  void whatIsLeftGoesBackWhenTheStoreIsClosed() {
    LeaseStore closed = new LeaseStore(new Unclosed(memory), this::nanos);
    LimitRequest call = call(WINDOW);
    int calls = 0;
    Verdict verdict;
    do {
      verdict = closed.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
      calls++;
    } while (verdict.decidedBy() != DecidedBy.LEASE);
    assertThat(remaining(call)).isLessThan(1_000 - calls);
    closed.close();

    assertThat(remaining(call)).isEqualTo(1_000 - calls);
  }

  @Test
  void unitsAreCountedWhenTheirLeaseEnds() {
    LimitRequest call = call(WINDOW);
    heat(call);
    LeaseUnits granted = store.units().get("p");
    assertThat(granted).isEqualTo(new LeaseUnits(granted.granted(), 0, 0, 0));
    assertThat(granted.held()).isEqualTo(granted.granted()).isGreaterThanOrEqualTo(10);
    decide(call);
    Verdict refunded = decide(call);
    assertThat(refund(refunded)).as("to the lease").isEqualTo(1);
    Verdict late = decide(call);
    advance(LEASE.multipliedBy(2));
    long before = remaining(call);
    decide(call);

    long back = granted.granted() - 3; // with the call that found it hot
    assertThat(store.units().get("p"))
        .isEqualTo(new LeaseUnits(granted.granted(), 3, back, 0))
        .matches(units -> units.held() == 0);
    assertThat(remaining(call)).isEqualTo(before + back - 1);
    assertThat(refund(late)).as("to the store").isEqualTo(1);
    assertThat(store.units().get("p").spent()).as("never falls").isEqualTo(3);
  }

  /** Their window has ended, the store was reset, or it is away. */
  @ParameterizedTest
  @ValueSource(strings = {"window", "reset", "away"})
  void whatTheStoreDoesNotTakeBackHasExpired(String why) {
    LimitRequest call = call(WINDOW);
    LeaseStore leases =
        new LeaseStore(
            new DelegatingStore(memory) {
              @Override
              public CompletionStage<Grant> lease(LimitRequest units, Duration time) {
                return store
                    .lease(units, time)
                    .thenApply(
                        grant ->
                            why.equals("away")
                                ? new Grant(grant.verdict(), grant.micros(), some -> seen.failure())
                                : grant);
              }
            },
            this::nanos);
    Verdict verdict;
    do {
      verdict = leases.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
    } while (verdict.decidedBy() != DecidedBy.LEASE);
    switch (why) {
      case "reset" -> leases.reset(List.of(call.charge(0).key()));
      case "window" -> {
        advance(MINUTE.plus(LEASE));
        memory.decide(call, Mode.ACQUIRE); // by another instance: the next window
      }
      default -> advance(LEASE.multipliedBy(2));
    }
    leases.decide(call, Mode.ACQUIRE).toCompletableFuture().join();

    LeaseUnits units = leases.units().get("p");
    assertThat(units)
        .isEqualTo(new LeaseUnits(units.granted(), 1, 0, units.granted() - 1))
        .matches(all -> all.held() == 0);
  }

  private Lease lease(LimitRequest ten, LeaseUnits.Counts counts) {
    LimitStore.Grant grant = memory.lease(ten, LEASE).toCompletableFuture().join();
    return new Lease(grant, 10, counts, 1e-6, nanos(), this::nanos);
  }

  /** It ends by a margin of 1 ms and a thousandth before its time in the store. */
  @Test
  void aLeaseIsSpentToItsLastUnitAndItsLastMoment() {
    LimitRequest ten = call(Charge.of("p", ALL, leased(WINDOW)).withCost(10));
    LeaseUnits.Counts counts = new LeaseUnits.Counts();
    Lease lease = lease(ten, counts);
    SpentUnits spent = new SpentUnits(ten, memory);
    assertThat(lease.spend(10, spent, 0)).isTrue();
    assertThat(lease.spend(1, spent, 0)).isFalse();
    assertThat(lease.giveBack(10)).isCompletedWithValue(10L);
    advance(Duration.ofNanos(98_899_000));
    assertThat(lease.spend(4, spent, 0)).isTrue();
    advance(Duration.ofNanos(1_000));
    assertThat(lease.spend(1, spent, 0)).isFalse();
    assertThat(remaining(ten)).isEqualTo(990);
    assertThat(lease.giveBack(4)).isCompletedWithValue(4L);
    assertThat(remaining(ten)).as("given back to the store").isEqualTo(994);
    lease.retire();
    assertThat(counts.now()).isEqualTo(new LeaseUnits(10, 4, 6, 0));
  }

  /** By a call and by a reset at once, or by the close of the store. */
  @Test
  void aLeaseThatEndsTwiceIsCountedOnce() {
    LimitRequest ten = call(Charge.of("p", ALL, leased(WINDOW)).withCost(10));
    LeaseUnits.Counts counts = new LeaseUnits.Counts();
    Lease lease = lease(ten, counts);
    lease.retire();
    lease.retire();
    lease.close();

    assertThat(counts.now()).isEqualTo(new LeaseUnits(10, 0, 10, 0));
  }

  @Test
  void unitsAreCountedByLimitKeysUpToABound() {
    for (int i = 0; i < 1_200; i++) { // a few share a place, and get no lease
      LimitRequest call = call(Charge.of("limit" + i, ALL, leased(WINDOW)));
      for (int c = 0; c < 12; c++) {
        decide(call);
      }
    }

    assertThat(store.units()).hasSize(1_001);
    assertThat(store.units().get("other").granted())
        .isGreaterThan(10 * store.units().get("limit0").granted());
  }

  @Test
  void theUnitsOfTwoLimitKeysAddUp() {
    LeaseUnits sum = new LeaseUnits(10, 2, 3, 4).plus(new LeaseUnits(100, 20, 30, 40));
    assertThat(sum).isEqualTo(new LeaseUnits(110, 22, 33, 44));
    assertThat(sum.held()).isEqualTo(11);
  }

  /** The thread is paused after it has taken a unit, until the lease was ended by another. */
  @Test
  void aUnitThatIsTakenWhileItsLeaseEndsGoesBack() {
    Queue<Runnable> meanwhile = new ArrayDeque<>();
    LeaseStore closed =
        new LeaseStore(
            new Unclosed(memory),
            () -> {
              Runnable action = meanwhile.poll();
              if (action != null) {
                action.run();
              }
              return nanos();
            });
    LimitRequest call = call(WINDOW);
    int calls = 0;
    Verdict verdict;
    do {
      verdict = closed.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
      calls++;
    } while (verdict.decidedBy() != DecidedBy.LEASE);
    meanwhile.add(
        () -> {
          advance(LEASE);
          closed.close();
        });
    verdict = closed.decide(call, Mode.ACQUIRE).toCompletableFuture().join();

    assertThat(verdict.decidedBy()).isEqualTo(DecidedBy.STORE);
    assertThat(remaining(call)).isEqualTo(1_000 - calls - 1);
    assertThat(closed.units().get("p").held()).isZero();
  }

  /** Grants arrive late, on another thread, while several threads spend and refund. */
  @Test
  void noUnitIsLost() throws InterruptedException {
    int count = 1_000_000_000;
    LimitRequest call = call(FixedWindowRule.of(count, Duration.ofHours(1)));
    ScheduledExecutorService grants = Executors.newScheduledThreadPool(1);
    DelegatingStore late =
        new DelegatingStore(memory) {
          @Override
          public CompletionStage<Grant> lease(LimitRequest units, Duration time) {
            Executor later = CompletableFuture.delayedExecutor(1, MILLISECONDS, grants);
            return store.lease(units, time).thenApplyAsync(grant -> grant, later);
          }

          @Override
          public void close() {}
        };
    LeaseStore leases = new LeaseStore(late);
    AtomicLong admitted = new AtomicLong();
    AtomicLong spent = new AtomicLong();
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < 4; t++) {
      threads.add(
          new Thread(
              () -> {
                for (int i = 0; i < 200_000; i++) {
                  Verdict verdict = leases.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
                  spent.addAndGet(verdict.decidedBy() == DecidedBy.LEASE ? 1 : 0);
                  admitted.addAndGet(i % 50 == 0 ? 1 - refund(verdict) : 1);
                }
              }));
    }
    threads.forEach(Thread::start);
    for (Thread thread : threads) {
      thread.join();
    }
    leases.close();
    grants.shutdown();
    assertThat(grants.awaitTermination(10, SECONDS)).isTrue();

    assertThat(spent.get()).as("spent by leases").isGreaterThan(100_000);
    assertThat(remaining(call)).isEqualTo(count - admitted.get());
    LeaseUnits units = leases.units().get("p");
    assertThat(units.held()).as("%s", units).isZero();
    assertThat(units.expired()).as("%s", units).isZero();
    assertThat(units.spent())
        .as("%s", units)
        .isBetween(spent.get() - 4 * 200_000 / 50, spent.get() + 100);
  }

  private static final class Unclosed extends DelegatingStore {
    Unclosed(LimitStore store) {
      super(store);
    }

    @Override
    public void close() {}
  }

  @Test
  void aRefundGoesBackToTheLeaseWhileItLasts() {
    LimitRequest call = call(WINDOW);
    heat(call);
    Verdict verdict = decide(call);
    long left = verdict.rules().get(0).remaining();

    assertThat(refund(verdict)).isEqualTo(1);
    assertThat(refund(verdict)).as("once").isZero();
    assertThat(decide(call).rules().get(0).remaining()).isEqualTo(left);
  }

  @Test
  void aRefundAfterTheLeaseGoesBackToTheStore() {
    LimitRequest call = call(WINDOW);
    heat(call);
    Verdict verdict = decide(call);
    advance(LEASE);
    long before = remaining(call);

    assertThat(refund(verdict)).isEqualTo(1);
    assertThat(remaining(call)).isEqualTo(before + 1);
  }

  private static long refund(Verdict verdict) {
    return verdict.reservation().refund().toCompletableFuture().join();
  }

  @Test
  void aCallThatCostsLessGivesTheDifferenceBackAndOneThatCostsMoreIsRecorded() {
    Charge charge = Charge.of("p", ALL, leased(FixedWindowRule.of(10_000, MINUTE)));
    LimitRequest call = call(charge.withCost(3));
    heat(call);
    Verdict less = decide(call);
    Verdict more = decide(call);
    long left = more.rules().get(0).remaining();
    long before = remaining(call);

    assertThat(settle(less, 1)).isEqualTo(2);
    assertThat(settle(more, 10)).isZero();
    assertThat(remaining(call)).as("recorded in the store").isEqualTo(before - 7);
    assertThat(decide(call).rules().get(0).remaining()).isEqualTo(left + 2 - 3);
  }

  private static long settle(Verdict verdict, int cost) {
    return verdict
        .reservation()
        .settle(Completion.succeeded().withCost(cost))
        .toCompletableFuture()
        .join();
  }

  @Test
  void aCallThatCostsMoreThanIsLeftIsDecidedByTheStore() {
    LimitRequest call = call(WINDOW);
    heat(call);
    LimitRequest large = call(Charge.of("p", ALL, leased(WINDOW)).withCost(500));

    assertThat(decide(large).decidedBy()).isEqualTo(DecidedBy.STORE);
    assertThat(decide(call).decidedBy()).isEqualTo(DecidedBy.LEASE);
  }

  @Test
  void theCallAfterOneThatCostsMoreThanIsLeftHasTheNextLease() {
    LimitRequest seven = call(Charge.of("p", ALL, leased(WINDOW)).withCost(7));
    heat(seven);
    while (decide(seven).decidedBy() == DecidedBy.LEASE) {
      assertThat(seen.leases).isEqualTo(1);
    }
    assertThat(decide(seven).decidedBy()).isEqualTo(DecidedBy.LEASE);
    assertThat(seen.leases).isEqualTo(2);
  }

  static Stream<Arguments> deniedWhileALeaseIsGranted() {
    Charge all = Charge.of("p", ALL, leased(WINDOW));
    Charge user = Charge.of("p", USER, RuleStack.of(List.of(WINDOW)));
    RuleStack guard = RuleStack.of(List.of(FixedWindowRule.of(1, MINUTE)));
    Policy guarded = new Policy("p", "p", List.of(all.stack()), Optional.of(guard));
    RuleStack ban = all.stack().withBan(BanRule.of(9, MINUTE, MINUTE));
    return Stream.of(
        arguments(call(all), Outcome.LIMITED, DecidedBy.LEASE),
        arguments(call(all), Outcome.UNAVAILABLE, DecidedBy.LEASE),
        arguments(call(all.withCost(500)), Outcome.LIMITED, DecidedBy.STORE),
        arguments(call(all, user), Outcome.LIMITED, DecidedBy.STORE),
        arguments(call(Charge.of("p", ALL, ban)), Outcome.LIMITED, DecidedBy.STORE),
        arguments(
            LimitRequest.of(guarded, ALL, Optional.of("x")), Outcome.LIMITED, DecidedBy.STORE));
  }

  /** Perhaps because the lease has taken what was left. */
  @ParameterizedTest
  @MethodSource("deniedWhileALeaseIsGranted")
  void aCallThatIsDeniedWhileALeaseIsGrantedSpendsIt(
      LimitRequest request, Outcome outcome, DecidedBy decidedBy) {
    CompletableFuture<Verdict> late = new CompletableFuture<>();
    seen.verdict = late;
    CompletableFuture<Verdict> decided = store.decide(request, Mode.ACQUIRE).toCompletableFuture();
    LimitRequest other = call(request.charge(0).withCost(1));
    heat(other);
    long left = decide(other).rules().get(0).remaining();
    late.complete(Verdict.of(request.policy(), outcome).build());

    boolean spends = decidedBy == DecidedBy.LEASE;
    assertThat(decided.join().decidedBy()).isEqualTo(decidedBy);
    assertThat(decided.join().outcome()).isEqualTo(spends ? Outcome.ALLOWED : outcome);
    assertThat(decide(other).rules().get(0).remaining()).isEqualTo(left - (spends ? 2 : 1));
  }

  /** Their keys have hashes that differ only in bits that do not select the place. */
  @Test
  void aSecondSubjectInOnePlaceGetsALeaseOnceTheFirstIsIdle() {
    int hot = 0;
    Charge second = user(0);
    while (isLeased(second)) {
      hot++;
      second = user(hot);
    }
    assertThat(seen.leases).isEqualTo(hot);
    advance(LEASE.multipliedBy(2));
    assertThat(isLeased(second)).isFalse();
    advance(Duration.ofNanos(1_000));
    assertThat(isLeased(second)).isTrue();
    assertThat(seen.givenBack).as("of the first").isOne();
    assertThat(store.units().values()).filteredOn(u -> u.held() > 0).hasSize(1);
  }

  private static Charge user(int number) {
    return Charge.of("limit" + number, USER, leased(WINDOW));
  }

  private boolean isLeased(Charge charge) {
    decide(call(charge.withCost(10)));
    return decide(call(charge)).decidedBy() == DecidedBy.LEASE;
  }

  @Test
  void theStoreDecidesTheRestOfACallAndItsUnitsGoBackIfItDenies() {
    Charge all = Charge.of("p", ALL, leased(WINDOW));
    Charge user = Charge.of("p", USER, RuleStack.of(List.of(FixedWindowRule.of(2, MINUTE))));
    heat(call(all));
    long left = decide(call(all)).rules().get(0).remaining();

    Verdict allowed = decide(call(user, all));
    assertThat(allowed.decidedBy()).isEqualTo(DecidedBy.STORE);
    assertThat(allowed.rules().stream().map(RuleVerdict::remaining)).containsExactly(1L, left - 1);
    assertThat(allowed.rules().stream().map(RuleVerdict::taken)).containsExactly(1, 1);
    assertThat(refund(allowed)).isEqualTo(2);
    decide(call(user, all));
    decide(call(user, all));
    Verdict denied = decide(call(user, all));
    assertThat(denied.outcome()).isEqualTo(Outcome.LIMITED);
    assertThat(denied.violated()).singleElement().matches(rule -> rule.rule().count() == 2);
    assertThat(denied.rules()).hasSize(2);
    assertThat(denied.rules().get(1).remaining()).isEqualTo(left - 2);
    assertThat(decide(call(all)).rules().get(0).remaining()).isEqualTo(left - 3);
  }

  @Test
  void theStoreDecidesADuplicateAndReleasesItsGuard() {
    RuleStack stack = leased(WINDOW);
    Policy policy =
        new Policy(
            "p",
            "p",
            List.of(stack),
            Optional.of(RuleStack.of(List.of(SlidingWindowLogRule.of(1, MINUTE)))));
    heat(call(Charge.of("p", ALL, stack)));
    LimitRequest submission = LimitRequest.of(policy, ALL, Optional.of("one"));

    Verdict first = decide(submission);
    assertThat(first.allowed()).isTrue();
    assertThat(first.duplicate()).isPresent();
    assertThat(decide(submission).outcome()).isEqualTo(Outcome.DUPLICATE);
    assertThat(first.reservation().hold(MINUTE, true)).isCompletedWithValue(1L);
    assertThat(first.reservation().release().toCompletableFuture().join()).isEqualTo(1);
    Verdict second = decide(submission);
    assertThat(second.allowed()).isTrue();
    assertThat(refund(second)).as("of the lease and the guard").isEqualTo(2);
    assertThat(decide(submission).allowed()).isTrue();
  }

  @Test
  void aCallOfTwoLeasesAndThePermitOfTheStoreIsSettledOnce() {
    Charge one = Charge.of("p", ALL, leased(WINDOW));
    Charge other = Charge.of("q", ALL, leased(WINDOW));
    Charge exact = Charge.of("p", USER, RuleStack.of(List.of(FixedWindowRule.of(500, MINUTE))));
    Charge permit = Charge.of("r", USER, RuleStack.of(List.of(ConcurrencyLimitRule.of(1, MINUTE))));
    heat(call(one));
    heat(call(other));
    long before = remaining(call(one));

    Verdict verdict = decide(call(one, other, exact, permit));
    assertThat(verdict.rules())
        .extracting(rule -> rule.rule().count())
        .containsExactly(1_000L, 1_000L, 500L, 1L);
    Reservation all = verdict.reservation();
    assertThat(all.permitDuration()).contains(MINUTE);
    assertThat(all.renewPermits()).isCompletedWithValue(1L);
    assertThat(settle(verdict, 4)).as("the permit").isEqualTo(1);
    assertThat(remaining(call(one))).isEqualTo(before - 3);
    assertThat(remaining(call(exact))).isEqualTo(496);
    assertThat(settle(verdict, 4)).isZero();
    assertThat(decide(call(permit)).allowed()).isTrue();
  }

  @Test
  void aBanEndsALeaseAtItsEnd() {
    BanRule ban = BanRule.of(1, MINUTE, MINUTE);
    RuleStack stack = RuleStack.of(List.of(WINDOW)).withBan(ban).withLease(LEASE);
    LimitRequest call = call(Charge.of("p", ALL, stack));
    heat(call);
    assertThat(decide(call(Charge.of("p", ALL, stack).withCost(2_000))).outcome())
        .isEqualTo(Outcome.BANNED);

    assertThat(decide(call).decidedBy()).isEqualTo(DecidedBy.LEASE);
    int before = seen.leases;
    advance(LEASE);
    assertThat(decide(call).outcome()).isEqualTo(Outcome.BANNED);
    assertThat(seen.leases).isEqualTo(before);
  }

  /** A denied lease is no violation. */
  @Test
  void aBannedSubjectGetsNoLease() {
    BanRule ban = BanRule.of(2, MINUTE, MINUTE);
    RuleStack stack = RuleStack.of(List.of(WINDOW)).withBan(ban).withLease(LEASE);
    LimitRequest call = call(Charge.of("p", ALL, stack).withCost(2_000));
    for (int i = 0; i < 5; i++) {
      LimitStore.Grant grant = memory.lease(call, LEASE).toCompletableFuture().join();
      assertThat(grant.isGranted()).isFalse();
    }
    assertThat(decide(call).outcome()).isEqualTo(Outcome.LIMITED);
    assertThat(decide(call).outcome()).isEqualTo(Outcome.BANNED);
    LimitRequest one = call(Charge.of("p", ALL, stack));
    assertThat(memory.lease(one, LEASE).toCompletableFuture().join().isGranted()).isFalse();
  }

  @Test
  void observedRulesAndPeekingAreExact() {
    LimitRequest call = call(WINDOW);
    heat(call);

    LimitRequest observed = call.observe();
    assertThat(decide(observed).decidedBy()).isEqualTo(DecidedBy.STORE);
    assertThat(seen.last).as("as it is").isSameAs(observed);
    assertThat(decide(call, Mode.PEEK).decidedBy()).isEqualTo(DecidedBy.STORE);
    assertThat(decide(call, Mode.RECORD).decidedBy()).isEqualTo(DecidedBy.STORE);
  }

  @Test
  void aResetForgetsTheLease() {
    LimitRequest call = call(WINDOW);
    heat(call);
    store.reset(List.of(call.charge(0).key())).toCompletableFuture().join();

    assertThat(remaining(call)).isEqualTo(1_000);
    assertThat(decide(call).decidedBy()).isEqualTo(DecidedBy.STORE);
    assertThat(remaining(call)).isEqualTo(999);
  }

  @Test
  void aLeaseIsForgottenWhenAResetBeginsAndAnotherWhenItHasEnded() {
    LimitRequest call = call(WINDOW);
    heat(call);
    seen.resetting = new CompletableFuture<>();
    CompletionStage<Void> reset = store.reset(List.of(call.charge(0).key()));
    assertThat(decide(call).decidedBy()).isEqualTo(DecidedBy.STORE);
    heat(call);
    seen.resetting.complete(null);

    assertThat(reset).isCompleted();
    assertThat(decide(call).decidedBy()).isEqualTo(DecidedBy.STORE);
    assertThat(remaining(call)).isEqualTo(999);
  }

  @Test
  void aLeaseThatIsGrantedAfterAResetIsNotSpent() {
    LimitRequest ten = call(Charge.of("p", ALL, leased(WINDOW)).withCost(10));
    seen.granting = new CompletableFuture<>();
    decide(ten);
    store.reset(List.of(ten.charge(0).key())).toCompletableFuture().join();
    seen.granting.complete(null);

    assertThat(store.units().get("p")).isEqualTo(new LeaseUnits(17, 0, 0, 17));
    assertThat(remaining(ten)).isEqualTo(1_000);
  }

  /** Its units, and those that are on their way back, reach the store before it is closed. */
  @Test
  void theEndWaitsForALeaseThatIsBeingGrantedAndGivesItBack() throws InterruptedException {
    LimitRequest ten = call(Charge.of("p", ALL, leased(WINDOW)).withCost(10));
    seen.granting = new CompletableFuture<>();
    seen.givingBack = new CompletableFuture<>();
    decide(ten);
    Thread end = new Thread(store::close);
    end.start();
    await().until(() -> end.getState() == Thread.State.TIMED_WAITING);
    assertThat(seen.givenBack).isZero();

    seen.granting.complete(null);
    assertThat(remaining(ten)).isEqualTo(990);
    await().until(() -> end.getState() == Thread.State.TIMED_WAITING);
    assertThat(seen.closed).isFalse();
    seen.givingBack.complete(null);
    end.join();

    assertThat(seen.closed).isTrue();
    assertThat(store.units().get("p")).isEqualTo(new LeaseUnits(17, 0, 17, 0));
  }

  @Test
  void theEndDoesNotWaitForeverForAStoreThatDoesNotAnswer() {
    seen.granting = new CompletableFuture<>();
    decide(call(Charge.of("p", ALL, leased(WINDOW)).withCost(10)));

    assertTimeoutPreemptively(Duration.ofSeconds(20), store::close);

    assertThat(seen.closed).isTrue();
  }

  /** No call of its subject comes any more. */
  @Test
  void theUnitsOfAQuietSubjectGoBackWhenTheyAreRead() {
    LimitRequest call = call(WINDOW);
    heat(call);
    long granted = store.units().get("p").held();
    long before = remaining(call);
    advance(LEASE.multipliedBy(2));

    LeaseUnits units = store.units().get("p");

    assertThat(units).isEqualTo(new LeaseUnits(granted, 1, granted - 1, 0));
    assertThat(remaining(call)).isEqualTo(before + granted - 1);
    assertThat(decide(call).allowed()).isTrue();
  }

  /** It may be spent to its end; calls under the new count are decided by the store meanwhile. */
  @Test
  void aLoweredCountIsDecidedByTheStore() {
    heat(call(WINDOW));
    LimitRequest lower = call(FixedWindowRule.of(5, MINUTE));

    assertThat(decide(lower).outcome()).isEqualTo(Outcome.LIMITED);
    assertThat(decide(call(WINDOW)).decidedBy()).isEqualTo(DecidedBy.LEASE);
  }

  @Test
  void whileTheStoreIsAwayALeaseIsSpentThenTheFallbackKnowsIt() {
    MemoryStore local = new MemoryStore(1_000, micros::get);
    FallbackStore fallback =
        new FallbackStore(
            seen,
            local,
            policy -> Fallback.LOCAL,
            new FallbackCounts(),
            1_000,
            this::nanos,
            List.of(),
            NOPLogger.NOP_LOGGER);
    for (Rule rule :
        List.of(
            WINDOW, SlidingWindowLogRule.of(1_000, MINUTE), TokenBucketRule.of(1_000, 1, MINUTE))) {
      seen.away = false;
      LeaseStore leases = new LeaseStore(fallback, this::nanos);
      LimitRequest call = call(rule);
      int admitted = 0;
      Verdict verdict;
      do {
        verdict = leases.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
        admitted++;
      } while (verdict.decidedBy() != DecidedBy.LEASE);
      seen.away = true;
      assertThat(leases.decide(call, Mode.ACQUIRE).toCompletableFuture().join().decidedBy())
          .isEqualTo(DecidedBy.LEASE);
      admitted++;
      advance(LEASE);
      do {
        verdict = leases.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
        assertThat(verdict.decidedBy()).isEqualTo(DecidedBy.FALLBACK);
        admitted += verdict.allowed() ? 1 : 0;
      } while (verdict.allowed());
      assertThat(admitted).as("under %s", rule).isBetween(900, 1_000);
      advance(MINUTE.multipliedBy(2));
    }
  }

  @Test
  void theDenyCacheForgetsADenialOfALeasedSubjectWithTheLease() {
    DenyCache cache = new DenyCache(store, policy -> true, 100, DenyCache.MAX_AGE, this::nanos);
    LimitRequest call = call(FixedWindowRule.of(5, MINUTE));
    while (decide(call).allowed()) {
      assertThat(seen.decisions).isLessThan(10);
    }
    cache.decide(call, Mode.ACQUIRE);
    assertThat(cache.decide(call, Mode.ACQUIRE).toCompletableFuture().join().decidedBy())
        .isEqualTo(DecidedBy.DENY_CACHE);
    advance(LEASE);
    assertThat(cache.decide(call, Mode.ACQUIRE).toCompletableFuture().join().decidedBy())
        .isEqualTo(DecidedBy.STORE);
  }

  static Stream<RuleStack> withoutLease() {
    Rule log = SlidingWindowLogRule.of(10, Duration.ofMillis(50));
    return Stream.of(
        RuleStack.of(List.of(log)),
        RuleStack.of(List.of(LeakyBucketRule.of(10, MINUTE, 10, MINUTE))),
        RuleStack.of(List.of(ConcurrencyLimitRule.of(10, MINUTE))),
        RuleStack.of(List.of(TokenBucketRule.of(10, 100, Duration.ofSeconds(1)))),
        RuleStack.of(List.of(WINDOW)).withCounting(Counting.FAILURES));
  }

  @ParameterizedTest
  @MethodSource("withoutLease")
  void someRulesAllowNoneOfThatTime(RuleStack stack) {
    assertThatThrownBy(() -> stack.withLease(LEASE))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("The rule '" + stack.rules().get(0).name() + "'")
        .hasMessageContaining("lease");
  }

  @Test
  void aTimeOutOfRangeIsAMistake() {
    RuleStack stack = RuleStack.of(List.of(WINDOW));
    assertThatThrownBy(() -> stack.withLease(Duration.ofMillis(9))).hasMessageContaining("PT0.01S");
    assertThatThrownBy(() -> stack.withLease(Duration.ofSeconds(11))).hasMessageContaining("PT10S");
  }

  @Test
  void theNumberOfLeasesHasABound() {
    for (int i = 0; i < 12_000; i++) {
      LimitRequest call = call(Charge.of("p", new Subject("user", "u" + i), leased(WINDOW)));
      for (int c = 0; c < 12; c++) {
        assertThat(decide(call).allowed()).isTrue();
      }
    }
    assertThat(seen.leases).isBetween(4_000, 8_192);
  }
}
