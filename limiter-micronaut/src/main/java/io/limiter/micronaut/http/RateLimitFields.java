// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.core.rule.Rule;
import io.limiter.core.util.BoundedCache;
import io.limiter.micronaut.config.LimiterConfiguration.HeadersConfiguration;
import io.limiter.micronaut.config.LimiterConfiguration.HeadersConfiguration.Legacy;
import io.limiter.micronaut.denial.Denial;
import io.micronaut.http.HttpHeaders;
import io.micronaut.http.MutableHttpHeaders;
import io.micronaut.http.MutableHttpResponse;
import jakarta.inject.Singleton;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Writes the header fields that show the state of the limits to a caller: {@code RateLimit-Policy}
 * and {@code RateLimit} as in draft-ietf-httpapi-ratelimit-headers-11, one item for each rule;
 * {@code Retry-After}; the {@code X-RateLimit} fields of older clients, if they are wanted; and
 * {@code X-Decided-By}, with {@code limiter.headers.debug}. While the caller is banned the first
 * item of both is {@code "abnormal-usage-detected"}, as the draft calls the reason: nothing may be
 * used, for the rest of the ban.
 *
 * @see <a href="https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/">the
 *     draft</a>
 */
@Singleton
public class RateLimitFields {

  static final String POLICY = "RateLimit-Policy";
  static final String LIMIT = "RateLimit";
  static final String LEGACY_LIMIT = "X-RateLimit-Limit";
  static final String LEGACY_REMAINING = "X-RateLimit-Remaining";
  static final String LEGACY_RESET = "X-RateLimit-Reset";
  static final String DECIDED_BY = "X-Decided-By";

  /** Fields with one value, which state one limit together. */
  private static final List<String> SINGLE =
      List.of(HttpHeaders.RETRY_AFTER, LEGACY_LIMIT, LEGACY_REMAINING, LEGACY_RESET);

  private static final String NO_STORE = "no-store";
  private static final String BAN = "\"abnormal-usage-detected\"";

  /** Policies whose fields are cached; those of others are formatted each time. */
  private static final int MAX_REMEMBERED = 4_096;

  private final boolean rateLimit;
  private final boolean retryAfter;
  private final Legacy legacy;
  private final boolean debug;
  private final BoundedCache<Policy, Formatted> formatted =
      new BoundedCache<>(MAX_REMEMBERED, policy -> new Formatted(policy.rules()));

  public RateLimitFields(HeadersConfiguration configuration) {
    this.rateLimit = configuration.enabled();
    this.retryAfter = configuration.retryAfter();
    this.legacy = configuration.legacy();
    this.debug = configuration.debug();
  }

  /**
   * Writes the fields of any response. It may have such fields of another service, behind this one:
   * lists have the items of both, a denial's first. Fields with one value are never mixed: those of
   * the other service stay, unless this one denies the call.
   */
  public void write(Verdict verdict, MutableHttpResponse<?> response) {
    MutableHttpHeaders headers = response.getHeaders();
    if (debug && !headers.contains(DECIDED_BY)) {
      headers.set(DECIDED_BY, decidedBy(verdict));
    }
    if (verdict.rules().isEmpty()) {
      return;
    }
    boolean deniedBehind =
        verdict.allowed() && isDenial(response.code()) && headers.contains(LIMIT);
    if (rateLimit) {
      Formatted constant = constant(verdict);
      join(headers, POLICY, policy(verdict, constant), deniedBehind);
      join(headers, LIMIT, limit(verdict, constant), deniedBehind);
    }
    if (legacy != Legacy.OFF && !deniedBehind && !(verdict.allowed() && hasSingle(headers))) {
      closestToExhaustion(verdict).ifPresent(rule -> writeLegacy(rule, verdict, headers));
    }
  }

  /**
   * Writes the fields of a denial. It must not be stored: RFC 6585 forbids it for a 429, and any
   * denial would outlive its reason.
   */
  public void writeDenial(Verdict verdict, MutableHttpResponse<?> response) {
    MutableHttpHeaders headers = response.getHeaders();
    OptionalLong seconds = retryAfter ? Denial.retryAfterSeconds(verdict) : OptionalLong.empty();
    if (seconds.isPresent()) {
      SINGLE.forEach(headers::remove); // otherwise they could state another limit
    }
    write(verdict, response);
    if (!forbidsStoring(headers)) {
      headers.set(HttpHeaders.CACHE_CONTROL, NO_STORE);
    }
    if (seconds.isPresent()) {
      headers.set(HttpHeaders.RETRY_AFTER, Long.toString(seconds.getAsLong()));
    }
  }

  private static boolean isDenial(int status) {
    return status == 429 || status == 503;
  }

  private static boolean hasSingle(MutableHttpHeaders headers) {
    return SINGLE.stream().anyMatch(headers::contains);
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

  /** Who decided; after a decision of the fallback, with the reason as an HTTP comment. */
  private static String decidedBy(Verdict verdict) {
    return verdict
        .reason()
        .map(reason -> verdict.decidedBy() + " (" + reason + ")")
        .orElseGet(() -> verdict.decidedBy().name());
  }

  private static boolean forbidsStoring(MutableHttpHeaders headers) {
    if (!headers.contains(HttpHeaders.CACHE_CONTROL)) {
      return false;
    }
    for (String field : headers.getAll(HttpHeaders.CACHE_CONTROL)) {
      for (String directive : field.split(",")) {
        if (directive.trim().equalsIgnoreCase(NO_STORE)) {
          return true;
        }
      }
    }
    return false;
  }

  private void writeLegacy(RuleVerdict rule, Verdict verdict, MutableHttpHeaders headers) {
    Optional<Duration> ban = verdict.ban();
    Duration wait =
        ban.filter(rest -> rest.compareTo(rule.effectiveWindow()) > 0)
            .orElse(rule.effectiveWindow());
    headers.set(LEGACY_LIMIT, Long.toString(rule.rule().capacity()));
    headers.set(LEGACY_REMAINING, Long.toString(ban.isPresent() ? 0 : rule.remaining()));
    if (rule.rule().holdsPermits() && ban.isEmpty()) {
      headers.remove(LEGACY_RESET);
      return; // when a call ends is unknown
    }
    headers.set(
        LEGACY_RESET,
        Long.toString(legacy == Legacy.EPOCH ? epoch(verdict, wait) : secondsUp(wait)));
  }

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

  private static long secondsUp(Duration duration) {
    return duration.toSeconds() + (duration.toNanosPart() > 0 ? 1 : 0);
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

  private static String policy(Verdict verdict, Formatted constant) {
    return verdict.ban().isPresent() ? BAN + ";q=0, " + constant.policy : constant.policy;
  }

  private static String limit(Verdict verdict, Formatted constant) {
    String field = constant.limit(verdict.rules());
    return verdict.ban().isPresent()
        ? BAN + ";r=0;t=" + secondsUp(verdict.ban().get()) + ", " + field
        : field;
  }

  /**
   * The rules of a policy are formatted once. Those of a verdict are others if an operator has
   * changed the limits of its subject.
   */
  private Formatted constant(Verdict verdict) {
    Formatted known = formatted.get(verdict.policy());
    return known.isOf(verdict.rules())
        ? known
        : new Formatted(verdict.rules().stream().map(RuleVerdict::rule).toList());
  }

  /** What is the same in the fields of each request. */
  private static final class Formatted {

    private static final byte[] SECONDS = ";t=".getBytes(StandardCharsets.US_ASCII);

    /** The most digits of a long. */
    private static final int MAX_DIGITS = 19;

    private final Rule[] rules;
    private final String policy;
    private final byte[][] items; // of each rule, up to what remains
    private final int length; // the most that a field may have

    Formatted(List<Rule> all) {
      this.rules = all.toArray(Rule[]::new);
      this.items = new byte[rules.length][];
      StringBuilder field = new StringBuilder(32 * rules.length);
      int most = 0;
      for (int r = 0; r < rules.length; r++) {
        field.append(r == 0 ? "" : ", ").append(item(rules[r]));
        items[r] =
            ((r == 0 ? "\"" : ", \"") + rules[r].name() + "\";r=")
                .getBytes(StandardCharsets.ISO_8859_1);
        most += items[r].length + SECONDS.length + 2 * MAX_DIGITS;
      }
      this.policy = field.toString();
      this.length = most;
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
      byte[] field = new byte[length];
      int at = 0;
      for (int r = 0; r < rules.length; r++) {
        RuleVerdict rule = verdicts.get(r);
        at = write(items[r], field, at);
        at = write(rule.remaining(), field, at);
        if (!rules[r].holdsPermits()) { // when a call ends is unknown
          at = write(SECONDS, field, at);
          at = write(secondsUp(rule.effectiveWindow()), field, at);
        }
      }
      return new String(field, 0, at, StandardCharsets.ISO_8859_1);
    }

    private static int write(byte[] text, byte[] field, int at) {
      System.arraycopy(text, 0, field, at, text.length);
      return at + text.length;
    }

    /** A number that is not negative. */
    private static int write(long number, byte[] field, int at) {
      int end = at + 1;
      for (long rest = number; rest > 9; rest /= 10) {
        end++;
      }
      long rest = number;
      for (int digit = end - 1; digit >= at; digit--) {
        field[digit] = (byte) ('0' + rest % 10);
        rest /= 10;
      }
      return end;
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
}
