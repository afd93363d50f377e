// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.micronaut.config.LimiterConfiguration.HeadersConfiguration;
import io.limiter.micronaut.denial.Denial;
import io.micronaut.http.HttpHeaders;
import io.micronaut.http.MutableHttpHeaders;
import io.micronaut.http.MutableHttpResponse;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Writes the header fields that show the state of the limits to a caller: those of the {@linkplain
 * RateLimitFormat formats} in {@code limiter.headers.format} and of the application's own; {@code
 * Retry-After}; {@code X-RateLimit-Warning}, with {@code limiter.headers.warning}; and {@code
 * X-Decided-By}, with {@code limiter.headers.debug}.
 */
@Singleton
public class RateLimitFields {

  static final String POLICY = "RateLimit-Policy";
  static final String LIMIT = "RateLimit";
  static final String SINGLE_LIMIT = "X-RateLimit-Limit";
  static final String SINGLE_REMAINING = "X-RateLimit-Remaining";
  static final String SINGLE_RESET = "X-RateLimit-Reset";
  static final String WARNING = "X-RateLimit-Warning";
  static final String DECIDED_BY = "X-Decided-By";

  /** Fields with one value, which state one limit together. */
  private static final List<String> SINGLE =
      List.of(HttpHeaders.RETRY_AFTER, SINGLE_LIMIT, SINGLE_REMAINING, SINGLE_RESET);

  private static final String NO_STORE = "no-store";

  private final List<RateLimitFormat> formats;
  private final boolean retryAfter;
  private final boolean warning;
  private final boolean debug;

  /**
   * @param own the formats of the application
   */
  public RateLimitFields(HeadersConfiguration configuration, List<RateLimitFormat> own) {
    this.formats =
        Stream.concat(configuration.formats().stream().map(RateLimitFormats::of), own.stream())
            .toList();
    this.retryAfter = configuration.retryAfter();
    this.warning = configuration.warning();
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
    if (warning && verdict.nearLimit()) {
      headers.add(WARNING, nearLimit(verdict)); // a list: one of another service stays
    }
    boolean deniedBehind =
        verdict.allowed() && isDenial(response.code()) && headers.contains(LIMIT);
    for (int i = 0; i < formats.size(); i++) {
      formats.get(i).write(verdict, headers, deniedBehind);
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

  /** The names of the rules that are near their limit, as strings of a structured field. */
  private static String nearLimit(Verdict verdict) {
    return verdict.rules().stream()
        .filter(RuleVerdict::nearLimit)
        .map(rule -> '"' + rule.rule().name() + '"')
        .collect(Collectors.joining(", "));
  }

  private static boolean isDenial(int status) {
    return status == 429 || status == 503;
  }

  static boolean hasSingle(MutableHttpHeaders headers) {
    return SINGLE.stream().anyMatch(headers::contains);
  }

  /** Who decided; after a decision of the fallback, with the reason as an HTTP comment. */
  private static String decidedBy(Verdict verdict) {
    return verdict
        .reason()
        .map(reason -> verdict.decidedBy() + " (" + reason + ")")
        .orElseGet(() -> verdict.decidedBy().name());
  }

  /** Whole seconds, rounded up. */
  static long secondsUp(Duration time) {
    return time.toSeconds() + (time.toNanosPart() > 0 ? 1 : 0);
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
}
