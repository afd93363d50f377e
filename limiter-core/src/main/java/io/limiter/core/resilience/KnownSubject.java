// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.resilience;

import static java.time.temporal.ChronoUnit.MICROS;
import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitRequest.PastCharge;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.store.LimitStore.KnownUse;
import io.limiter.core.store.LimitStore.KnownUse.PastUnits;
import io.limiter.core.store.LimitStore.KnownUse.RuleUse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What one instance knows about one key. It holds plain numbers, since it is written at every call;
 * a {@link KnownUse} is built from them when the fallback first needs it. Guarded by itself.
 */
final class KnownSubject {

  /**
   * For each rule: units left, units that return first, when they do, when all have; times in
   * microseconds.
   */
  private static final int NUMBERS = 4;

  /** The number of parts of the longest window in which this instance's own units are counted. */
  private static final int SHARES = 8;

  /**
   * The most groups of one age that wait to be reported to the store. Once there are as many, the
   * last of them grows, even if it was sent to the store before.
   */
  private static final int MOST_PENDING = 8;

  /** Units that the fallback has admitted and that are not yet reported to the store. */
  static final class Pending {
    private final Charge charge;
    private final long sinceNanos;
    private long atNanos;
    private int units;

    /** Whether some of them have come back in the meantime; which ones is unknown. */
    private boolean trimmed;

    /** Null until they are first sent to the store; from then on their number never falls. */
    private @Nullable String id;

    private Pending(Charge charge, long atNanos) {
      this.charge = charge;
      this.sinceNanos = atNanos;
      this.atNanos = atNanos;
    }
  }

  private @Nullable RuleStack stack;
  private long[] numbers = {};
  private long bannedMicros;
  private long shareNanos = 1;
  private long verdictAtNanos;
  private long decidedAtMicros;
  private int inFlight;

  /** Whether there was a verdict on these rules. */
  private boolean known;

  private boolean news;
  private List<Pending> pending = List.of();
  private final long[] ownUnits = new long[SHARES];
  private final long[] ownShare = new long[SHARES];

  /** A call is on its way to the store. */
  synchronized void sent(int cost) {
    inFlight += cost;
  }

  synchronized void answered(int cost) {
    inFlight -= cost;
  }

  /**
   * The store has decided.
   *
   * @param firstRule the index in the verdict; below 0 for the verdict of the duplicate guard
   * @param ordered whether the verdict's time orders verdicts on this key
   * @param took whether the call took its units
   */
  synchronized void learn(
      Charge charge,
      Verdict verdict,
      int firstRule,
      boolean ordered,
      boolean took,
      long askedNanos,
      long nowNanos,
      KnownSubjectTable all) {
    RuleStack before = stack;
    if (before == null || !before.equals(charge.stack())) {
      removePending(
          pending.stream().filter(one -> !one.charge.stack().equals(charge.stack())).toList(), all);
      known = false;
      stack = charge.stack();
      shareNanos = shareNanos(charge.stack());
      numbers = new long[NUMBERS * charge.stack().rules().size()];
      Arrays.fill(ownUnits, 0); // in parts of another length
    }
    if (took) {
      countOwn(charge, nowNanos);
    }
    boolean newer = !known || askedNanos - verdictAtNanos > 0;
    if (!newer && ordered && decidedAtMicros > 0 && verdict.decidedAtMicros() > 0) {
      newer = verdict.decidedAtMicros() > decidedAtMicros;
      if (verdict.decidedAtMicros() < decidedAtMicros) {
        return; // the present knowledge is from a later decision
      }
    }
    long elapsed = newer ? 0 : Math.max(0, nowNanos - verdictAtNanos) / 1_000;
    for (int r = 0; r < numbers.length / NUMBERS; r++) {
      RuleVerdict rule =
          firstRule < 0 ? verdict.duplicate().orElseThrow() : verdict.rules().get(firstRule + r);
      note(NUMBERS * r, rule, charge.cost(), newer, elapsed);
    }
    Optional<Duration> ban = verdict.ban();
    long rest = ban.isPresent() ? MICROSECONDS.convert(ban.get()) : 0;
    bannedMicros = newer ? rest : Math.max(rest, bannedMicros - elapsed);
    verdictAtNanos = nowNanos;
    decidedAtMicros = verdict.decidedAtMicros();
    known = true;
    news = true;
  }

  /** If the order of two verdicts is unknown, the one with fewer remaining units counts. */
  private void note(int at, RuleVerdict rule, int cost, boolean newer, long elapsedMicros) {
    long remaining = rule.remaining();
    long returns = MICROSECONDS.convert(rule.effectiveWindow());
    long resets = MICROSECONDS.convert(rule.resetAfter());
    long returning = Math.max(1, cost - remaining);
    if (!newer) {
      remaining = Math.min(remaining, numbers[at]);
      returning = 1;
      returns = Math.max(returns, numbers[at + 2] - elapsedMicros);
      resets = Math.max(resets, numbers[at + 3] - elapsedMicros);
    }
    numbers[at] = remaining;
    numbers[at + 1] = returning;
    numbers[at + 2] = returns;
    numbers[at + 3] = resets;
  }

  private void countOwn(Charge charge, long nowNanos) {
    long share = nowNanos / shareNanos;
    int slot = Math.floorMod(share, SHARES);
    if (ownShare[slot] != share) {
      ownShare[slot] = share;
      ownUnits[slot] = 0;
    }
    ownUnits[slot] += charge.cost();
  }

  /** An upper bound of this instance's own use of a window that ends now. */
  private long own(RuleStack rules, int rule, long nowNanos) {
    long from = (nowNanos - rules.windowMicros(rule) * 1_000) / shareNanos;
    long units = 0;
    for (int slot = 0; slot < SHARES; slot++) {
      if (ownShare[slot] >= from) {
        units += ownUnits[slot];
      }
    }
    return units;
  }

  private static long shareNanos(RuleStack rules) {
    return Math.max(1, longestMicros(rules) * 1_000 / (SHARES - 1));
  }

  private static long longestMicros(RuleStack rules) {
    long longest = 0;
    for (int r = 0; r < rules.rules().size(); r++) {
      longest = Math.max(longest, rules.windowMicros(r));
    }
    return longest;
  }

  /**
   * The fallback has admitted a call.
   *
   * @param used an upper bound of the used units of the charge's rules according to the fallback;
   *     units that it has admitted beyond them have come back
   */
  synchronized Pending admitted(Charge charge, long used, long nowNanos, KnownSubjectTable all) {
    if (pending.isEmpty()) {
      pending = new ArrayList<>();
      all.owe(1);
    }
    Pending last = pending.isEmpty() ? null : pending.get(pending.size() - 1);
    if (last == null
        || (pending.size() < MOST_PENDING
            && (last.id != null
                || !last.charge.stack().equals(charge.stack())
                || nowNanos - last.sinceNanos > horizonNanos(charge.stack()) / MOST_PENDING))) {
      last = new Pending(charge, nowNanos);
      pending.add(last);
    }
    last.atNanos = nowNanos;
    last.units = Math.min(Charge.MAX_COST, last.units + charge.cost());
    if (last.id == null && last.units > used) {
      last.units = (int) Math.max(charge.cost(), used);
      last.trimmed = true;
    }
    return last;
  }

  /**
   * Joins only groups that were never sent: the store may have recorded a sent one, and would
   * record it again.
   */
  private boolean joinEldest() {
    if (pending.get(0).id != null || pending.get(1).id != null) {
      return false;
    }
    Pending eldest = pending.remove(0);
    Pending next = pending.get(0);
    next.trimmed = true;
    next.units = Math.min(Charge.MAX_COST, eldest.units + next.units);
    return true;
  }

  /** Units that the fallback had admitted have come back. Has no effect once they were sent. */
  synchronized void giveBack(Pending from, int units, KnownSubjectTable all) {
    if (from.id == null && !from.trimmed && from.units > 0) {
      from.units = Math.max(0, from.units - units);
      news = true;
      if (from.units == 0) {
        removePending(List.of(from), all);
      }
    }
  }

  /**
   * Adds the units to report to the store, as far as they may still count and there is room in the
   * request.
   */
  synchronized void addPast(List<PastCharge> past, long nowNanos, KnownSubjectTable all) {
    while (!pending.isEmpty() && isOver(pending.get(0), nowNanos)) {
      if (pending.size() == 1 || !carriesOver(pending.get(0))) {
        removePending(List.of(pending.get(0)), all);
      } else if (!joinEldest()) {
        break; // unchanged, until the store has recorded them
      }
    }
    for (Pending one : pending) {
      if (past.size() == LimitRequest.MAX_PAST) {
        return; // the rest is sent with the next call
      }
      if (one.id == null) {
        one.id = all.nextId();
      }
      Duration age = Duration.of(Math.max(0, nowNanos - one.atNanos) / 1_000, MICROS);
      past.add(new PastCharge(one.charge.withCost(one.units), age, one.id));
    }
  }

  private static boolean carriesOver(Pending one) {
    return one.charge.stack().rules().stream().anyMatch(Rule::carriesOver);
  }

  private static boolean isOver(Pending one, long nowNanos) {
    return nowNanos - one.atNanos >= horizonNanos(one.charge.stack());
  }

  /**
   * The time after which units no longer count; those of a counter also count in the next window.
   */
  private static long horizonNanos(RuleStack rules) {
    boolean logs = rules.logs() == rules.rules().size();
    return longestMicros(rules) * (logs ? 1_000 : 2_000);
  }

  /** The store has recorded these units. */
  synchronized void heard(List<PastCharge> past, KnownSubjectTable all) {
    List<Pending> done = new ArrayList<>();
    for (Pending one : pending) {
      for (PastCharge brought : past) {
        if (brought.id().equals(one.id) && brought.charge().cost() >= one.units) {
          done.add(one);
        }
      }
    }
    removePending(done, all);
  }

  private void removePending(List<Pending> some, KnownSubjectTable all) {
    if (pending.isEmpty()) {
      return;
    }
    pending.removeAll(some);
    if (pending.isEmpty()) {
      pending = List.of();
      all.owe(-1);
    }
  }

  /** The knowledge that the fallback has to adopt; null if it has already adopted it. */
  synchronized @Nullable KnownUse useIfNews(Charge charge, long nowNanos) {
    if (!news && inFlight == 0) {
      return null;
    }
    news = inFlight > 0; // calls in flight may turn out to have taken nothing
    List<RuleUse> rules = new ArrayList<>();
    RuleStack rulesThen = stack;
    if (known && rulesThen != null && rulesThen.equals(charge.stack())) {
      for (int r = 0; r < numbers.length / NUMBERS; r++) {
        int at = NUMBERS * r;
        rules.add(
            new RuleUse(
                numbers[at],
                numbers[at + 1],
                numbers[at + 2],
                numbers[at + 3],
                own(rulesThen, r, nowNanos)));
      }
    }
    List<PastUnits> since = new ArrayList<>();
    for (Pending one : pending) {
      if (one.charge.stack().equals(charge.stack())) {
        since.add(new PastUnits(Math.max(0, nowNanos - one.atNanos) / 1_000, one.units));
      }
    }
    if (inFlight > 0) {
      since.add(new PastUnits(0, inFlight));
    }
    return new KnownUse(Math.max(0, nowNanos - verdictAtNanos) / 1_000, rules, bannedMicros, since);
  }

  /** Discards this knowledge if none of it matters any more; returns whether it did. */
  synchronized boolean forgetIfExpired(long nowNanos, KnownSubjectTable all) {
    boolean expired = isExpired(nowNanos);
    if (expired) {
      forget(all);
    }
    return expired;
  }

  private boolean isExpired(long nowNanos) {
    if (inFlight > 0) {
      return false;
    }
    long longest = bannedMicros;
    for (Pending one : pending) {
      if (!isOver(one, nowNanos)) {
        return false;
      }
    }
    for (int at = 0; at < numbers.length; at += NUMBERS) {
      longest = Math.max(longest, numbers[at + 3]);
    }
    return !known || nowNanos - verdictAtNanos > longest * 1_000;
  }

  /** Discards what is known about a ban. */
  synchronized void liftBan() {
    bannedMicros = 0;
    news = true;
  }

  /** Discards the verdict and the units to report. Calls that are under way stay recorded. */
  synchronized void forget(KnownSubjectTable all) {
    removePending(List.copyOf(pending), all);
    known = false;
    news = true;
    bannedMicros = 0;
  }
}
