// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.outage;

import static java.time.temporal.ChronoUnit.MICROS;
import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest.PastCharge;
import io.limiter.core.LimitStore.SeenUse;
import io.limiter.core.LimitStore.SeenUse.PastUnits;
import io.limiter.core.LimitStore.SeenUse.RuleUse;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.core.rule.RuleStack;
import java.time.Duration;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What one instance knows about one key: the store's last verdict, the calls on their way to the
 * store, and what the fallback has admitted since. It holds plain numbers, since it is written at
 * every call; a {@link SeenUse} is built from them when the fallback first needs it. Guarded by
 * itself.
 */
final class LastSeen {

  /**
   * For each rule: units left, units that return first, when they do, when all have; times in
   * microseconds.
   */
  private static final int NUMBERS = 4;

  /** The rules of the last verdict; null if there is none. */
  private @Nullable RuleStack stack;

  private long[] numbers = {};
  private long bannedMicros;
  private long askedNanos;
  private long answeredNanos;
  private long decidedAtMicros;

  /** Whether the fallback has to adopt this knowledge. */
  private boolean news;

  private long inFlight;

  /** What the fallback has admitted, as far as the last verdict does not include it. */
  private @Nullable Admitted admitted;

  /** When the last report was sent; no verdict of a call that was asked earlier includes it. */
  private long reportedNanos;

  /** Calls under way that carry a report; a call on another connection may overtake them. */
  private int reporting;

  /**
   * Records that a call is on its way to the store.
   *
   * @return whether there are units to report before it
   */
  synchronized boolean sent(int cost) {
    inFlight += cost;
    return admitted != null;
  }

  synchronized void answered(int cost) {
    inFlight -= cost;
  }

  /**
   * Records the verdict of the store, unless a later one is known.
   *
   * @param firstRule the index in the verdict; below 0 for the verdict of the duplicate guard
   * @param decidedMicros when it was decided; 0 if that does not order verdicts on this key
   */
  synchronized void learn(
      Charge charge,
      Verdict verdict,
      int firstRule,
      long decidedMicros,
      long askedNanos,
      long nowNanos) {
    RuleStack rules = charge.stack();
    RuleStack before = stack;
    if (before != null && isEarlier(decidedMicros, askedNanos)) {
      return;
    }
    if (before == null || !before.equals(rules)) {
      stack = rules;
      numbers = new long[NUMBERS * rules.rules().size()];
    }
    for (int r = 0; r < rules.rules().size(); r++) {
      RuleVerdict rule =
          firstRule < 0 ? verdict.duplicate().orElseThrow() : verdict.rules().get(firstRule + r);
      int at = NUMBERS * r;
      numbers[at] = rule.remaining();
      numbers[at + 1] = Math.max(1, charge.cost() - rule.remaining());
      numbers[at + 2] = MICROSECONDS.convert(rule.effectiveWindow());
      numbers[at + 3] = MICROSECONDS.convert(rule.resetAfter());
    }
    bannedMicros = verdict.ban().map(MICROSECONDS::convert).orElse(0L);
    this.askedNanos = askedNanos;
    answeredNanos = nowNanos;
    decidedAtMicros = decidedMicros;
    news = true;
  }

  /**
   * Whether a verdict was decided before the known one. It was not if its call was asked after that
   * one had arrived, even if the store's clock was set back.
   */
  private boolean isEarlier(long decidedMicros, long asked) {
    if (asked - answeredNanos > 0) {
      return false;
    }
    boolean ordered = decidedMicros > 0 && decidedAtMicros > 0;
    return ordered ? decidedMicros < decidedAtMicros : asked - askedNanos < 0;
  }

  /**
   * Records that the fallback has admitted a call, whose units are to be reported to the store.
   *
   * @param used an upper bound of the used units of the charge's rules according to the fallback;
   *     units that it has admitted beyond them have come back
   */
  synchronized Admitted admitted(Charge charge, long used, long nowNanos) {
    Admitted units = unreported(nowNanos);
    if (units == null) {
      units = new Admitted(charge);
      admitted = units;
    }
    units.add(charge.cost(), used, nowNanos);
    return units;
  }

  /** What the fallback has admitted, as far as it still counts. */
  private @Nullable Admitted unreported(long nowNanos) {
    if (admitted != null && admitted.isOver(nowNanos)) {
      admitted = null;
    }
    return admitted;
  }

  /** The units that were not sent to the store yet; from now on they were. */
  synchronized Optional<PastCharge> report(long nowNanos) {
    Admitted units = unreported(nowNanos);
    if (units == null || units.unsent == 0 || nowNanos - units.atNanos >= units.countedNanos) {
      return Optional.empty();
    }
    Duration age = Duration.of(Math.max(0, nowNanos - units.atNanos) / 1_000, MICROS);
    int some = (int) Math.min(Charge.MAX_COST, units.unsent);
    units.unsent -= some;
    reportedNanos = nowNanos;
    reporting++;
    return Optional.of(
        new PastCharge(units.charge.withCost(some), age, () -> refused(units, some)));
  }

  /** The store has not recorded these units: the next call reports them. */
  private synchronized void refused(Admitted units, int some) {
    if (admitted == units) {
      units.unsent = Math.min(units.units, units.unsent + some);
    }
  }

  /** Records that a call that carried a report was answered, or was not in time. */
  synchronized void reported() {
    reporting--;
  }

  /** Records that a call was answered. Its verdict includes the units that were sent before it. */
  synchronized void included(long askedNanos) {
    if (admitted != null && reporting == 0 && askedNanos - reportedNanos >= 0) {
      admitted.dropSent();
    }
  }

  /** The knowledge that the fallback has to adopt; null if it has already adopted it. */
  synchronized @Nullable SeenUse useIfNews(Charge charge, long nowNanos) {
    if (!news && inFlight == 0) {
      return null;
    }
    news = inFlight > 0; // calls in flight may turn out to have taken nothing
    List<RuleUse> rules = new ArrayList<>();
    RuleStack decided = stack;
    if (decided != null && isOfSame(decided, charge.stack())) {
      for (int at = 0; at < numbers.length; at += NUMBERS) {
        rules.add(new RuleUse(numbers[at], numbers[at + 1], numbers[at + 2], numbers[at + 3]));
      }
    }
    List<PastUnits> since = new ArrayList<>();
    Admitted units = admitted;
    if (units != null) {
      since.add(new PastUnits(units.ageNanos(nowNanos) / 1_000, units.units));
    }
    if (inFlight > 0) {
      since.add(new PastUnits(0, inFlight));
    }
    return new SeenUse(Math.max(0, nowNanos - answeredNanos) / 1_000, rules, bannedMicros, since);
  }

  /** Whether two stacks count the same; the day of the subject may have changed meanwhile. */
  private static boolean isOfSame(RuleStack before, RuleStack now) {
    return before.forSubject(LocalDate.EPOCH).equals(now.forSubject(LocalDate.EPOCH));
  }

  /**
   * Records how long the store keeps a duplicate guard from now on.
   *
   * @param exactly whether it is not kept for longer either; zero or less frees it
   */
  synchronized void held(Duration time, boolean exactly, long nowNanos) {
    if (stack == null) {
      return; // forgotten meanwhile, as by a reset
    }
    keepGuard(Math.max(exactly ? 0 : leftMicros(nowNanos), MICROSECONDS.convert(time)), nowNanos);
  }

  /** For how long the guard is known to be kept. */
  private long leftMicros(long nowNanos) {
    return numbers[3] - (nowNanos - answeredNanos) / 1_000;
  }

  private void keepGuard(long micros, long nowNanos) {
    numbers = new long[] {micros > 0 ? 0 : 1, 1, micros, micros};
    answeredNanos = nowNanos;
    news = true;
  }

  /** Records that the store keeps a duplicate guard for this time at most. */
  synchronized void heldAtMost(Duration time, long nowNanos) {
    if (stack != null) {
      keepGuard(Math.min(leftMicros(nowNanos), MICROSECONDS.convert(time)), nowNanos);
    }
  }

  /** Discards this knowledge if none of it matters any more; returns whether it did. */
  synchronized boolean forgetIfExpired(long nowNanos) {
    long longest = bannedMicros;
    for (int at = 0; at < numbers.length; at += NUMBERS) {
      longest = Math.max(longest, numbers[at + 3]);
    }
    boolean expired =
        inFlight == 0
            && unreported(nowNanos) == null
            && (stack == null || nowNanos - answeredNanos > longest * 1_000);
    if (expired) {
      forget();
    }
    return expired;
  }

  /** Discards what is known about a ban. */
  synchronized void liftBan() {
    bannedMicros = 0;
    news = true;
  }

  /** Discards the verdict and the units to report. Calls that are under way stay recorded. */
  synchronized void forget() {
    admitted = null;
    stack = null;
    news = true;
    bannedMicros = 0;
  }

  /** Units that the fallback has admitted; all of them count as old as the last one. */
  final class Admitted {

    private final Charge charge;

    /** For how long they count; those of a counter also count in the next window. */
    private final long countedNanos;

    private long atNanos;

    /** Of a guard whose method runs: until when it counts, beyond its time, too. */
    private long heldUntilNanos;

    private boolean held;
    private long units;

    /** Those not sent to the store. The others count here until a verdict includes them. */
    private long unsent;

    /** Whether some have come back, or are the store's by now; which ones is unknown. */
    private boolean mixed;

    private Admitted(Charge charge) {
      this.charge = charge;
      RuleStack rules = charge.stack();
      long longest = 0;
      for (int r = 0; r < rules.rules().size(); r++) {
        longest = Math.max(longest, rules.windowMicros(r));
      }
      boolean logged = rules.logs() == rules.rules().size();
      this.countedNanos = (logged ? longest : 2 * longest) * 1_000;
    }

    private void add(int cost, long used, long nowNanos) {
      atNanos = nowNanos;
      unsent += cost;
      units += cost;
      if (units > used) {
        units = Math.max(cost, used);
        unsent = Math.min(unsent, units);
        mixed = true;
      }
    }

    /** The store has the units that were sent. */
    private void dropSent() {
      mixed |= unsent < units;
      units = unsent;
      forgetIfNone();
    }

    private void forgetIfNone() {
      if (units == 0 && admitted == this) {
        admitted = null;
      }
    }

    private boolean isOver(long nowNanos) {
      return ageNanos(nowNanos) >= countedNanos;
    }

    private long ageNanos(long nowNanos) {
      long age = nowNanos - atNanos;
      return Math.max(0, held ? Math.min(age, countedNanos - (heldUntilNanos - nowNanos)) : age);
    }

    /** The method of a guard runs, and holds it for this time; or has ended. */
    void hold(Duration time, boolean ended, long nowNanos) {
      synchronized (LastSeen.this) {
        held = !ended;
        heldUntilNanos = nowNanos + time.toNanos();
        news = true;
      }
    }

    /** Units have come back from their call. Has no effect if the store may have recorded them. */
    void giveBack(int some) {
      synchronized (LastSeen.this) {
        long back = mixed || unsent < units ? 0 : Math.min(some, units);
        units -= back;
        unsent -= back;
        forgetIfNone();
        news = true;
      }
    }
  }
}
