// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.call;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.LeakyBucketRule;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletionStage;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Leaky buckets: the places and the departures of calls that are abandoned. */
public interface LeaverContract extends LeakyBucketContract {

  @Test
  default void inAFairBucketADepartureThatIsGivenUpPassesUnusedAndItsPlaceIsFree() {
    LimitRequest call = call(LeakyBucketContract.twoASecond());
    acquire(5, call);
    Verdict leaver = acquire(call);
    acquire(5, call);
    assertLimited(call);
    assertThat(refund(leaver)).isEqualTo(1);
    assertThat(refund(leaver)).isZero();
    assertThat(wait(call)).isEqualTo(HALF.multipliedBy(11));
    assertLimited(call);
    advance(HALF.multipliedBy(5)); // at the departure of the abandoned call none departs
    assertThat(peek(call).rules().get(0).effectiveWindow()).isEqualTo(HALF);
    assertThat(remaining(call)).isEqualTo(4);
  }

  @Test
  default void inAnUnfairBucketTheNextCallTakesTheEarliestDepartureThatWasGivenUp() {
    LimitRequest call = call(LeakyBucketContract.twoASecond().withFair(false));
    List<Verdict> all = new ArrayList<>();
    for (int i = 0; i <= 10; i++) {
      all.add(acquire(call));
    }
    refund(all.get(4));
    refund(all.get(3));
    assertThat(peek(call.withCost(2)).delay()).isEqualTo(HALF.multipliedBy(11));
    assertThat(wait(call)).isEqualTo(HALF.multipliedBy(3));
    assertThat(wait(call)).isEqualTo(HALF.multipliedBy(4));
    assertLimited(call);
  }

  /** Which departures are free is not known then, but how many places are. */
  @Test
  default void departuresGivenUpAroundAWaitingCallAreNotTakenAgain() {
    LimitRequest call = call(LeakyBucketContract.twoASecond().withFair(false));
    List<Verdict> all = new ArrayList<>();
    for (int i = 0; i <= 10; i++) {
      all.add(acquire(call));
    }
    refund(all.get(3));
    refund(all.get(5));
    assertThat(remaining(call)).isEqualTo(2);
    assertThat(wait(call)).isEqualTo(HALF.multipliedBy(11));
    refund(all.get(4));
    assertThat(wait(call)).isEqualTo(HALF.multipliedBy(3));
    assertThat(wait(call)).isEqualTo(HALF.multipliedBy(4));
    assertLimited(call);
  }

  @Test
  default void anUnfairBucketReusesTheLastDepartureThatWasGivenUp() {
    LimitRequest call = call(LeakyBucketContract.twoASecond().withFair(false));
    acquire(2, call);
    Verdict middle = acquire(call);
    Verdict last = acquire(call.withCost(3));
    refund(middle);
    refund(last);
    assertThat(peek(call).rules().get(0).resetAfter()).isEqualTo(SECOND);
    assertThat(wait(call.withCost(4))).isEqualTo(SECOND);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  default void aCallThatHasDepartedHasNothingToGiveBack(boolean fair) {
    LimitRequest call = call(LeakyBucketContract.twoASecond().withFair(fair));
    Verdict first = acquire(call);
    Verdict second = acquire(call);
    Verdict third = acquire(call);
    assertThat(refund(first)).isZero(); // it did not wait
    advance(HALF);
    assertThat(refund(second)).isZero();
    advance(HALF.minus(TICK));
    assertThat(refund(third)).isEqualTo(1);
    advance(TICK);
    assertThat(wait(call)).isEqualTo(fair ? HALF : Duration.ZERO);
  }

  @Test
  default void noDepartureOfAQueueThatWasResetIsGivenBackToAnother() {
    LimitRequest call = call(LeakyBucketContract.twoASecond());
    acquire(2, call);
    Verdict lost = acquire(call);
    assertThat(store().reset(List.of(call.charge(0).key())))
        .succeedsWithin(SECOND.multipliedBy(10));
    assertThat(refund(lost)).isZero();
    advance(TICK);
    acquire(4, call);
    assertThat(refund(lost)).isZero();
    assertThat(remaining(call)).isEqualTo(7);
  }

  @Test
  default void aCallBeyondTheQueueMayTakeADepartureThatWasGivenUp() {
    LimitRequest call =
        call(LeakyBucketRule.of(2, SECOND, 100, Duration.ofMillis(1_200)).withFair(false));
    acquire(1, call);
    Verdict leaver = acquire(call);
    acquire(1, call);
    assertLimited(call);
    refund(leaver);
    assertThat(remaining(call)).isEqualTo(1);
    assertRetryAfterIsExact(call.withCost(2), Duration.ofMillis(800));
  }

  /** Whatever comes and goes: no call departs sooner than an interval after another. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  default void noTwoCallsDepartLessThanAnIntervalApart(boolean fair) {
    LimitRequest call = call(LeakyBucketRule.of(7, SECOND, 30, MINUTE).withFair(fair));
    Random random = new Random(11);
    record Departure(Verdict verdict, Instant at) {}
    List<Departure> departures = new ArrayList<>();
    for (int i = 0; i < 1_500; i++) {
      advance(TICK.multipliedBy(random.nextInt(60_000)));
      Verdict verdict = acquire(call);
      if (verdict.allowed()) {
        departures.add(new Departure(verdict, now().plus(verdict.delay())));
      }
      int who = departures.size() - 1 - random.nextInt(Math.min(20, departures.size()));
      if (random.nextInt(12) == 0 && now().isBefore(departures.get(who).at)) {
        assertThat(refund(departures.remove(who).verdict)).isEqualTo(1);
      }
    }
    List<Instant> times = departures.stream().map(Departure::at).sorted().toList();
    assertThat(times).hasSizeGreaterThan(150);
    for (int i = 1; i < times.size(); i++) {
      assertThat(StoreHarness.micros(times.get(i - 1), times.get(i)))
          .isGreaterThanOrEqualTo(1_000_000 / 7);
    }
  }

  /** Only the positions of the abandoned departures are lost. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  default void everyOtherOfManyMayLeave(boolean fair) {
    LimitRequest call = call(LeakyBucketRule.of(2, SECOND, 60, MINUTE).withFair(fair));
    List<Verdict> all = new ArrayList<>();
    for (int i = 0; i <= 60; i++) {
      all.add(acquire(call));
    }
    for (int i = 1; i < 60; i += 2) {
      assertThat(refund(all.get(i))).isEqualTo(1);
    }
    assertThat(remaining(call)).isEqualTo(30);
    Duration delay = wait(call);
    assertThat(delay).isEqualTo(HALF.multipliedBy(61));
    for (int i = 2; i <= 60; i += 2) {
      assertThat(refund(all.get(i))).isEqualTo(1);
    }
    assertThat(remaining(call)).isEqualTo(59);
  }

  /** No more at a time than a store takes. */
  private static <T> List<T> tenThousand(IntFunction<CompletionStage<T>> action) {
    List<T> done = new ArrayList<>();
    while (done.size() < 10_000) {
      int from = done.size();
      IntStream.range(from, from + 100)
          .mapToObj(i -> action.apply(i).toCompletableFuture())
          .toList()
          .forEach(one -> done.add(one.join()));
    }
    return done;
  }

  /** All calls are abandoned, in no order: the queue is as free as before. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  default void tenThousandLeaversLeaveNothingBehind(boolean fair) {
    LimitRequest call =
        call(LeakyBucketRule.of(100, SECOND, 10_000, SECOND.multipliedBy(120)).withFair(fair));
    acquire(1, call);
    List<Verdict> waiting = tenThousand(i -> store().decide(call, Mode.ACQUIRE));
    assertThat(waiting).allMatch(Verdict::allowed);
    assertLimited(call);
    Collections.shuffle(waiting, new Random(5));
    assertThat(tenThousand(i -> waiting.get(i).reservation().refund())).containsOnly(1L);
    assertThat(remaining(call)).isEqualTo(fair ? 2_000 : 10_000); // the others would wait too long
    advance(fair ? SECOND.multipliedBy(100) : Duration.ofMillis(10));
    RuleVerdict unused = peek(call).rules().get(0);
    assertThat(unused.resetAfter()).isEqualTo(fair ? Duration.ofMillis(10) : Duration.ZERO);
    assertThat(unused.remaining()).isEqualTo(fair ? 10_000 : 10_001);
  }

  /** A crowd in which every other call is abandoned, most of them from the middle of the queue. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6})
  default void abandonedCallsAreCountedAsInTheModel(long seed) {
    Random random = new Random(seed);
    LeakyBucketRule bucket =
        LeakyBucketRule.of(7, SECOND, 60, SECOND.multipliedBy(20)).withFair(seed % 2 == 0);
    LimitRequest call = call("crowd", bucket);
    List<Step> steps = new ArrayList<>();
    long clock = StoreHarness.micros(Instant.EPOCH, now());
    for (int id = 0; id < 1_200; id++) {
      clock += random.nextInt(3) == 0 ? random.nextInt(150_000) : 0;
      int dice = random.nextInt(100);
      Step.Action action =
          dice < 45 && id > 0
              ? new Step.GiveBack(Math.max(0, id - 1 - random.nextInt(90)), false)
              : new Step.Decide(
                  call.withCost(random.nextInt(8) == 0 ? 2 + random.nextInt(3) : 1),
                  dice < 90 ? Mode.ACQUIRE : dice < 95 ? Mode.RECORD : Mode.PEEK);
      steps.add(new Step(id, clock, action));
    }
    new Scenario(seed, steps)
        .check(
            all -> {
              store().reset(Scenario.keys(all)).toCompletableFuture().join();
              return Scenario.run(
                  all, store(), time -> at(Instant.EPOCH.plus(time, ChronoUnit.MICROS)));
            });
  }
}
