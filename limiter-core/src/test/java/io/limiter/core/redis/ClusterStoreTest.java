// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static io.limiter.core.StoreHarness.submit;
import static io.limiter.core.StoreHarness.units;
import static java.util.concurrent.TimeUnit.MICROSECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.SlotHash;
import io.limiter.core.DecidedBy;
import io.limiter.core.FadingCounter;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.LimitStoreContract;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.lease.LeaseStore;
import io.limiter.core.redis.cluster.ClusterConnections;
import io.limiter.core.redis.wire.DecisionScripts;
import io.limiter.core.redis.wire.DecisionScripts.RedisScript;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.testing.ClusterGroup;
import io.limiter.core.testing.SlotMove;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The contract of every store, on a Redis Cluster, whose calls may have keys in several slots. */
@Tag("matrix")
class ClusterStoreTest implements LimitStoreContract {

  private static final Duration READY = Duration.ofSeconds(10);
  private static final Duration LEASE = Duration.ofMillis(100);
  private static final RedisSettings SETTINGS = new RedisSettings("test:", READY);

  /** Takes the clock from the arguments, so that the script finds its own. */
  private static final String SIGNED = "local signed = table.remove(ARGV)\n";

  private static final String NOW = "{ math.floor(signed / 1000000), signed % 1000000 }";

  private static ClusterGroup group;
  private static ClusterConnections connections;
  private RedisStore store;
  private volatile long clock = 1_700_000_000_000_000L;

  @BeforeAll
  static void connect() {
    group = ClusterGroup.withoutReplicas();
    connections =
        ClusterConnections.open(
            group.uris().stream().map(RedisURI::create).toList(), RedisSettings.defaults());
    assertThat(connections.firstAttempt()).succeedsWithin(READY).isEqualTo(true);
  }

  @AfterAll
  static void disconnect() {
    connections.close();
    group.close();
  }

  /** Each script carries the test's clock to whichever node it is sent. */
  @BeforeEach
  void open() {
    DecisionScripts scripts = DecisionScripts.load(List.of(new FadingCounter()));
    assertThat(scripts.decide().text()).contains("call('TIME')");
    store =
        new RedisStore(
            SignedCommands.unclosed(connections, () -> Long.toString(clock)),
            SETTINGS,
            TestRedis.scripts(
                scripts,
                clocked(scripts.decide()),
                clocked(scripts.refund()),
                clocked(scripts.renew())),
            new NodeBreakers(),
            () -> clock);
  }

  private static RedisScript clocked(RedisScript script) {
    return RedisScript.of(SIGNED + script.text().replace("call('TIME')", NOW));
  }

  @AfterEach
  void close() {
    store.close();
    group.servers().forEach(server -> group.admin(server).flushall());
  }

  @Override
  public LimitStore store() {
    return store;
  }

  @Override
  public void advance(Duration duration) {
    clock += MICROSECONDS.convert(duration);
  }

  @Override
  public Instant now() {
    return Instant.EPOCH.plus(clock, ChronoUnit.MICROS);
  }

  @Override
  public Optional<String> stored(StateKey key) {
    byte[] name = SETTINGS.name(key);
    return Optional.ofNullable(
            connections
                .node(SlotHash.getSlot(name))
                .commands()
                .get(name)
                .toCompletableFuture()
                .join())
        .map(HexFormat.of()::formatHex);
  }

  /** A rule for each of many subjects in one call, of which the last in the order is full. */
  @Test
  void aCallOfManySlotsIsAllOrNothing() {
    LimitRequest last = call("user-7", rule(1, MINUTE));
    assertAllowed(last);
    LimitRequest all = users(8);
    assertThat(slots(all)).as("slots").hasSizeGreaterThan(5);

    Verdict denied = acquire(all);

    assertThat(denied.rules()).hasSize(8);
    assertThat(denied.violated()).containsExactly(denied.rules().get(7));
    assertThat(denied.rules().subList(0, 7)).extracting(RuleVerdict::remaining).containsOnly(1L);
    assertThat(stored(all).subList(0, 7)).containsOnly(Optional.empty());
  }

  /**
   * An algorithm whose Java implementation finds no units left, whatever its Lua implementation
   * finds.
   */
  private record Stricter(FadingCounter lua) implements CustomAlgorithm {

    @Override
    public String name() {
      return lua.name();
    }

    @Override
    public int stateSize() {
      return lua.stateSize();
    }

    @Override
    public String script() {
      return lua.script();
    }

    @Override
    public Evaluation read(double now, double cost, CustomRule rule, double @Nullable [] state) {
      Evaluation found = lua.read(now, cost, rule, state);
      return new Evaluation(0, found.retryAfterMicros(), found.resetAfterMicros(), found.next());
    }
  }

  /** The slots that were asked before have taken their units. */
  @Test
  void whereLuaAndJavaDisagreeTheOtherSlotsAreRefunded() {
    CustomRule stricter = CustomRule.of(new Stricter(new FadingCounter()), 3, MINUTE, 2.0);
    LimitRequest all = users(8).and(call("divergent", stricter));

    assertThat(store.decide(all, Mode.ACQUIRE))
        .failsWithin(READY)
        .withThrowableThat()
        .havingRootCause()
        .withMessageContaining("the algorithm 'fading-counter' of the rule '3-per-60s'");

    await()
        .untilAsserted(() -> assertThat(stored(all).subList(0, 8)).containsOnly(Optional.empty()));
    assertThat(stored(all).get(8)).as("what Lua admitted").isPresent();
  }

  /** The first one denies; the verdicts of the others are exact all the same. */
  @Test
  void everyRuleIsInTheVerdictWhicheverDenies() {
    LimitRequest user = call("user", rule(1, MINUTE));
    LimitRequest other = call("other", rule(5, MINUTE), rule(7, HOUR));
    LimitRequest everybody = LimitRequest.of(Policy.of("all", rule(2, HOUR)), Subject.global());
    acquire(2, everybody);
    acquire(3, other);
    assertAllowed(user);
    advance(SECOND);

    Verdict denied = acquire(user.and(other).and(everybody));

    assertThat(denied.rules()).extracting(RuleVerdict::remaining).containsExactly(0L, 2L, 4L, 0L);
    assertThat(denied.rules())
        .extracting(RuleVerdict::violated)
        .containsExactly(true, false, false, true);
    assertThat(denied.retryAfter()).contains(HOUR.minus(SECOND));
    assertThat(denied.decidedAtMicros()).as("by the node of the first key").isEqualTo(clock);
    assertThat(denied).isEqualTo(peek(user.and(other).and(everybody)));
    assertThat(remaining(other)).isEqualTo(2);
  }

  @Test
  void aGuardInAnotherSlotThanTheRulesIsGivenBackToo() {
    LimitRequest submission = anothers("form");
    assertAllowed(submission);
    assertThat(acquire(submission).outcome()).isEqualTo(Outcome.DUPLICATE);
    assertAllowed(anothers("second"));
    assertLimited(anothers("third"));
    advance(HOUR);

    assertAllowed(anothers("third"));
  }

  @Test
  void recordRefundAndResetGoToAllSlots() {
    LimitRequest all = users(8);
    Verdict recorded = record(all);
    assertThat(recorded.rules()).extracting(RuleVerdict::remaining).containsOnly(0L);
    assertLimited(users(3));
    assertThat(refund(recorded)).isEqualTo(8);
    assertAllowed(all);
    assertThat(store.reset(all.allCharges().stream().map(charge -> charge.key()).toList()))
        .succeedsWithin(READY);
    assertThat(peek(all).rules()).extracting(RuleVerdict::remaining).containsOnly(1L);
  }

  /** While the slot is migrating, Redis rejects several keys at once: TRYAGAIN. */
  @Test
  void rulesAndGuardOfASlotOnItsWayAreDecided() {
    LimitRequest first = submit("first", rule(3, MINUTE));
    int slot = slots(first).get(0);
    assertAllowed(first);
    move(
        slot,
        () -> {
          assertThat(acquire(first).outcome()).isEqualTo(Outcome.DUPLICATE);
          Verdict second = acquire(submit("second", rule(3, MINUTE)));
          assertThat(second.allowed()).isTrue();
          assertThat(release(second)).isEqualTo(1);
          assertAllowed(submit("second", rule(3, MINUTE)));
          assertLimited(submit("third", rule(3, MINUTE)));
          assertThat(peek(submit("third", rule(3, MINUTE))).duplicate().orElseThrow().violated())
              .as("the units that a denied call took from the guard were given back")
              .isFalse();
          assertThat(refund(second)).isEqualTo(1);
          assertThat(record(submit("fourth", rule(3, MINUTE))).allowed()).isTrue();
        });
    assertLimited(submit("fifth", rule(3, MINUTE)));
    assertThat(acquire(first).duplicate().orElseThrow().violated()).isTrue();
  }

  /** They have one key, which is on one side or the other. */
  @Test
  void mixedRulesOfASlotOnItsWayAreDecided() {
    LimitRequest mixed = call(rule(3, MINUTE), FixedWindowRule.of(9, HOUR));
    assertAllowed(mixed);
    move(
        slots(mixed).get(0),
        () -> {
          assertThat(refund(acquire(mixed))).isEqualTo(1);
          assertThat(record(mixed).allowed()).isTrue();
          assertAllowed(mixed);
          assertLimited(mixed);
        });
    assertThat(peek(mixed).rules()).extracting(RuleVerdict::remaining).containsExactly(0L, 6L);
  }

  /** The rules' key is still here, the guard's new one already there. */
  @Test
  void keysOnBothSidesAreRefundedAndReset() {
    LimitRequest submission = submit("form", rule(3, MINUTE));
    List<StateKey> keys = submission.allCharges().stream().map(charge -> charge.key()).toList();
    assertAllowed(call(rule(3, MINUTE)));
    move(
        slots(submission).get(0),
        () -> {
          assertThat(refund(acquire(submission))).isEqualTo(2);
          assertThat(remaining(submission)).isEqualTo(2);
          assertAllowed(submission);
          assertThat(store.reset(keys)).succeedsWithin(READY);
          assertThat(peek(submission).duplicate().orElseThrow().violated()).isFalse();
          assertThat(remaining(submission)).isEqualTo(3);
        });
  }

  @Test
  void aRefundFindsItsUnitsWhereTheSlotHasGone() {
    LimitRequest call = submit("form", rule(3, MINUTE));
    Verdict verdict = acquire(call);
    move(slots(call).get(0), () -> {});
    assertThat(release(verdict)).isEqualTo(1);
    assertThat(refund(verdict)).isEqualTo(1);
  }

  static Stream<Rule> leased() {
    return Stream.of(rule(1_000, HOUR), FixedWindowRule.of(1_000, HOUR));
  }

  /** It is asked for, spent and given back before, during and after the move. */
  @ParameterizedTest
  @MethodSource("leased")
  void aLeaseIsSpentWhereverItsSlotHasGone(Rule rule) {
    LimitRequest call = leased(RuleStack.of(List.of(rule)));
    LeaseStore leases = new LeaseStore(store, () -> clock * 1_000);
    SlotMove move = SlotMove.of(group, slots(call).get(0));
    int admitted = heat(leases, call);

    move.begin();
    admitted += spend(leases, call, 5);
    move.moveKeys();
    admitted += spend(leases, call, 5);
    admitted += end(leases, call, admitted);
    admitted += heat(leases, call);
    move.end();
    admitted += spend(leases, call, 5);
    admitted += end(leases, call, admitted);
    admitted += heat(leases, call);
    while (decide(leases, call).allowed()) {
      admitted++;
    }
    assertThat(admitted).isEqualTo(1_000);
    assertThat(units(leases).granted() - units(leases).returned())
        .as("spent by leases")
        .isGreaterThan(500);
  }

  /** The ban is a second key, which does not exist: Redis rejects both (TRYAGAIN). */
  @Test
  void underABanNoLeaseIsGrantedWhileTheSlotMigrates() {
    RuleStack stack = RuleStack.of(List.of(FixedWindowRule.of(1_000, HOUR)));
    LimitRequest call = leased(stack.withBan(BanRule.of(3, HOUR, HOUR)));
    LeaseStore leases = new LeaseStore(store, () -> clock * 1_000);
    move(
        slots(call).get(0),
        () -> {
          for (int i = 0; i < 100; i++) {
            Verdict verdict = decide(leases, call);
            assertThat(verdict.allowed()).isTrue();
            assertThat(verdict.decidedBy()).isEqualTo(DecidedBy.STORE);
          }
        });
    assertThat(units(leases).granted()).isZero();
    advance(LEASE.plus(TICK));
    heat(leases, call);
  }

  private static LimitRequest leased(RuleStack stack) {
    Policy policy = Policy.of("policy", stack.rules().get(0));
    return LimitRequest.of(
        policy.withStacks(List.of(stack.withLease(LEASE))), new Subject("user", "hot"));
  }

  private static Verdict decide(LeaseStore leases, LimitRequest call) {
    return leases.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
  }

  /** Makes calls until one of them has spent a lease. Returns how many were admitted. */
  private static int heat(LeaseStore leases, LimitRequest call) {
    for (int calls = 1; calls < 1_000; calls++) {
      Verdict verdict = decide(leases, call);
      assertThat(verdict.allowed()).isTrue();
      if (verdict.decidedBy() == DecidedBy.LEASE) {
        return calls;
      }
    }
    throw new AssertionError("no lease");
  }

  private static int spend(LeaseStore leases, LimitRequest call, int units) {
    for (int i = 0; i < units; i++) {
      assertThat(decide(leases, call).decidedBy()).isEqualTo(DecidedBy.LEASE);
    }
    return units;
  }

  /** The lease ends; the next call is decided by the store, which gets back what is left. */
  private int end(LeaseStore leases, LimitRequest call, int admitted) {
    advance(LEASE.plus(TICK)); // and the subject is no longer hot
    assertThat(decide(leases, call).decidedBy()).isEqualTo(DecidedBy.STORE);
    await().untilAsserted(() -> assertThat(remaining(call)).isEqualTo(999 - admitted));
    return 1;
  }

  /** Runs this while a slot migrates from its node to the next one. */
  private static void move(int slot, Runnable meanwhile) {
    SlotMove move = SlotMove.of(group, slot);
    move.begin();
    meanwhile.run();
    move.end();
  }

  /** One call that each of so many subjects may make once. */
  private static LimitRequest users(int count) {
    return IntStream.range(0, count)
        .mapToObj(i -> call("user-" + i, rule(1, MINUTE)))
        .reduce(LimitRequest::and)
        .orElseThrow();
  }

  /** Two an hour for all, each once for one submitter. */
  private static LimitRequest anothers(String submission) {
    return LimitRequest.of(
        Policy.of("forms", rule(2, HOUR)).withDuplicates(rule(1, MINUTE)),
        Subject.global(),
        new Subject("user", "ada"),
        submission);
  }

  private static List<Integer> slots(LimitRequest request) {
    return request.allCharges().stream()
        .map(charge -> SlotHash.getSlot(SETTINGS.name(charge.key())))
        .distinct()
        .toList();
  }
}
