// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Completion;
import io.limiter.core.Reservation;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.RuleStack;
import io.limiter.micronaut.call.LimitedCall.Event;
import io.limiter.micronaut.call.LimitedCall.Phase;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.testing.Plans;
import io.micronaut.http.HttpRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * How a call ends: the table of docs/internals/architecture.md, and all sequences of what may be
 * observed.
 */
class CallEndsTest {

  private static final RuleStack FAILURES =
      RuleStack.of(List.of(FixedWindowRule.of(5, Duration.ofHours(1))))
          .withCounting(Counting.FAILURES);
  private static final LimitPlan PLAN = Plans.of(FAILURES);

  /** What may be observed of a call. */
  private enum Step {
    ENTER,
    PASS_GATE,
    CUT_OFF,
    RETURNED,
    THREW,
    ANSWERED_200,
    ANSWERED_409,
    ANSWERED_504,
    OVER,
    CANCELLED,
    ABANDONED,
    REQUEST_OVER
  }

  /** One call, and all that happens to what it holds. */
  private static final class Seen implements CallState, Reservation {

    final LimitedCall call;
    final List<End> ends = new ArrayList<>();
    final List<Step> steps = new ArrayList<>();
    int entered;
    int outlived;
    int settled;

    Seen(boolean route) {
      Verdict free = Verdict.free(PLAN.policy());
      call = LimitedCall.admitted(PLAN, free.withRules(rules(free), this), this);
      if (route) {
        call.attachTo(HttpRequest.GET("/"));
      }
    }

    private static Verdict.LazyRules rules(Verdict verdict) {
      return new Verdict.LazyRules() {
        @Override
        public List<RuleVerdict> rules() {
          return verdict.rules();
        }

        @Override
        public Optional<RuleVerdict> duplicate() {
          return Optional.empty();
        }
      };
    }

    void take(Step step) {
      boolean over = call.isOver();
      int before = entered + outlived + settled + ends.size();
      switch (step) {
        case ENTER -> assertThat(call.enter(null)).as("%s", steps).isEqualTo(!over);
        case PASS_GATE -> call.passGate();
        case CUT_OFF -> call.cutOff();
        case RETURNED -> call.on(new Event.Returned(null));
        case ANSWERED_200 -> call.on(new Event.Answered(200));
        case ANSWERED_409 -> call.on(new Event.Answered(409));
        case ANSWERED_504 -> call.on(new Event.Answered(504));
        default -> call.on(Event.Plain.valueOf(step.name()));
      }
      steps.add(step);
      if (over) {
        assertThat(entered + outlived + settled + ends.size()).as("%s", steps).isEqualTo(before);
      }
      assertThat(ends).as("%s", steps).hasSize(call.isOver() ? 1 : 0);
      assertThat(settled).as("%s", steps).isEqualTo(ends.size());
    }

    @Override
    public void entered() {
      entered++;
    }

    @Override
    public void outlived() {
      outlived++;
    }

    @Override
    public CompletionStage<?> over(End end) {
      ends.add(end);
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public CompletionStage<Long> settle(Completion completion) {
      settled++;
      return CompletableFuture.completedFuture(1L);
    }

    @Override
    public CompletionStage<Long> refund() {
      throw new AssertionError("refunded");
    }

    @Override
    public CompletionStage<Long> release() {
      throw new AssertionError("released");
    }

    @Override
    public CompletionStage<Long> renewPermits() {
      throw new AssertionError("renewed");
    }

    @Override
    public Optional<Duration> permitDuration() {
      return Optional.empty();
    }
  }

  @ParameterizedTest(name = "{0}: {1} → {2} {3}")
  @CsvSource({
    // of a route: the response ends it
    "route, ENTER RETURNED ANSWERED_200, RETURNED, 200, 0",
    "route, ENTER RETURNED ANSWERED_409, RETURNED, 409, 0",
    "route, ENTER THREW ANSWERED_409, THREW, 409, 0",
    "route, ENTER RETURNED, , , 0",
    "route, PASS_GATE ANSWERED_409, RETURNED, 409, 0",
    "route, ANSWERED_409, WAITING, 409, 0",
    // a filter did not wait for the method: its status counts, and the method ends the rest
    "route, ENTER ANSWERED_504, , , 1",
    "route, ENTER ANSWERED_504 RETURNED, RETURNED, 200, 1",
    "route, ENTER ANSWERED_504 THREW, THREW, 500, 1",
    // the client is gone
    "route, REQUEST_OVER, WAITING, 200, 0",
    "route, ENTER REQUEST_OVER, , , 1",
    "route, ENTER REQUEST_OVER RETURNED, RETURNED, 200, 1",
    "route, ENTER RETURNED REQUEST_OVER, RETURNED, 200, 0",
    "route, PASS_GATE REQUEST_OVER, RETURNED, 200, 0",
    "route, ABANDONED, WAITING, 200, 0",
    "route, CUT_OFF, WAITING, 200, 0",
    "route, PASS_GATE CUT_OFF, , , 0",
    "route, ENTER RETURNED CANCELLED, , , 0",
    "route, ENTER CANCELLED, RUNNING, 200, 0",
    // a stream is the response
    "route, ENTER RETURNED THREW OVER, THREW, 500, 0",
    "route, ENTER RETURNED ABANDONED, RETURNED, 200, 0",
    // of another bean, a job, or a message of a WebSocket: the method ends it
    "bean, ENTER RETURNED, RETURNED, 200, 0",
    "bean, ENTER THREW, THREW, 500, 0",
    "bean, ENTER CANCELLED, RUNNING, 200, 0",
    "bean, CANCELLED, WAITING, 200, 0",
    "bean, ENTER OVER RETURNED, RETURNED, 200, 1",
  })
  void endsAsTheTableSays(String of, String steps, Phase phase, Integer status, int outlived) {
    Seen seen = new Seen(of.equals("route"));
    for (String step : steps.split(" ")) {
      seen.take(Step.valueOf(step));
    }
    assertThat(seen.ends)
        .isEqualTo(phase == null ? List.of() : List.of(new CallState.End(phase, status)));
    assertThat(seen.outlived).isEqualTo(outlived);
  }

  /** Whatever is observed, in any order, it ends once, and nothing happens to it afterwards. */
  @Test
  void endsOnceInEachSequenceOfFive() {
    int length = 5;
    Step[] all = Step.values();
    int sequences = (int) Math.pow(all.length, length);
    int ended = 0;
    for (boolean route : new boolean[] {true, false}) {
      for (int number = 0; number < sequences; number++) {
        Seen seen = new Seen(route);
        for (int i = 0, rest = number; i < length; i++, rest /= all.length) {
          seen.take(all[rest % all.length]);
        }
        ended += seen.ends.size();
        assertEndFits(seen);
      }
    }
    assertThat(ended).isGreaterThan(sequences);
  }

  private static void assertEndFits(Seen seen) {
    if (seen.ends.isEmpty()) {
      return;
    }
    Phase phase = seen.ends.get(0).phase();
    boolean began =
        seen.steps.contains(Step.ENTER)
            || seen.steps.contains(Step.PASS_GATE)
            || seen.steps.contains(Step.RETURNED)
            || seen.steps.contains(Step.THREW);
    assertThat(phase).as("%s", seen.steps).isNotEqualTo(Phase.OVER);
    if (!began) {
      assertThat(phase).as("%s", seen.steps).isEqualTo(Phase.WAITING);
    }
    int status = seen.ends.get(0).status();
    if (status == 409 || status == 504) {
      assertThat(seen.steps)
          .as("%s", seen.ends)
          .containsAnyElementsOf(Arrays.asList(Step.ANSWERED_409, Step.ANSWERED_504));
    }
  }
}
