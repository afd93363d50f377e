// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.rule;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.rule.Rule.LoggedRule;
import io.limiter.core.util.Sha256;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The rules that count one subject together: they share its state and are decided at once.
 * Immutable; created once for each policy, so that a store can prepare for it.
 *
 * <p>For authors of stores it holds what a decision needs, by the index of a rule in {@link
 * #rules()}. Asking the rule itself is slower: the call site sees several rule types, and the
 * window may have to be calculated.
 */
public final class RuleStack {

  /**
   * The order of the rules' numbers in the state. It does not depend on the order of the rules;
   * rules of one shape are ordered by their counts.
   */
  private static final Comparator<Rule> CANONICAL =
      Comparator.comparing(Rule::shape)
          .thenComparing(Rule::count)
          .thenComparing(rule -> rule.withName("any").toString());

  /** The shortest lease: a shorter one would end before many calls have spent it. */
  public static final Duration MIN_LEASE = Duration.ofMillis(10);

  /** The most rules in one stack. */
  public static final int MAX_RULES = 8;

  /** As many as days of a year, and some more where a week and a month begin on one day. */
  private static final int MAX_BEGINNINGS = 512;

  private final List<Rule> rules;
  private final Optional<BanRule> ban;
  private final Counting counting;
  private final Duration lease;
  private final double warnAt;
  private final Duration claim;
  private final Optional<Duration> permitDuration;
  private final Optional<Rule> waiting;
  private final int hash;

  /** Which calls are counted together, as one letter. */
  private final String kind;

  private final Duration[] windows;
  private final long[] windowsMicros;

  /** For each rule its index among those that keep numbers instead of a log; below 0 if a log. */
  private final int[] cellIndexes;

  /** The rules that keep numbers instead of a log, in the order of the state. */
  private final Rule[] cellRules;

  private final long kept;
  private final long banMicros;
  private final int longestLog;
  private final boolean custom;

  private final List<CalendarPeriod> ofSubject;

  /** The same rules for subjects whose periods begin on other days: few, as a year has few days. */
  private final Map<List<LocalDate>, RuleStack> bySubject;

  /** Computed when it is first asked for; always the same. */
  private @Nullable String name;

  private RuleStack(
      List<Rule> rules,
      Optional<BanRule> ban,
      Counting counting,
      Duration lease,
      double warnAt,
      Duration claim) {
    this.rules = rules;
    this.ban = ban;
    this.counting = counting;
    this.lease = lease;
    this.warnAt = warnAt;
    this.claim = claim;
    this.hash = Objects.hash(rules, ban, counting, lease, warnAt, claim);
    this.windows = new Duration[rules.size()];
    this.windowsMicros = new long[windows.length];
    List<Rule> cells = new ArrayList<>();
    List<CalendarPeriod> days = new ArrayList<>();
    Duration permit = null;
    Rule waits = null;
    boolean own = false;
    boolean begins = false;
    for (int r = 0; r < windows.length; r++) { // no streams: there may be thousands of policies
      Rule rule = rules.get(r);
      windows[r] = rule.window();
      windowsMicros[r] = MICROSECONDS.convert(windows[r]);
      if (rule.holdsPermits() && (permit == null || windows[r].compareTo(permit) < 0)) {
        permit = windows[r];
      }
      waits = waits == null && rule.waits() ? rule : waits;
      own |= rule instanceof CustomRule;
      begins |= rule instanceof TokenBucketRule bucket && bucket.initial() < bucket.count();
      if (!(rule instanceof LoggedRule)) {
        cells.add(rule);
      }
      if (rule instanceof FixedWindowRule fixed && fixed.isBySubject()) {
        days.add(fixed.alignment().orElseThrow().calendar().orElseThrow());
      }
    }
    cells.sort(CANONICAL);
    this.permitDuration = Optional.ofNullable(permit);
    this.waiting = Optional.ofNullable(waits);
    this.cellRules = cells.toArray(Rule[]::new);
    this.custom = own;
    this.ofSubject = List.copyOf(days);
    this.banMicros =
        begins ? ban.map(known -> MICROSECONDS.convert(known.longest())).orElse(0L) : 0;
    this.cellIndexes = new int[windows.length];
    long most = 0;
    int longest = -1;
    for (int r = 0; r < windows.length; r++) {
      if (rules.get(r) instanceof LoggedRule log) {
        cellIndexes[r] = -1;
        most = Math.max(most, log.kept());
        longest = longest < 0 || windowsMicros[r] > windowsMicros[longest] ? r : longest;
      } else {
        cellIndexes[r] = cells.indexOf(rules.get(r));
      }
    }
    this.kept = most;
    this.longestLog = longest;
    this.bySubject = ofSubject.isEmpty() ? Map.of() : new ConcurrentHashMap<>();
    this.kind = kindOf();
    requireConsistent();
  }

  private String kindOf() {
    if (permitDuration.isPresent()) {
      return "i";
    }
    if (waiting.isPresent() && rules.size() == 1) {
      return "w";
    }
    return switch (counting) {
      case ALL -> "r";
      case FAILURES -> "f";
      case SUCCESSES -> "s";
    };
  }

  private void requireConsistent() {
    for (Rule rule : rules) {
      if (permitDuration.isPresent() && !rule.holdsPermits()) {
        throw new IllegalArgumentException(
            "The rule '%s' shares a stack with a concurrency limit: put each into a stack of its own, and join their requests with LimitRequest.and"
                .formatted(rule.name()));
      }
      if (counting != Counting.ALL && rule.holdsPermits()) {
        throw new IllegalArgumentException(
            "The rule '%s' counts %s: a concurrency limit counts every call, so use Counting.ALL"
                .formatted(rule.name(), counting));
      }
      if (counting != Counting.ALL && rule.waits()) {
        throw new IllegalArgumentException(
            "The rule '%s' makes calls wait and counts %s: use Counting.ALL, since a departure that has passed cannot be given back, and put rules that count by outcome into another stack"
                .formatted(rule.name(), counting));
      }
    }
    if (!lease.isZero()) {
      requireLease();
    }
    if (!(warnAt >= 0 && warnAt <= 1)) {
      throw new IllegalArgumentException(
          "The rule '%s' warns at %s: use a share above 0 to 1, such as 0.8, or 0 for none"
              .formatted(rules.get(0).name(), warnAt));
    }
    if (!claim.isZero()) {
      requireClaim();
    }
    if (permitDuration.isPresent() && ban.isPresent()) {
      throw new IllegalArgumentException(
          "The rule '%s' is a concurrency limit, which cannot have a ban, since it is unknown when a permit becomes free: put the ban on the other rules of the subject"
              .formatted(rules.get(0).name()));
    }
  }

  private void requireClaim() {
    boolean isGuard =
        rules.size() == 1
            && rules.get(0) instanceof LoggedRule log
            && log.count() == 1
            && ban.isEmpty()
            && counting == Counting.ALL
            && lease.isZero();
    if (!isGuard || claim.isNegative() || claim.compareTo(rules.get(0).window()) >= 0) {
      throw new IllegalArgumentException(
          "The rule '%s' has a claim of %s: use one sliding window log of 1 unit, whose window is longer"
              .formatted(rules.get(0).name(), claim));
    }
  }

  private void requireLease() {
    for (Rule rule : rules) {
      Duration longest = rule.longestLease();
      if (longest.compareTo(MIN_LEASE) < 0) {
        throw new IllegalArgumentException(
            "The rule '%s' allows no lease: remove the lease, or decide the rule in a stack of its own"
                .formatted(rule.name()));
      }
      if (lease.compareTo(MIN_LEASE) < 0 || lease.compareTo(longest) > 0) {
        throw new IllegalArgumentException(
            "The rule '%s' has a lease of %s: use %s to %s"
                .formatted(rule.name(), lease, MIN_LEASE, longest));
      }
    }
    if (counting != Counting.ALL) {
      throw new IllegalArgumentException(
          "The rule '%s' counts %s and has a lease: remove the lease, since such a call is known to count only when it ends"
              .formatted(rules.get(0).name(), counting));
    }
  }

  /**
   * A stack of 1 to {@value #MAX_RULES} rules in the order in which they are reported.
   *
   * @throws IllegalArgumentException if there are none or too many, if two of them have one name,
   *     if a {@link ConcurrencyLimitRule} is combined with other rules, or if two make calls wait
   */
  public static RuleStack of(List<? extends Rule> rules) {
    if (rules.isEmpty() || rules.size() > MAX_RULES) {
      throw new IllegalArgumentException(
          "%s rules in one stack: use 1 to %s".formatted(rules.size(), MAX_RULES));
    }
    Set<String> names = new HashSet<>();
    List<String> waiting = new ArrayList<>();
    for (Rule rule : rules) {
      if (rule.waits()) {
        waiting.add(rule.name());
      }
      if (!names.add(rule.name())) {
        throw new IllegalArgumentException(
            "Two rules of one stack are named '%s': remove or rename one of them"
                .formatted(rule.name()));
      }
    }
    requireOneThatWaits(waiting);
    return new RuleStack(
        List.copyOf(rules), Optional.empty(), Counting.ALL, Duration.ZERO, 0, Duration.ZERO);
  }

  /**
   * Rejects a second rule that makes calls wait: the calls that leave one bucket evenly would not
   * reach the next in any defined order.
   */
  public static void requireOneThatWaits(List<String> names) {
    if (names.size() > 1) {
      throw new IllegalArgumentException(
          "The rules '%s' all make one call wait: keep one of them, and let the others deny"
              .formatted(String.join("', '", names)));
    }
  }

  /** The rule that makes calls wait. */
  public Optional<Rule> waiting() {
    return waiting;
  }

  /**
   * Returns these rules with a ban for subjects that they deny too often.
   *
   * @throws IllegalArgumentException if they are concurrency limits
   */
  public RuleStack withBan(BanRule other) {
    return new RuleStack(rules, Optional.of(other), counting, lease, warnAt, claim);
  }

  /**
   * Returns these rules with another counting. Each call takes its units when it begins, and {@code
   * Reservation.settle} gives them back if its completion does not count.
   *
   * @throws IllegalArgumentException if they are concurrency limits, or make calls wait, and {@code
   *     other} is not {@link Counting#ALL}
   */
  public RuleStack withCounting(Counting other) {
    return other == counting ? this : new RuleStack(rules, ban, other, lease, warnAt, claim);
  }

  /**
   * Returns these rules with a lease: an instance with many calls of one subject takes units in
   * advance, and spends them within this time without the store. No rule ever admits more than its
   * count. Units that are neither spent nor given back count to the end of their window, and those
   * of a log and a token bucket count for the time of the lease longer.
   *
   * @param time 10 ms to the {@link Rule#longestLease} of every rule; zero for none
   * @throws IllegalArgumentException if the time is out of range, or the rules count by outcome
   */
  public RuleStack withLease(Duration time) {
    return new RuleStack(rules, ban, counting, time, warnAt, claim);
  }

  /**
   * Returns these rules with a share of their capacity from which on each is near its limit. It
   * decides nothing: verdicts show it.
   *
   * @param share above 0 to 1; 0 for none
   * @throws IllegalArgumentException if it is no such share
   */
  public RuleStack withWarnAt(double share) {
    return new RuleStack(rules, ban, counting, lease, share, claim);
  }

  /**
   * Returns these rules for a subject whose periods begin on a day, as {@link
   * FixedWindowRule.Alignment#forSubject} states. Rules with other windows stay as they are.
   */
  public RuleStack forSubject(LocalDate day) {
    if (ofSubject.isEmpty()) {
      return this;
    }
    List<LocalDate> beginnings = ofSubject.stream().map(each -> each.beginning(day)).toList();
    RuleStack known = bySubject.get(beginnings);
    if (known == null) {
      List<Rule> theirs = rules.stream().map(rule -> forSubject(rule, day)).toList();
      known = new RuleStack(theirs, ban, counting, lease, warnAt, claim);
      if (bySubject.size() < MAX_BEGINNINGS) {
        bySubject.put(beginnings, known);
      }
    }
    return known;
  }

  /** The periods of the rules whose windows begin on a day of each subject; mostly none. */
  public List<CalendarPeriod> periodsOfSubject() {
    return ofSubject;
  }

  private static Rule forSubject(Rule rule, LocalDate day) {
    return rule instanceof FixedWindowRule fixed && fixed.isBySubject()
        ? fixed.alignedTo(fixed.alignment().orElseThrow().forSubject(day))
        : rule;
  }

  /**
   * Returns these rules, of a duplicate guard, with a claim: the store keeps an accepted submission
   * for this time only, until {@code Reservation.hold} keeps it for longer. So the submission of a
   * process that dies may soon be made again.
   *
   * @param time shorter than the window; zero for none
   * @throws IllegalArgumentException if the time is out of range, or if this is not one log of 1
   *     unit
   */
  public RuleStack withClaim(Duration time) {
    return new RuleStack(rules, ban, counting, lease, warnAt, time);
  }

  /**
   * How much longer the state is needed because of the ban: otherwise a subject whose bucket does
   * not start full would be new again after the ban, and denied again. 0 if there is no such
   * bucket.
   */
  public long banMicros() {
    return banMicros;
  }

  /** The rules, in the order in which they are reported. */
  public List<Rule> rules() {
    return rules;
  }

  /** The ban for subjects that these rules deny too often. */
  public Optional<BanRule> ban() {
    return ban;
  }

  /** For how long units may be taken in advance, see {@link #withLease}; zero if they may not. */
  public Duration lease() {
    return lease;
  }

  /** The share from which on a rule is near its limit, see {@link #withWarnAt}; 0 for none. */
  public double warnAt() {
    return warnAt;
  }

  /** For how long a submission is claimed, see {@link #withClaim}; zero if it is kept at once. */
  public Duration claim() {
    return claim;
  }

  /** Which calls these rules count. */
  public Counting counting() {
    return counting;
  }

  /** The shortest permit duration if these rules are concurrency limits; otherwise empty. */
  public Optional<Duration> permitDuration() {
    return permitDuration;
  }

  /**
   * The name of the state under these rules: one letter for the calls that are counted together,
   * and a hash of the rules' shape. Stacks of one name read and write the same state. The letter is
   * {@code r} for all calls, {@code f} for failures, {@code s} for successes, {@code i} for calls
   * in flight, {@code w} for calls under a single rule that makes them wait.
   *
   * <p>The shape is what gives the stored numbers their meaning: of each rule its algorithm and its
   * window; of a token bucket only the interval, of an aligned window also its zone, anchor and
   * calendar, but not the anchor of one subject, and of a {@link CustomRule} the name of its
   * algorithm, its parameters and its memory. The count, the refill, the name and the order of
   * rules, and the ban are not part of it.
   */
  public String name() {
    String known = name;
    if (known == null) {
      known = kind + "." + hash(rules.stream().map(Rule::shape).sorted().toList());
      name = known;
    }
    return known;
  }

  /** 36 bits of SHA-256 over the texts. */
  private static String hash(List<String> texts) {
    byte[] all = String.join("\n", texts).getBytes(StandardCharsets.UTF_8);
    return Base64.getUrlEncoder().encodeToString(Sha256.digest().digest(all)).substring(0, 6);
  }

  /** The number of rules that are a {@link LoggedRule}. */
  public int logs() {
    return windows.length - cellRules.length;
  }

  /** Whether a rule is a {@link LoggedRule}. */
  public boolean isLog(int rule) {
    return cellIndexes[rule] < 0;
  }

  /**
   * The index of a rule among those that keep numbers instead of a log, in the order of the state,
   * which does not depend on that of the rules; below 0 if it is a log.
   */
  public int cellIndex(int rule) {
    return cellIndexes[rule];
  }

  /** The number of rules that keep numbers instead of a log. */
  public int cells() {
    return cellRules.length;
  }

  /** One of the rules that keep numbers instead of a log, by its {@link #cellIndex}. */
  public Rule cellRule(int index) {
    return cellRules[index];
  }

  /** Whether one of the rules is a {@link CustomRule}, whose algorithm may throw. */
  public boolean custom() {
    return custom;
  }

  /** {@link Rule#window} in microseconds. */
  public long windowMicros(int rule) {
    return windowsMicros[rule];
  }

  /** The most units that any log keeps; 0 without logs. */
  public long kept() {
    return kept;
  }

  /** The first of the logged rules with the longest window; -1 without logs. */
  public int longestLog() {
    return longestLog;
  }

  /**
   * The number of units by which a log grows when a call takes its units. An admitted call adds its
   * cost. A call that is only recorded may find less room; then its units replace the oldest ones,
   * and the replaced ones must not be given back for it.
   *
   * @param used units before the call, within the longest window
   */
  public int loggedUnits(int cost, long used) {
    return (int) Math.max(0, Math.min(cost, kept - used));
  }

  /** The longest window of the logs; 0 without logs. */
  public long horizonMicros() {
    return longestLog < 0 ? 0 : windowsMicros[longestLog];
  }

  /** {@link Rule#window}, always the same object. */
  public Duration window(int rule) {
    return windows[rule];
  }

  /**
   * Converts microseconds to a duration; returns the existing object if they equal the rule's
   * window.
   */
  public Duration duration(long micros, int rule) {
    return micros == windowsMicros[rule]
        ? windows[rule]
        : Duration.ofSeconds(micros / 1_000_000, micros % 1_000_000 * 1_000);
  }

  /**
   * Checks a name: 1 to {@value Rule#MAX_NAME} printable ASCII characters without space, quote or
   * backslash, so that it can be used unescaped in a header field, a metric's tag and a
   * configuration key.
   *
   * @param what what is named, for the message: "rule", "policy"
   * @throws IllegalArgumentException if the name is invalid; the message gives the name and the
   *     remedy
   */
  public static String requireName(String what, String name) {
    boolean valid = !name.isEmpty() && name.length() <= Rule.MAX_NAME && isPrintable(name);
    if (!valid) {
      throw new IllegalArgumentException(
          "The %s name '%s' is invalid: use 1 to %s printable ASCII characters, without space, quote or backslash"
              .formatted(what, name, Rule.MAX_NAME));
    }
    return name;
  }

  /** Checks the numbers that all rules have. */
  static void requireNumbers(String name, long count, long max, Duration window) {
    requireNumbers(name, count, max, "", window);
  }

  static void requireNumbers(String name, long count, long max, String reason, Duration window) {
    requireNumbers(name, count, 1, max, reason, window);
  }

  /**
   * @param reason why there can be no more, behind the bounds in the message
   */
  static void requireNumbers(
      String name, long count, long min, long max, String reason, Duration window) {
    requireName("rule", name);
    if (count < min || count > max) {
      throw new IllegalArgumentException(
          "The rule '%s' has count %s: use %s to %s%s".formatted(name, count, min, max, reason));
    }
    requireWindow("The rule '" + name + "' has a window of", window);
  }

  /**
   * Checks a time over which something is counted.
   *
   * @param what what takes this time, for the message
   */
  static void requireWindow(String what, Duration window) {
    if (window.compareTo(Rule.MIN_WINDOW) < 0 || window.compareTo(Rule.MAX_WINDOW) > 0) {
      throw new IllegalArgumentException("%s %s: use 1 ms to 366 days".formatted(what, window));
    }
    if (window.toNanosPart() % 1_000 != 0) {
      throw new IllegalArgumentException("%s %s: use whole microseconds".formatted(what, window));
    }
  }

  private static boolean isPrintable(String name) {
    for (int i = 0; i < name.length(); i++) {
      char c = name.charAt(i);
      if (c <= ' ' || c >= 127 || c == '"' || c == '\\') {
        return false;
      }
    }
    return true;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return this == other
        || (other instanceof RuleStack stack
            && hash == stack.hash
            && rules.equals(stack.rules)
            && ban.equals(stack.ban)
            && counting == stack.counting
            && lease.equals(stack.lease)
            && warnAt == stack.warnAt
            && claim.equals(stack.claim));
  }

  @Override
  public int hashCode() {
    return hash;
  }

  @Override
  public String toString() {
    return rules
        + ban.map(known -> ", " + known).orElse("")
        + (counting == Counting.ALL ? "" : ", " + counting)
        + (lease.isZero() ? "" : ", lease " + lease)
        + (warnAt == 0 ? "" : ", warn at " + warnAt)
        + (claim.isZero() ? "" : ", claim " + claim);
  }
}
