// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import static io.limiter.micronaut.http.RateLimitFields.secondsUp;

import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.core.rule.Rule;
import io.limiter.core.util.BoundedCache;
import io.limiter.micronaut.config.LimiterConfiguration.HeadersConfiguration.Format;
import io.micronaut.http.MutableHttpHeaders;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** The formats of {@code limiter.headers.format}. */
final class RateLimitFormats {

  /** The format of this name in settings. */
  static RateLimitFormat of(Format format) {
    return switch (format) {
      case DRAFT_11 -> new ListFormat(";r=", ";t=", "");
      case DRAFT_NEXT -> new ListFormat(";a=", ";w=", ";c=");
      case DRAFT_7 -> new DictionaryFormat();
      case X_RATE_LIMIT -> new SingleFormat(false);
      case X_RATE_LIMIT_EPOCH -> new SingleFormat(true);
    };
  }

  private RateLimitFormats() {}

  /**
   * If rules deny, the one with the longest wait; else the one with the fewest remaining units, and
   * of equal ones the one with the longer window.
   */
  private static Optional<RuleVerdict> closestToExhaustion(Verdict verdict) {
    return verdict
        .denying()
        .or(
            () ->
                verdict.rules().stream()
                    .min(
                        Comparator.comparingLong(RuleVerdict::remaining)
                            .thenComparing(
                                RuleVerdict::effectiveWindow, Comparator.reverseOrder())));
  }

  /** The time that this rule states, or the rest of a ban if that is longer. */
  private static Duration statedTime(RuleVerdict rule, Verdict verdict) {
    return verdict
        .ban()
        .filter(rest -> rest.compareTo(rule.effectiveWindow()) > 0)
        .orElse(rule.effectiveWindow());
  }

  /**
   * {@code RateLimit-Policy} and {@code RateLimit} as lists with an item for each rule:
   * draft-ietf-httpapi-ratelimit-headers-11, or with the names of its open change (pull request 166
   * of its repository). While the caller is banned the first item of both is {@code
   * "abnormal-usage-detected"}, as the draft calls the reason: nothing may be used, for the rest of
   * the ban.
   *
   * @see <a href="https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/">the
   *     draft</a>
   */
  private static final class ListFormat implements RateLimitFormat {

    private static final String BAN = "\"abnormal-usage-detected\"";

    /** Policies whose fields are cached; those of others are formatted each time. */
    private static final int MAX_REMEMBERED = 4_096;

    private final String available;
    private final String window;
    private final String taken;
    private final BoundedCache<Policy, Formatted> formatted;

    /**
     * @param available the parameter for what is left
     * @param window the parameter for the time until more is
     * @param taken the parameter for what the call takes; empty if the format has none
     */
    ListFormat(String available, String window, String taken) {
      this.available = available;
      this.window = window;
      this.taken = taken;
      this.formatted =
          new BoundedCache<>(MAX_REMEMBERED, policy -> new Formatted(policy.rules(), this));
    }

    @Override
    public void write(Verdict verdict, MutableHttpHeaders headers, boolean deniedBehind) {
      Formatted constant = constant(verdict);
      Optional<Duration> ban = verdict.ban();
      String policy = constant.policy;
      String limit = constant.limit(verdict.rules());
      if (ban.isPresent()) {
        policy = BAN + ";q=0, " + policy;
        String nothing = taken.isEmpty() ? "" : taken + "0";
        limit = BAN + available + "0" + window + secondsUp(ban.get()) + nothing + ", " + limit;
      }
      join(headers, RateLimitFields.POLICY, policy, deniedBehind);
      join(headers, RateLimitFields.LIMIT, limit, deniedBehind);
    }

    /**
     * Joins the items of a field. That of draft 7, {@code limit=10, remaining=3}, is no list of
     * items: with ours in front no client could read either.
     */
    private static void join(MutableHttpHeaders headers, String name, String own, boolean last) {
      if (!headers.contains(name)) {
        headers.set(name, own);
        return;
      }
      String others = String.join(", ", headers.getAll(name)).strip();
      if (!others.isEmpty() && !isDictionary(others)) {
        headers.set(name, last ? others + ", " + own : own + ", " + others);
      } else if (!last || others.isEmpty()) {
        headers.set(name, own);
      }
    }

    /** Whether its first part is {@code name=value}, and not an item with parameters. */
    private static boolean isDictionary(String field) {
      int equals = field.indexOf('=');
      int parameters = field.indexOf(';');
      return !field.startsWith("\"") && equals >= 0 && (parameters < 0 || equals < parameters);
    }

    /**
     * The rules of a policy are formatted once. Those of a verdict are others if an operator has
     * changed the limits of its subject.
     */
    private Formatted constant(Verdict verdict) {
      Formatted known = formatted.get(verdict.policy());
      return known.isOf(verdict.rules())
          ? known
          : new Formatted(verdict.rules().stream().map(RuleVerdict::rule).toList(), this);
    }
  }

  /** What is the same in the fields of each request. */
  private static final class Formatted {

    /** More than most rules need. */
    private static final int TYPICAL_LENGTH = 64;

    private final ListFormat format;
    private final Rule[] rules;
    private final String policy;
    private final String[] items; // of each rule, up to what remains

    Formatted(List<Rule> all, ListFormat format) {
      this.format = format;
      this.rules = all.toArray(Rule[]::new);
      this.items = new String[rules.length];
      StringBuilder field = new StringBuilder(TYPICAL_LENGTH * rules.length);
      for (int r = 0; r < rules.length; r++) {
        String separator = r == 0 ? "" : ", ";
        field.append(separator).append(item(rules[r]));
        items[r] = separator + '"' + rules[r].name() + '"' + format.available;
      }
      this.policy = field.toString();
    }

    @SuppressWarnings("ReferenceEquality") // mostly the same object
    boolean isOf(List<RuleVerdict> verdicts) {
      boolean same = verdicts.size() == rules.length;
      for (int r = 0; same && r < rules.length; r++) {
        Rule rule = verdicts.get(r).rule();
        same = rule == rules[r] || rule.equals(rules[r]);
      }
      return same;
    }

    String limit(List<RuleVerdict> verdicts) {
      StringBuilder field = new StringBuilder(TYPICAL_LENGTH * rules.length);
      for (int r = 0; r < rules.length; r++) {
        RuleVerdict rule = verdicts.get(r);
        field.append(items[r]).append(rule.remaining());
        if (!rules[r].holdsPermits()) { // when a call ends is unknown
          field.append(format.window).append(secondsUp(rule.effectiveWindow()));
        }
        if (!format.taken.isEmpty()) {
          field.append(format.taken).append(rule.taken());
        }
      }
      return field.toString();
    }

    /**
     * A window that is not whole seconds has no legal {@code w}, so it has none. Nor have calls in
     * flight, which have no window: a permit duration is internal; nor a queue, which is no quota
     * of its window.
     */
    private static String item(Rule rule) {
      String quota = '"' + rule.name() + "\";q=" + rule.capacity();
      if (rule.waits()) {
        return quota;
      }
      if (rule.holdsPermits()) {
        return quota + ";qu=\"concurrent-requests\"";
      }
      return rule.window().toNanosPart() == 0 ? quota + ";w=" + rule.window().toSeconds() : quota;
    }
  }

  /**
   * {@code RateLimit} and {@code RateLimit-Policy} as in draft 7: one dictionary, of the rule that
   * is closest to exhaustion, and the quota and window of each rule. Such fields of another service
   * are replaced, unless that has denied the call.
   */
  private static final class DictionaryFormat implements RateLimitFormat {

    @Override
    public void write(Verdict verdict, MutableHttpHeaders headers, boolean deniedBehind) {
      Optional<RuleVerdict> closest = closestToExhaustion(verdict);
      if (deniedBehind || closest.isEmpty()) {
        return;
      }
      RuleVerdict rule = closest.get();
      boolean banned = verdict.ban().isPresent();
      String reset =
          rule.rule().holdsPermits() && !banned // when a call ends is unknown
              ? ""
              : ", reset=" + secondsUp(statedTime(rule, verdict));
      headers.set(
          RateLimitFields.LIMIT,
          "limit=%s, remaining=%s%s"
              .formatted(rule.rule().capacity(), banned ? 0 : rule.remaining(), reset));
      headers.set(
          RateLimitFields.POLICY,
          verdict.rules().stream()
              .map(each -> item(each.rule()))
              .collect(Collectors.joining(", ")));
    }

    private static String item(Rule rule) {
      boolean stated = !rule.waits() && !rule.holdsPermits() && rule.window().toNanosPart() == 0;
      return rule.capacity() + (stated ? ";w=" + rule.window().toSeconds() : "");
    }
  }

  /**
   * {@code X-RateLimit-Limit}, {@code -Remaining} and {@code -Reset}, of the rule that is closest
   * to exhaustion. Fields with one value are never mixed: those of another service stay, unless
   * this one denies the call.
   */
  private static final class SingleFormat implements RateLimitFormat {

    private final boolean epoch;

    /**
     * @param epoch whether the time is in seconds since 1970, else from now
     */
    SingleFormat(boolean epoch) {
      this.epoch = epoch;
    }

    @Override
    public void write(Verdict verdict, MutableHttpHeaders headers, boolean deniedBehind) {
      if (!deniedBehind && !(verdict.allowed() && RateLimitFields.hasSingle(headers))) {
        closestToExhaustion(verdict).ifPresent(rule -> write(rule, verdict, headers));
      }
    }

    private void write(RuleVerdict rule, Verdict verdict, MutableHttpHeaders headers) {
      boolean banned = verdict.ban().isPresent();
      headers.set(RateLimitFields.SINGLE_LIMIT, Long.toString(rule.rule().capacity()));
      headers.set(RateLimitFields.SINGLE_REMAINING, Long.toString(banned ? 0 : rule.remaining()));
      if (rule.rule().holdsPermits() && !banned) {
        headers.remove(RateLimitFields.SINGLE_RESET);
        return; // when a call ends is unknown
      }
      Duration wait = statedTime(rule, verdict);
      headers.set(
          RateLimitFields.SINGLE_RESET,
          Long.toString(epoch ? epoch(verdict, wait) : secondsUp(wait)));
    }

    /** By the clock of the store, so that all calls in one window have one time. */
    private static long epoch(Verdict verdict, Duration ahead) {
      long micros = verdict.decidedAtMicros();
      Duration decided =
          micros == 0
              ? Duration.ofMillis(System.currentTimeMillis())
              : Duration.of(micros, ChronoUnit.MICROS);
      return secondsUp(decided.plus(ahead));
    }
  }
}
