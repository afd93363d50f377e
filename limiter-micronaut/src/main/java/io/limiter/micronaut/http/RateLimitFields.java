// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.Rule;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.micronaut.http.HttpHeaders;
import io.micronaut.http.MutableHttpHeaders;
import io.micronaut.http.MutableHttpResponse;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/**
 * Writes the header fields that tell a caller where he stands: {@code RateLimit-Policy} and {@code
 * RateLimit} as in draft-ietf-httpapi-ratelimit-headers-11, one item for each rule, and {@code
 * Retry-After}.
 *
 * @see <a href="https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/">the
 *     draft</a>
 */
@Singleton
public class RateLimitFields {

  static final String POLICY = "RateLimit-Policy";
  static final String LIMIT = "RateLimit";

  /** Fields of policies that are remembered; others are made anew each time. */
  private static final int MAX_REMEMBERED = 4_096;

  private final Map<Policy, String> policies = new ConcurrentHashMap<>();

  /** Writes both fields, unless the response has one of them already. */
  public void writeIfAbsent(Verdict verdict, MutableHttpResponse<?> response) {
    MutableHttpHeaders headers = response.getHeaders();
    if (!verdict.rules().isEmpty() && !headers.contains(LIMIT)) {
      headers.set(POLICY, policy(verdict.policy()));
      headers.set(LIMIT, limit(verdict.rules()));
    }
  }

  /**
   * Writes the fields of a refusal that the response does not have yet. There is no {@code
   * Retry-After} where no wait would help, nor on a duplicate: a client that obeys it would submit
   * once more what was accepted. Nobody may store a refusal: RFC 6585 forbids it for a 429, and any
   * would outlive its reason.
   */
  public void writeRefusal(Verdict verdict, MutableHttpResponse<?> response) {
    writeIfAbsent(verdict, response);
    MutableHttpHeaders headers = response.getHeaders();
    if (!headers.contains(HttpHeaders.CACHE_CONTROL)) {
      headers.set(HttpHeaders.CACHE_CONTROL, "no-store");
    }
    if (verdict.outcome() == Outcome.LIMITED && !headers.contains(HttpHeaders.RETRY_AFTER)) {
      verdict
          .retryAfter()
          .map(wait -> Math.max(1, secondsUp(wait)))
          .ifPresent(seconds -> headers.set(HttpHeaders.RETRY_AFTER, Long.toString(seconds)));
    }
  }

  private String policy(Policy policy) {
    String known = policies.get(policy);
    if (known != null) {
      return known;
    }
    String made =
        policy.rules().stream()
            .flatMap(stack -> stack.rules().stream())
            .map(RateLimitFields::policyItem)
            .collect(Collectors.joining(", "));
    if (policies.size() < MAX_REMEMBERED) {
      policies.put(policy, made);
    }
    return made;
  }

  /** A window that is not whole seconds has no legal {@code w}, so it has none. */
  private static String policyItem(Rule rule) {
    String quota = '"' + rule.name() + "\";q=" + rule.count();
    return rule.window().toNanosPart() == 0 ? quota + ";w=" + rule.window().toSeconds() : quota;
  }

  private static String limit(List<RuleVerdict> rules) {
    StringBuilder field = new StringBuilder(32 * rules.size());
    for (RuleVerdict rule : rules) {
      if (!field.isEmpty()) {
        field.append(", ");
      }
      field
          .append('"')
          .append(rule.rule().name())
          .append("\";r=")
          .append(rule.remaining())
          .append(";t=")
          .append(secondsUp(rule.effectiveWindow()));
    }
    return field.toString();
  }

  static long secondsUp(Duration duration) {
    return duration.toSeconds() + (duration.toNanosPart() > 0 ? 1 : 0);
  }
}
