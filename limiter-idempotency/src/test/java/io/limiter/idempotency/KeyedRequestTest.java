// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.StateKey;
import io.limiter.idempotency.Holding.Times;
import io.limiter.idempotency.Submissions.Held;
import io.limiter.idempotency.Submissions.Request;
import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * All orders of what may happen to a request with a key: no end is lost, none comes twice, and a
 * key is free only if the method has not begun, or has failed.
 */
class KeyedRequestTest {

  private static final byte[] BYTES = {1};

  /** What may happen, each at most once, in any order that is possible. */
  private enum Step {
    CLAIMED,
    ENTER,
    RETURNS,
    RETURNS_503,
    THROWS,
    IS_CANCELLED,
    ANSWERED,
    OVER;

    private static final Set<Step> ENDS = Set.of(RETURNS, RETURNS_503, THROWS, IS_CANCELLED);

    boolean mayFollow(List<Step> before, boolean hasEntered) {
      if (before.contains(this)) {
        return false;
      }
      if (ENDS.contains(this)) {
        return hasEntered && before.stream().noneMatch(ENDS::contains);
      }
      return this != ENTER || before.contains(CLAIMED);
    }
  }

  /** One run of some steps. */
  private static final class Run {

    private final ManualTiming timing = new ManualTiming();
    private final SubmissionStore store = new MemorySubmissions(10, 1_000, 1_000, timing::nanos);
    private final Submissions submissions =
        new Submissions(
            store,
            timing,
            new RandomBytes(Claim.TOKEN_BYTES, Runnable::run),
            1_000,
            (route, outcome) -> {});
    private final Request request =
        new Request(
            new StateKey("tag", "a.key"),
            BYTES,
            Entry.NONE,
            Times.of(Duration.ofSeconds(30), Duration.ofHours(24), Duration.ofHours(1)),
            "route");
    private final KeyedRequest call;
    private boolean hasEntered;

    Run(boolean repeats, boolean seesMethod) {
      call =
          new KeyedRequest(
              new Terms(
                  "route",
                  Duration.ofHours(24),
                  repeats,
                  Duration.ofSeconds(30),
                  Duration.ofSeconds(2),
                  Set.of(),
                  true,
                  false,
                  new SubjectSource.User(Anonymous.REJECT),
                  seesMethod),
              request);
    }

    void make(Step step) {
      switch (step) {
        case CLAIMED ->
            call.claimed(SubmissionStoreContract.join(submissions.claim(request)).held());
        case ENTER -> hasEntered = call.enter();
        case RETURNS -> call.returned("result");
        case RETURNS_503 -> call.returned(HttpResponse.status(HttpStatus.SERVICE_UNAVAILABLE));
        case THROWS -> call.threw();
        case IS_CANCELLED -> call.cancelled();
        case ANSWERED -> {
          Held held = call.answered();
          if (held != null) {
            held.end(End.answer(BYTES));
          }
        }
        case OVER -> call.over();
      }
    }

    /** What another request finds after an hour, in which all that is to be written is. */
    Found.Kind found() {
      timing.pass(Duration.ofMinutes(50));
      Claim other = new Claim(request.key(), new byte[Claim.TOKEN_BYTES], BYTES, Entry.NONE);
      return SubmissionStoreContract.join(store.claim(other, Duration.ofSeconds(1))).kind();
    }
  }

  private int runs;

  @ParameterizedTest
  @CsvSource({"true, true", "false, true", "true, false"})
  void everyOrderHasOneEnd(boolean repeats, boolean seesMethod) {
    explore(new ArrayList<>(), repeats, seesMethod);
    assertThat(runs).isGreaterThan(30);
  }

  private void explore(List<Step> steps, boolean repeats, boolean seesMethod) {
    runs++;
    Run run = new Run(repeats, seesMethod);
    steps.forEach(run::make);
    boolean hasEntered = run.hasEntered;
    assertThat(run.found())
        .as(steps.toString())
        .isEqualTo(expected(steps, hasEntered, repeats, seesMethod));
    if (steps.contains(Step.ENTER)) {
      int end = Math.min(position(steps, Step.ANSWERED), position(steps, Step.OVER));
      assertThat(hasEntered).as(steps.toString()).isEqualTo(steps.indexOf(Step.ENTER) < end);
    }
    for (Step next : Step.values()) {
      boolean isOfMethod = Step.ENDS.contains(next);
      if (next.mayFollow(steps, hasEntered) && (seesMethod || !isOfMethod)) {
        List<Step> more = new ArrayList<>(steps);
        more.add(next);
        explore(more, repeats, seesMethod);
      }
    }
  }

  private static int position(List<Step> steps, Step step) {
    int index = steps.indexOf(step);
    return index < 0 ? Integer.MAX_VALUE : index;
  }

  private static Found.Kind expected(
      List<Step> steps, boolean hasEntered, boolean repeats, boolean seesMethod) {
    boolean isOver = steps.contains(Step.ANSWERED) || steps.contains(Step.OVER);
    if (!steps.contains(Step.CLAIMED)) {
      return Found.Kind.CLAIMED; // free, so the other request has claimed it
    }
    if (!hasEntered) {
      return isOver ? Found.Kind.CLAIMED : Found.Kind.RUNNING;
    }
    if (steps.contains(Step.THROWS) || steps.contains(Step.RETURNS_503)) {
      return Found.Kind.CLAIMED;
    }
    if (steps.contains(Step.IS_CANCELLED)) {
      return Found.Kind.DONE;
    }
    int returned = seesMethod ? position(steps, Step.RETURNS) : steps.indexOf(Step.ENTER);
    int answered = position(steps, Step.ANSWERED);
    int over = position(steps, Step.OVER);
    if (returned == Integer.MAX_VALUE) {
      return Found.Kind.RUNNING;
    }
    if (!repeats && seesMethod) {
      return Found.Kind.DONE;
    }
    if (answered == Integer.MAX_VALUE && over == Integer.MAX_VALUE) {
      return Found.Kind.RUNNING;
    }
    return answered > returned && answered < over ? Found.Kind.ANSWERED : Found.Kind.DONE;
  }
}
