// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.plot;

import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongConsumer;
import java.util.stream.IntStream;

/**
 * The outcomes of the same calls under one policy. Times are milliseconds from the beginning, which
 * is where an aligned window begins.
 *
 * @param calls in the order in which they came
 * @param left units left of the only rule, at each look and after each call
 * @param bans the looks during a ban
 */
record Run(List<Call> calls, List<Left> left, List<Integer> bans) {

  /** How long it lasts. */
  static final int LENGTH = 30_000;

  /** The time between two looks; calls come at looks. */
  static final int STEP = 50;

  /** The window of all rules that are drawn. */
  static final Duration WINDOW = Duration.ofSeconds(10);

  private static final long BEGIN_MICROS = 1_700_000_000_000_000L;

  /**
   * @param departs when it may begin, if it is admitted: later than it came if it has to wait
   */
  record Call(int at, boolean admitted, int departs) {}

  record Left(int at, long units) {}

  /**
   * Twelve calls in a row shortly before a window's end and again shortly after it; then a stream
   * that requests five where three are available.
   */
  private static final List<Integer> ARRIVALS =
      IntStream.concat(
              IntStream.concat(
                  IntStream.range(0, 12).map(i -> 7_000 + 200 * i),
                  IntStream.range(0, 12).map(i -> 10_400 + 200 * i)),
              IntStream.range(0, 25).map(i -> 15_000 + 600 * i))
          .boxed()
          .toList();

  /**
   * @param clock sets the store's clock, in microseconds
   */
  static Run of(Policy policy, LimitStore store, LongConsumer clock) {
    LimitRequest call = LimitRequest.of(policy, new Subject("user", "somebody"));
    store.reset(List.of(call.charge(0).key())).toCompletableFuture().join();
    Run run = new Run(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
    for (int at = 0; at <= LENGTH; at += STEP) {
      clock.accept(BEGIN_MICROS + 1_000L * at);
      run.look(at, decide(store, call, Mode.PEEK));
      if (ARRIVALS.contains(at)) {
        Verdict verdict = decide(store, call, Mode.ACQUIRE);
        run.calls.add(new Call(at, verdict.allowed(), at + (int) verdict.delay().toMillis()));
        run.look(at, verdict);
      }
    }
    return run;
  }

  private static Verdict decide(LimitStore store, LimitRequest call, Mode mode) {
    return store.decide(call, mode).toCompletableFuture().join();
  }

  private void look(int at, Verdict verdict) {
    left.add(new Left(at, verdict.rules().get(0).remaining()));
    if (verdict.ban().isPresent()) {
      bans.add(at);
    }
  }

  /** When admitted calls departed, or denied calls came. */
  List<Integer> times(boolean admitted) {
    return calls.stream()
        .filter(call -> call.admitted == admitted)
        .map(call -> admitted ? call.departs : call.at)
        .toList();
  }

  /** Whether any call had to wait. */
  boolean waits() {
    return calls.stream().anyMatch(call -> call.departs > call.at);
  }

  /** The most calls that departed in any interval of a window's length. */
  int most() {
    List<Integer> admitted = times(true);
    int most = 0;
    int from = 0;
    for (int to = 0; to < admitted.size(); to++) {
      while (admitted.get(to) - admitted.get(from) >= WINDOW.toMillis()) {
        from++;
      }
      most = Math.max(most, to - from + 1);
    }
    return most;
  }
}
