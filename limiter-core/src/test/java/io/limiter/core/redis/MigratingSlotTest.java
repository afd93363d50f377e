// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static io.limiter.core.StoreHarness.HOUR;
import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.SECOND;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.SlotHash;
import io.limiter.core.Completion;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitRequest.PastCharge;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.redis.cluster.ClusterConnections;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.core.testing.ClusterGroup;
import io.limiter.core.testing.RedisProcess;
import io.limiter.core.testing.SlotMove;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A slot that migrates for as long as a test takes: a call of several keys, such as those of the
 * rules, the ban and the duplicate guard, is decided one key after the other.
 */
@Tag("matrix")
class MigratingSlotTest {

  private static final Duration READY = Duration.ofSeconds(20);
  private static final RedisSettings SETTINGS = new RedisSettings("test:", Duration.ofSeconds(10));
  private static final int COUNT = 6;

  /** So many of them begin the ban. */
  private static final int VIOLATIONS = 3;

  private static ClusterGroup group;
  private static ClusterConnections connections;
  private static RedisStore store;

  private SlotMove move;
  private int submissions;

  /** Where the keys of a subject are when the test begins. */
  private enum Place {
    NOWHERE,
    SOURCE,
    TARGET,
    VALUE_AT_TARGET,
    BAN_AT_TARGET
  }

  @BeforeAll
  static void connect() {
    group = ClusterGroup.withoutReplicas();
    connections =
        ClusterConnections.open(group.uris().stream().map(RedisURI::create).toList(), SETTINGS);
    assertThat(connections.firstAttempt()).succeedsWithin(READY).isEqualTo(true);
    store = new RedisStore(connections, SETTINGS);
  }

  @AfterAll
  static void disconnect() {
    store.close();
    group.close();
  }

  @AfterEach
  void end() {
    move.end();
    group.servers().forEach(server -> group.admin(server).flushall());
  }

  private static <T> T join(CompletionStage<T> stage) {
    return stage.toCompletableFuture().orTimeout(READY.toSeconds(), TimeUnit.SECONDS).join();
  }

  private static Verdict acquire(LimitRequest call) {
    return join(store.decide(call, Mode.ACQUIRE));
  }

  private static Verdict peek(LimitRequest call) {
    return join(store.decide(call, Mode.PEEK));
  }

  private static List<Long> remaining(LimitRequest call) {
    return peek(call).rules().stream().map(RuleVerdict::remaining).distinct().toList();
  }

  private static void assertOutcome(LimitRequest call, Outcome outcome) {
    assertThat(acquire(call).outcome()).isEqualTo(outcome);
  }

  private static void assertLeft(LimitRequest call, long units) {
    assertThat(remaining(call)).containsExactly(units);
  }

  private static String name(StateKey key) {
    return new String(SETTINGS.name(key), StandardCharsets.US_ASCII);
  }

  private static StateKey key(LimitRequest call) {
    return call.charge(0).key();
  }

  private boolean isAt(RedisProcess server, StateKey key) {
    return group
        .admin(server)
        .clusterGetKeysInSlot(move.slot(), Integer.MAX_VALUE)
        .contains(name(key));
  }

  private byte[] storedAtTarget(StateKey key) {
    group.admin(move.to()).asking();
    return group.admin(move.to()).dump(name(key));
  }

  /** One log and one bucket, which hold as many units. */
  private static Policy policy(int count, boolean bans, boolean guards) {
    Policy policy = Policy.of("policy", rule(count, HOUR), TokenBucketRule.of(count, 1, HOUR));
    policy = bans ? policy.withBan(BanRule.of(VIOLATIONS, HOUR, HOUR)) : policy;
    return guards ? policy.withDuplicates(rule(1, HOUR)) : policy;
  }

  private static LimitRequest of(Policy policy, String subject) {
    return LimitRequest.of(policy, new Subject("user", subject));
  }

  private void begin(LimitRequest call) {
    move = SlotMove.of(group, SlotHash.getSlot(SETTINGS.name(key(call))));
    move.begin();
  }

  /** The next submission of a subject; without a guard another call. */
  private LimitRequest next(Policy policy) {
    return LimitRequest.of(
        policy, new Subject("user", "ada"), Optional.of("form-" + submissions++));
  }

  /** Takes two units and adds one violation, except at NOWHERE; then the slot migrates. */
  private void begin(Policy policy, Place place) {
    LimitRequest call = next(policy);
    boolean bans = policy.stacks().get(0).ban().isPresent();
    if (place != Place.NOWHERE) {
      assertOutcome(call, Outcome.ALLOWED);
      assertOutcome(next(policy), Outcome.ALLOWED);
      assertOutcome(next(policy).withCost(COUNT), Outcome.LIMITED);
    }
    begin(call);
    switch (place) {
      case TARGET -> move.moveKeys();
      case VALUE_AT_TARGET -> move.moveKey(name(key(call)));
      case BAN_AT_TARGET -> {
        if (bans) {
          move.moveKey(name(key(call).ban()));
        }
      }
      default -> {}
    }
  }

  private static Stream<Arguments> subjects() {
    return Stream.of(Place.values())
        .flatMap(
            place ->
                Stream.of(true, false)
                    .flatMap(
                        bans ->
                            Stream.of(true, false)
                                .map(guards -> Arguments.of(place, bans, guards))));
  }

  @ParameterizedTest
  @MethodSource("subjects")
  void eachCallIsDecidedAndCountedOnce(Place place, boolean bans, boolean guards) {
    Policy policy = policy(COUNT, bans, guards);
    begin(policy, place);
    int used = place == Place.NOWHERE ? 0 : 2;
    int violations = place == Place.NOWHERE ? 0 : 1;
    int sizes = guards ? 2 : 1;
    assertLeft(next(policy.withDuplicates(rule(9, HOUR))), COUNT - used);

    LimitRequest form = next(policy);
    Verdict first = acquire(form);
    assertThat(first.allowed()).isTrue();
    if (guards) {
      assertOutcome(form, Outcome.DUPLICATE);
      assertThat(join(first.reservation().release())).isEqualTo(1);
      assertThat(join(first.reservation().refund())).isEqualTo(1);
    } else {
      assertThat(join(first.reservation().refund())).isEqualTo(1);
    }
    for (int left = COUNT - used; left > 0; left--) {
      Verdict verdict = acquire(next(policy));
      assertThat(verdict.rules().get(0).remaining()).isEqualTo(left - 1);
      first = verdict;
    }
    for (int i = violations + 1; i < VIOLATIONS; i++) {
      assertOutcome(next(policy), Outcome.LIMITED);
      assertThat(peek(next(policy)).outcome()).isEqualTo(Outcome.LIMITED);
    }
    if (!bans) {
      assertOutcome(next(policy), Outcome.LIMITED);
      assertThat(isAt(move.from(), key(form).ban()) || isAt(move.to(), key(form).ban())).isFalse();
      assertThat(join(first.reservation().refund())).isEqualTo(sizes);
      assertOutcome(next(policy), Outcome.ALLOWED);
      return;
    }
    Verdict banned = acquire(next(policy));
    assertThat(banned.outcome()).isEqualTo(Outcome.BANNED);
    assertThat(banned.ban().orElseThrow()).isEqualTo(HOUR);
    assertThat(join(first.reservation().refund())).isEqualTo(sizes);
    for (int i = 0; i < 2 * VIOLATIONS; i++) {
      assertOutcome(next(policy), Outcome.BANNED);
    }
    LimitRequest asked = next(policy);
    assertThat(peek(asked).outcome()).isEqualTo(Outcome.BANNED);
    assertThat(peek(asked).rules().get(0).remaining()).isEqualTo(1);
    assertThat(peek(asked).ban().orElseThrow()).isBetween(HOUR.minus(MINUTE), HOUR);

    join(store.liftBans(List.of(key(form))));
    assertThat(peek(asked).ban()).isEmpty();
    assertOutcome(asked, Outcome.ALLOWED);
    for (int i = 1; i < VIOLATIONS; i++) {
      assertOutcome(next(policy), Outcome.LIMITED);
    }
    assertOutcome(next(policy), Outcome.BANNED);

    join(store.reset(List.of(key(form))));
    assertOutcome(next(policy), Outcome.ALLOWED);
    move.end();
    assertThat(acquire(next(policy)).rules().get(0).remaining()).isEqualTo(COUNT - 2);
  }

  /** What memory has admitted goes there by a command of its own, before the decision. */
  @ParameterizedTest
  @MethodSource("subjects")
  void unitsOfMemoryAreRecordedForAsLongAsItTakes(Place place, boolean bans, boolean guards)
      throws InterruptedException {
    int count = 1_000;
    Policy policy = policy(count, bans, guards);
    submissions = 0;
    LimitRequest first = next(policy);
    long left = count;
    if (place != Place.NOWHERE) {
      assertOutcome(first, Outcome.ALLOWED);
      left--;
      if (bans) {
        assertOutcome(next(policy).withCost(count), Outcome.LIMITED);
      }
    }
    begin(first);
    if (place == Place.TARGET) {
      move.moveKeys();
    } else if (place == Place.VALUE_AT_TARGET) {
      move.moveKey(name(key(first)));
    } else if (place == Place.BAN_AT_TARGET && bans) {
      move.moveKey(name(key(first).ban()));
    }
    for (int i = 0; i < 10; i++) {
      LimitRequest call = next(policy);
      PastCharge past = new PastCharge(call.charge(0).withCost(2), SECOND);
      left -= 3;

      Verdict verdict = acquire(call.after(List.of(past)));

      assertThat(verdict.outcome()).isEqualTo(Outcome.ALLOWED);
      assertThat(verdict.rules()).extracting(RuleVerdict::remaining).containsOnly(left);
      Thread.sleep(100); // the slot migrates for a second in all
    }
    LimitRequest denied = next(policy).withCost(count);
    PastCharge past = new PastCharge(denied.charge(0).withCost(2), SECOND);
    assertOutcome(denied.after(List.of(past)), Outcome.LIMITED);
    move.end();
    assertLeft(next(policy.withDuplicates(rule(9, HOUR))), left - 2);
  }

  /** Calls that are decided while others of the same subject are. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void callsAtOnceAdmitTheCountAndBegin(boolean exists) {
    Policy policy = policy(COUNT, true, false);
    LimitRequest call = of(policy, "ada");
    if (exists) {
      assertOutcome(call.withCost(2), Outcome.ALLOWED);
    }
    begin(call);
    int left = exists ? COUNT - 2 : COUNT;

    List<CompletableFuture<Verdict>> all = new ArrayList<>();
    for (int i = 0; i < COUNT + 20; i++) {
      all.add(store.decide(call, Mode.ACQUIRE).toCompletableFuture());
    }
    List<Outcome> outcomes = all.stream().map(one -> join(one).outcome()).toList();

    assertThat(outcomes).filteredOn(Outcome.ALLOWED::equals).hasSize(left);
    assertThat(outcomes).filteredOn(Outcome.LIMITED::equals).hasSize(VIOLATIONS - 1);
    assertOutcome(call, Outcome.BANNED);
  }

  /** Subjects of one slot: one is here, one is there, one is new. */
  @Test
  void aCallOfSeveralSubjectsTakesFromAllOrNone() {
    Policy policy = policy(COUNT, true, false);
    LimitRequest here = of(policy, "ada");
    int slot = SlotHash.getSlot(SETTINGS.name(key(here)));
    List<LimitRequest> neighbours =
        IntStream.iterate(0, i -> i + 1)
            .mapToObj(i -> of(policy, "user-" + i))
            .filter(call -> SlotHash.getSlot(SETTINGS.name(key(call))) == slot)
            .limit(2)
            .toList();
    LimitRequest there = neighbours.get(0);
    LimitRequest fresh = neighbours.get(1);
    LimitRequest all = here.and(there).and(fresh);
    assertOutcome(here, Outcome.ALLOWED);
    assertOutcome(there, Outcome.ALLOWED);
    begin(here);
    move.moveKey(name(key(there)));

    Verdict verdict = acquire(all);
    assertThat(verdict.allowed()).isTrue();
    assertThat(verdict.rules())
        .extracting(RuleVerdict::remaining)
        .containsExactly(4L, 4L, 4L, 4L, 5L, 5L);
    assertThat(join(verdict.reservation().refund())).isEqualTo(3);
    assertOutcome(fresh.withCost(COUNT), Outcome.ALLOWED);

    for (int i = 1; i < VIOLATIONS; i++) {
      assertOutcome(all, Outcome.LIMITED);
    }
    assertOutcome(all, Outcome.BANNED);
    assertOutcome(fresh, Outcome.BANNED);
    assertThat(peek(all).rules())
        .extracting(RuleVerdict::remaining)
        .containsExactly(5L, 5L, 5L, 5L, 0L, 0L);
    assertThat(peek(here).ban()).isEmpty();
    assertThat(peek(there).ban()).isEmpty();
    join(store.liftBans(List.of(key(here), key(there), key(fresh))));
    assertOutcome(all, Outcome.LIMITED);
    join(store.reset(List.of(key(here), key(there), key(fresh))));
    assertOutcome(all, Outcome.ALLOWED);
    assertThat(peek(all).rules()).extracting(RuleVerdict::remaining).containsOnly(5L);
  }

  /** All calls and the failures of one subject, each with a ban of its own. */
  @Test
  void theBansOfTwoKindsStayApart() {
    Policy login = Policy.of("login", rule(9, HOUR)).withBan(BanRule.of(VIOLATIONS, HOUR, HOUR));
    Policy failing =
        Policy.of("login", rule(1, HOUR))
            .withCounting(Counting.FAILURES)
            .withBan(BanRule.of(1, HOUR, HOUR));
    LimitRequest all = of(login, "ada");
    LimitRequest failures = of(failing, "ada");
    LimitRequest both = all.and(failures);
    begin(all);

    Verdict verdict = acquire(both);
    assertThat(verdict.allowed()).isTrue();
    join(verdict.reservation().settle(Completion.succeeded()));
    Verdict failed = acquire(both);
    join(failed.reservation().settle(Completion.failed()));
    assertThat(remaining(all)).containsExactly(7L);
    assertOutcome(both, Outcome.BANNED);
    assertThat(peek(failures).outcome()).isEqualTo(Outcome.BANNED);
    assertThat(peek(all).outcome()).isEqualTo(Outcome.ALLOWED);
    assertThat(remaining(all)).containsExactly(7L);
    join(store.liftBans(List.of(key(all))));
    assertThat(peek(failures).outcome()).isEqualTo(Outcome.BANNED);
    join(store.liftBans(List.of(key(failures))));
    assertThat(peek(failures).outcome()).isEqualTo(Outcome.LIMITED);
  }

  @Test
  void observedAndRecordedCallsHaveNothingToDoWithTheBan() {
    Policy policy = policy(COUNT, true, false);
    LimitRequest call = of(policy, "ada");
    begin(call);
    for (int i = 0; i < 2 * VIOLATIONS; i++) {
      assertThat(acquire(call.withCost(COUNT + 1).observe()).allowed()).isTrue();
    }
    assertThat(isAt(move.to(), key(call).ban())).isFalse();
    for (int i = 1; i < VIOLATIONS; i++) {
      assertOutcome(call.withCost(COUNT + 1), Outcome.LIMITED);
    }
    assertOutcome(call.withCost(COUNT + 1), Outcome.BANNED);
    assertThat(isAt(move.to(), key(call).ban())).isTrue();
    byte[] stored = storedAtTarget(key(call).ban());

    assertThat(acquire(call.observe()).ban()).isEmpty();
    assertOutcome(call.withCost(COUNT + 1).observe(), Outcome.ALLOWED);
    assertThat(join(store.decide(call, Mode.RECORD)).outcome()).isEqualTo(Outcome.ALLOWED);

    assertThat(storedAtTarget(key(call).ban())).isEqualTo(stored);
    assertThat(peek(call).rules().get(0).remaining()).isEqualTo(COUNT - 2);
    assertOutcome(call, Outcome.BANNED);
  }
}
