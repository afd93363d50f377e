// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.races;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;
import static org.openjdk.jcstress.annotations.Expect.FORBIDDEN;

import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.rule.TokenBucketRule;
import java.time.Duration;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * What two threads may observe of {@link MemoryStore}, whose readers take no lock and retry by a
 * version, tried by jcstress on each interleaving that the processors show.
 */
final class MemoryRaces {

  /** More than the calls of one trial, so that none is left out for want of room. */
  private static final int ROOM = 16;

  private static final Duration HOUR = Duration.ofHours(1);

  private MemoryRaces() {}

  /** A store of its own for each trial, and a call of its only subject. */
  abstract static class Calls {

    private final MemoryStore store = new MemoryStore(ROOM, () -> 1_000_000_000L);
    private final LimitRequest call;

    Calls(Rule... rules) {
      this.call = LimitRequest.of(Policy.of("races", rules), Subject.global());
    }

    /** The number of units that it takes: 1, or 0 if it is denied. */
    int take() {
      return decided(Mode.ACQUIRE).allowed() ? 1 : 0;
    }

    /** The units that are left of a rule, by its position. */
    int[] left() {
      return decided(Mode.PEEK).rules().stream()
          .map(RuleVerdict::remaining)
          .mapToInt(Math::toIntExact)
          .toArray();
    }

    private Verdict decided(Mode mode) {
      return store.decide(call, mode).toCompletableFuture().join();
    }
  }

  /** One unit of a log: exactly one of two calls gets it. */
  @JCStressTest
  @State
  @Outcome(id = "1, 0", expect = ACCEPTABLE, desc = "the first call got it")
  @Outcome(id = "0, 1", expect = ACCEPTABLE, desc = "the second call got it")
  @Outcome(expect = FORBIDDEN, desc = "both got it, or neither")
  public static class LastUnitOfALog extends Calls {

    public LastUnitOfALog() {
      super(SlidingWindowLogRule.of(1, HOUR));
    }

    @Actor
    public void first(II_Result found) {
      found.r1 = take();
    }

    @Actor
    public void second(II_Result found) {
      found.r2 = take();
    }
  }

  /** One token: exactly one of two calls gets it. */
  @JCStressTest
  @State
  @Outcome(id = "1, 0", expect = ACCEPTABLE, desc = "the first call got it")
  @Outcome(id = "0, 1", expect = ACCEPTABLE, desc = "the second call got it")
  @Outcome(expect = FORBIDDEN, desc = "both got it, or neither")
  public static class LastToken extends Calls {

    public LastToken() {
      super(TokenBucketRule.of(1, 1, HOUR));
    }

    @Actor
    public void first(II_Result found) {
      found.r1 = take();
    }

    @Actor
    public void second(II_Result found) {
      found.r2 = take();
    }
  }

  /** A denied call reads without a lock: it may not miss what a call before it has taken. */
  @JCStressTest
  @State
  @Outcome(id = "1, 1, 1", expect = ACCEPTABLE, desc = "two of three were admitted, each counts")
  @Outcome(expect = FORBIDDEN, desc = "a unit was lost or invented")
  public static class UnitsAddUp extends Calls {

    public UnitsAddUp() {
      super(FixedWindowRule.of(3, HOUR));
    }

    @Actor
    public void first(III_Result found) {
      found.r1 = take();
    }

    @Actor
    public void second(III_Result found) {
      found.r2 = take();
    }

    /** What is left once both have ended. */
    @Arbiter
    public void left(III_Result found) {
      found.r3 = left()[0];
    }
  }

  /** A call under two rules is seen by a peek as a whole, or not at all. */
  @JCStressTest
  @State
  @Outcome(id = "1, 2, 2", expect = ACCEPTABLE, desc = "before the call")
  @Outcome(id = "1, 1, 1", expect = ACCEPTABLE, desc = "after it")
  @Outcome(expect = FORBIDDEN, desc = "one rule has counted the call, and the other has not")
  public static class AllRulesOrNone extends Calls {

    public AllRulesOrNone() {
      super(SlidingWindowLogRule.of(2, HOUR), SlidingWindowLogRule.of(2, HOUR.multipliedBy(2)));
    }

    @Actor
    public void call(III_Result found) {
      found.r1 = take();
    }

    @Actor
    public void look(III_Result found) {
      int[] left = left();
      found.r2 = left[0];
      found.r3 = left[1];
    }
  }
}
