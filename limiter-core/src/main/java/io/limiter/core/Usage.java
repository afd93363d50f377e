// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import io.limiter.core.rule.AlignedWindow;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.SlidingWindowLogRule;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What a subject has used of one rule, and in which period: what a customer wants to know of a
 * quota. Times are those of the store's clock.
 *
 * @param rule the rule
 * @param used units that are used; all of them if the count was lowered below what is used. Those
 *     that instances hold in a {@linkplain io.limiter.core.rule.RuleStack#withLease lease} are used
 * @param left units that are left
 * @param begin the beginning of the window, for a sliding window one window ago. Empty for buckets
 *     and calls in flight, for a window that begins with the next call, and while a period of the
 *     calendar goes on although its subject has another day
 * @param end the end of the window; for sliding windows and buckets the time at which all units are
 *     left again if there are no calls until then. Empty for calls in flight, and for a window that
 *     begins with the next call
 */
public record Usage(
    Rule rule, long used, long left, Optional<Instant> begin, Optional<Instant> end) {

  static List<Usage> of(Verdict verdict) {
    long micros = verdict.decidedAtMicros();
    Instant now = micros == 0 ? Instant.now() : instant(micros);
    return verdict.rules().stream().map(rule -> of(rule, now)).toList();
  }

  private static Usage of(RuleVerdict verdict, Instant now) {
    Rule rule = verdict.rule();
    Instant replenished = now.plus(verdict.resetAfter());
    if (rule.holdsPermits()) {
      return new Usage(verdict, null, null);
    }
    if (rule instanceof FixedWindowRule fixed && fixed.alignment().isPresent()) {
      AlignedWindow window =
          AlignedWindow.of(
              fixed.alignment().get(),
              fixed.window(),
              ChronoUnit.MICROS.between(Instant.EPOCH, now));
      Instant end = instant(window.endMicros());
      return fixed.isBySubject() && replenished.isAfter(end) // it goes on under another day
          ? new Usage(verdict, null, replenished)
          : new Usage(verdict, instant(window.startMicros()), end);
    }
    if (rule instanceof FixedWindowRule) {
      return verdict.resetAfter().isZero()
          ? new Usage(verdict, null, null)
          : new Usage(verdict, replenished.minus(rule.window()), replenished);
    }
    boolean slides =
        rule instanceof SlidingWindowLogRule || rule instanceof SlidingWindowCounterRule;
    return new Usage(verdict, slides ? now.minus(rule.window()) : null, replenished);
  }

  private Usage(RuleVerdict verdict, @Nullable Instant begin, @Nullable Instant end) {
    this(
        verdict.rule(),
        verdict.used(),
        verdict.remaining(),
        Optional.ofNullable(begin),
        Optional.ofNullable(end));
  }

  private static Instant instant(long micros) {
    return Instant.EPOCH.plus(micros, ChronoUnit.MICROS);
  }
}
