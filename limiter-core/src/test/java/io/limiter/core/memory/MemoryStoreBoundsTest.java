// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Charge;
import io.limiter.core.FadingCounter;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The cost of a flood of subjects, and its effect on other subjects. */
@Tag("matrix")
class MemoryStoreBoundsTest {

  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final Rule TWICE = rule(2, MINUTE);

  /** Admitted calls of a known subject that inspect each bucket of a table for a hundred logs. */
  private static final int SWEEP = 8 * 128;

  private long clock;

  private MemoryStore store(int maxSubjects) {
    return new MemoryStore(maxSubjects, () -> clock);
  }

  private static Verdict acquire(MemoryStore store, LimitRequest call) {
    return store.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
  }

  private static Outcome outcome(MemoryStore store, LimitRequest call) {
    return acquire(store, call).outcome();
  }

  @Test
  @Tag("flood")
  void aMillionLiveSubjectsTakeNoMoreRoomThanAllowed() {
    MemoryStore store = store(10_000);
    LimitRequest denied = call("denied", TWICE);
    LimitRequest served = call("served", rule(1_000_000, MINUTE));
    acquire(store, denied);
    acquire(store, denied);
    for (int i = 0; i < 1_000_000; i++) {
      acquire(store, call("stranger " + i, TWICE));
      if (i % 1_000 == 0) {
        assertThat(outcome(store, served)).isEqualTo(Outcome.ALLOWED);
      }
    }
    assertThat(store.subjects()).isBetween(9_500, 10_000);
    assertThat(outcome(store, denied)).isEqualTo(Outcome.LIMITED);
    assertThat(acquire(store, served).rules().get(0).remaining()).isEqualTo(1_000_000 - 1_001);
  }

  @Test
  @Tag("flood")
  void aMillionExpiringSubjectsNeverFillTheStore() {
    MemoryStore store = store(10_000);
    Rule brief = rule(1, SECOND);
    int most = 0;
    for (int i = 0; i < 1_000_000; i++) {
      clock += 1_000; // so 2,000 live within a second and the grace of another
      assertThat(outcome(store, call("stranger " + i, brief))).isEqualTo(Outcome.ALLOWED);
      if (i % 10_000 == 0) {
        most = Math.max(most, store.subjects());
      }
    }
    assertThat(most).isLessThan(5_000);
  }

  @Test
  void expiredSubjectsGoAsOthersAreServedAndALiveOneStays() {
    MemoryStore store = store(200);
    LimitRequest longLived = call("long", rule(1, Duration.ofDays(1)));
    acquire(store, longLived);
    for (int i = 0; i < 100; i++) {
      acquire(store, call("stranger " + i, TWICE));
    }
    clock += 62_000_000;
    assertThat(store.subjects()).isEqualTo(101);
    LimitRequest regular = call("regular", rule(SWEEP + 1, MINUTE));
    for (int i = 0; i < SWEEP; i++) {
      acquire(store, regular);
    }
    assertThat(store.subjects()).isEqualTo(2);
    assertThat(outcome(store, longLived)).isEqualTo(Outcome.LIMITED);
  }

  @Test
  void inAFullStoreNewSubjectsShareWhatTheRulesAllowASingleOne() {
    MemoryStore store = full();
    LimitRequest first = call("first", TWICE);
    assertThat(acquire(store, first).rules().get(0).remaining()).isEqualTo(1);
    assertThat(outcome(store, call("second", TWICE))).isEqualTo(Outcome.ALLOWED);
    Verdict third = acquire(store, call("third", TWICE));
    assertThat(third.outcome()).isEqualTo(Outcome.LIMITED);
    assertThat(third.retryAfter()).contains(MINUTE);
    assertThat(outcome(store, call("known 0", TWICE))).isEqualTo(Outcome.ALLOWED);
    assertThat(store.subjects()).isEqualTo(4);
  }

  @Test
  void strangersHaveLogsOfTheirOwnAgainOnceOthersHaveExpired() {
    MemoryStore store = full();
    outcome(store, call("first", TWICE));
    outcome(store, call("second", TWICE));
    clock += 61_000_000;
    for (int i = 0; i < 4; i++) {
      assertThat(acquire(store, call("stranger " + i, TWICE)).rules().get(0).remaining())
          .isEqualTo(1);
    }
  }

  @Test
  void limitsAndSubjectsOfDifferentKindsHaveOverflowsOfTheirOwn() {
    MemoryStore store = full();
    Policy other = Policy.of("other", TWICE);
    Charge user = charge(other, "user");
    Charge address = charge(other, "address");
    LimitRequest both = new LimitRequest(other, List.of(user, address), Optional.empty());
    outcome(store, call("first", TWICE));
    outcome(store, call("second", TWICE));
    assertThat(acquire(store, both).rules()).allMatch(rule -> rule.remaining() == 1);
    assertThat(outcome(store, both)).isEqualTo(Outcome.ALLOWED);
    assertThat(outcome(store, both)).isEqualTo(Outcome.LIMITED);
  }

  private static Charge charge(Policy policy, String kind) {
    return LimitRequest.of(policy, new Subject(kind, "x")).charge(0);
  }

  @Test
  void moreLimitsThanTheOverflowHoldsShareOneLog() {
    MemoryStore store = full();
    for (int i = 0; i < 66; i++) {
      assertThat(outcome(store, underLimit(i))).isEqualTo(Outcome.ALLOWED);
    }
    assertThat(outcome(store, underLimit(1_000))).isEqualTo(Outcome.LIMITED);
    assertThat(outcome(store, underLimit(0))).isEqualTo(Outcome.ALLOWED);
  }

  @Test
  void anOverflowThatHasExpiredMakesRoomForThatOfAnotherLimit() {
    MemoryStore store = full();
    for (int i = 0; i < 66; i++) {
      acquire(store, underLimit(i));
    }
    clock += 30_000_000;
    for (int i = 0; i < 4; i++) {
      acquire(store, call("known " + i, TWICE)); // so that the store stays full
    }
    clock += 32_000_000;
    for (int i = 0; i < 2; i++) {
      assertThat(outcome(store, underLimit(1_000))).isEqualTo(Outcome.ALLOWED);
      assertThat(outcome(store, underLimit(1_001))).isEqualTo(Outcome.ALLOWED);
    }
    assertThat(outcome(store, underLimit(1_000))).isEqualTo(Outcome.LIMITED);
  }

  private static LimitRequest underLimit(int i) {
    return LimitRequest.of(Policy.of("limit " + i, TWICE), Subject.global());
  }

  @Test
  void unitsOfTheOverflowAreGivenBackThere() {
    MemoryStore store = full();
    LimitRequest first = call("first", TWICE);
    Verdict taken = acquire(store, first.withCost(2));
    store.reset(List.of(first.charge(0).key(), call("known 0", TWICE).charge(0).key()));
    assertThat(acquire(store, first).rules().get(0).remaining()).isEqualTo(1);
    assertThat(outcome(store, call("second", TWICE))).isEqualTo(Outcome.LIMITED);
    assertThat(taken.reservation().refund()).isCompletedWithValue(2L);
    assertThat(outcome(store, call("second", TWICE))).isEqualTo(Outcome.ALLOWED);
    assertThat(outcome(store, first)).isEqualTo(Outcome.ALLOWED);
  }

  @Test
  void inAFullStorePeekTakesNothing() {
    MemoryStore store = full();
    LimitRequest first = call("first", TWICE);
    for (int i = 0; i < 3; i++) {
      Verdict look = store.decide(first, Mode.PEEK).toCompletableFuture().join();
      assertThat(look.rules().get(0).remaining()).isEqualTo(2);
    }
  }

  @Test
  void inAFullStoreNoSubmissionIsADuplicateButTheLimitsHold() {
    MemoryStore store = store(1);
    Policy policy = Policy.of("policy", TWICE).withDuplicates(rule(1, MINUTE));
    LimitRequest known = LimitRequest.of(policy, new Subject("user", "known"));
    LimitRequest stranger = LimitRequest.of(policy, new Subject("user", "stranger"));
    acquire(store, call("known", TWICE));
    assertThat(outcome(store, known)).isEqualTo(Outcome.ALLOWED);
    assertThat(outcome(store, stranger)).isEqualTo(Outcome.ALLOWED);
    Verdict again = acquire(store, stranger);
    assertThat(again.outcome()).isEqualTo(Outcome.ALLOWED);
    assertThat(again.reservation().refund()).isCompletedWithValue(1L);
    assertThat(outcome(store, known)).isEqualTo(Outcome.LIMITED);
  }

  @Test
  void keysOfAStripedStoreAreSharedOutEvenly() {
    MemoryStore store = store(100_000);
    for (int i = 0; i < 90_000; i++) {
      store.decide(
          LimitRequest.of(Policy.of("p", TWICE), new Subject("ip", "a" + i)), Mode.ACQUIRE);
    }
    assertThat(store.subjects()).isEqualTo(90_000);
    StateKey key = LimitRequest.of(Policy.of("p", TWICE), new Subject("ip", "a7")).charge(0).key();
    assertThat(store.dump(key)).isPresent();
  }

  @Test
  void inAFullStoreStrangersShareTheNumbersAndTheBansOfOtherAlgorithms() {
    MemoryStore store = full();
    Policy policy =
        Policy.of("banning", FixedWindowRule.of(2, MINUTE)).withBan(BanRule.of(1, MINUTE, MINUTE));
    assertThat(outcome(store, stranger(policy, 1))).isEqualTo(Outcome.ALLOWED);
    Verdict second = acquire(store, stranger(policy, 2));
    assertThat(second.rules().get(0).remaining()).isZero();
    assertThat(second.reservation().refund()).isCompletedWithValue(1L);
    assertThat(outcome(store, stranger(policy, 3))).isEqualTo(Outcome.ALLOWED);
    assertThat(outcome(store, stranger(policy, 4))).isEqualTo(Outcome.BANNED);
    assertThat(outcome(store, stranger(policy, 5))).isEqualTo(Outcome.BANNED);
    assertThat(outcome(store, call("known 0", TWICE))).isEqualTo(Outcome.ALLOWED);
    assertThat(store.subjects()).isEqualTo(4);
  }

  private static LimitRequest stranger(Policy policy, int i) {
    return LimitRequest.of(policy, new Subject("user", "stranger " + i));
  }

  @Test
  void aFullyReplenishedSubjectIsRemovedAsOthersAreServed() {
    List<Rule> rules =
        List.of(
            SlidingWindowCounterRule.of(2, SECOND),
            FixedWindowRule.of(2, SECOND),
            FixedWindowRule.aligned(2, SECOND, ZoneOffset.UTC),
            TokenBucketRule.of(2, 1, SECOND),
            TokenBucketRule.of(2, 1, SECOND).byInterval(),
            CustomRule.of(new FadingCounter(), 2, SECOND, 2.0));
    for (Rule rule : rules) {
      MemoryStore store = store(200);
      for (int i = 0; i < 100; i++) {
        acquire(store, call("stranger " + i, rule));
      }
      assertThat(store.subjects()).isEqualTo(100);
      clock += 6_000_000;
      LimitRequest regular = call("regular", rule(SWEEP, MINUTE));
      for (int i = 0; i < SWEEP; i++) {
        acquire(store, regular);
      }
      assertThat(store.subjects()).as("%s", rule).isEqualTo(1);
    }
  }

  @Test
  void theStateOfABannedSubjectIsKeptAsLongAsItsBanMayGrow() {
    MemoryStore store = store(10);
    Policy policy = Policy.of("banning", FixedWindowRule.of(1, SECOND));
    BanRule ban = BanRule.of(1, SECOND, MINUTE).growing(2, MINUTE.multipliedBy(4));
    LimitRequest banned = stranger(policy.withBan(ban), 1).withCost(2);
    assertThat(acquire(store, banned).ban()).contains(MINUTE);
    for (int minutes = 0; minutes < 3; minutes++) {
      clock += 60_000_000;
      acquire(store, call("other", TWICE));
      acquire(store, call("other", TWICE));
    }
    assertThat(acquire(store, banned).ban()).contains(MINUTE.multipliedBy(2));
    clock += 10 * 60_000_000;
    assertThat(acquire(store, banned).ban()).contains(MINUTE);
  }

  @Test
  void anExpiredBanMakesRoomForTheNextOneOfItsSubject() {
    MemoryStore store = store(2);
    Policy policy = Policy.of("banning", FixedWindowRule.of(1, Duration.ofDays(1)));
    LimitRequest banned = stranger(policy.withBan(BanRule.of(1, SECOND, SECOND)), 1);
    acquire(store, banned);
    assertThat(acquire(store, banned).ban()).contains(SECOND);
    clock += 10_000_000;
    assertThat(acquire(store, banned).ban()).contains(SECOND);
    clock += 400_000;
    assertThat(acquire(store, banned).ban()).contains(Duration.ofMillis(600));
  }

  /** A store for four, with four live subjects. */
  private MemoryStore full() {
    MemoryStore store = store(4);
    for (int i = 0; i < 4; i++) {
      acquire(store, call("known " + i, TWICE));
    }
    return store;
  }

  @Test
  void inAFullStoreAKnownSubjectIsBannedAllTheSame() {
    MemoryStore store = store(4);
    Policy policy =
        Policy.of("banning", FixedWindowRule.of(2, SECOND))
            .withBan(BanRule.of(2, MINUTE, Duration.ofHours(1)));
    for (int i = 0; i < 4; i++) {
      acquire(store, stranger(policy, i));
    }
    for (int i = 0; i < 4; i++) {
      acquire(store, stranger(policy, i).withCost(3));
      assertThat(acquire(store, stranger(policy, i).withCost(3)).ban())
          .contains(Duration.ofHours(1));
    }
    clock += 10_000_000;
    for (int i = 0; i < 9; i++) {
      acquire(store, call("flood " + i, TWICE));
    }
    for (int i = 0; i < 4; i++) {
      assertThat(outcome(store, stranger(policy, i))).isEqualTo(Outcome.BANNED);
    }
    assertThat(store.subjects()).isEqualTo(8);
  }
}
