// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.core.Completion;
import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.Policy;
import io.limiter.core.Reservation;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.ConcurrencyLimitRule;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/** What the pages show of calls that have an end, without annotations. */
final class EndingsFromCode {

  private EndingsFromCode() {}

  static LimitRequest export(Subject user) {
    Policy exports =
        Policy.of("exports", ConcurrencyLimitRule.of(3)); // 3-in-flight, each permit for up to 30 s

    return LimitRequest.of(exports, user);
  }

  static <T> CompletionStage<T> run(
      Verdict admitted, Supplier<T> work, ScheduledExecutorService timer) {
    Reservation reservation = admitted.reservation();
    long third = reservation.permitDuration().orElse(Duration.ofMinutes(1)).toMillis() / 3;
    ScheduledFuture<?> renewals =
        timer.scheduleAtFixedRate(reservation::renewPermits, third, third, TimeUnit.MILLISECONDS);
    return CompletableFuture.supplyAsync(work, timer)
        .whenComplete(
            (result, failure) -> {
              renewals.cancel(false);
              reservation.settle(failure == null ? Completion.succeeded() : Completion.failed());
            });
  }

  static void rows(Limiter limiter, LimitRequest query, List<String> rows) {
    limiter
        .acquire(query.withCost(100)) // the estimate
        .thenCompose(
            verdict -> limiter.settle(verdict, Completion.succeeded().withCost(rows.size())));
  }
}
