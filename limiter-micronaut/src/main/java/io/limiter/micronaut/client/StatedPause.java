// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.client;

import io.micronaut.http.HttpHeaders;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads for how long a server asks its clients to pause. What it cannot read is ignored. */
final class StatedPause {

  /** Enough for the policies of a response; what follows is not read. */
  private static final int MAX_LENGTH = 2_000;

  /** A number of seconds that is stated in more digits is a mistake. */
  private static final Pattern SECONDS = Pattern.compile("\\d{1,10}");

  /**
   * One policy in the field of draft-ietf-httpapi-ratelimit-headers: its name as a structured
   * field, then its parameters.
   */
  private static final Pattern POLICY =
      Pattern.compile("(?:\"(?:[^\"\\\\]|\\\\.)*+\"|[A-Za-z*][\\w:./*-]*+)((?:;[^,;\"]*+)*+)");

  private static final Pattern REMAINING = Pattern.compile(";\\s*r\\s*=\\s*(\\d{1,15})\\s*(?=;|$)");
  private static final Pattern TIME = Pattern.compile(";\\s*t\\s*=\\s*(\\d{1,10})\\s*(?=;|$)");

  private StatedPause() {}

  /** The time from now on; zero if the response does not ask for a pause. */
  static Duration of(HttpResponse<?> response) {
    int status = response.code();
    Duration pause = exhausted(response.header("RateLimit"));
    if (status == HttpStatus.TOO_MANY_REQUESTS.getCode()
        || status == HttpStatus.SERVICE_UNAVAILABLE.getCode()) {
      Duration stated =
          retryAfter(
              response.header(HttpHeaders.RETRY_AFTER),
              date(response.header(HttpHeaders.DATE)).orElseGet(Instant::now));
      return stated.compareTo(pause) > 0 ? stated : pause;
    }
    return pause;
  }

  /**
   * A number of seconds or a date, by RFC 9110, section 10.2.3.
   *
   * @param now the time by the server's clock, which may differ from ours
   */
  static Duration retryAfter(@Nullable String field, Instant now) {
    if (field == null) {
      return Duration.ZERO;
    }
    String text = field.strip();
    if (SECONDS.matcher(text).matches()) {
      return Duration.ofSeconds(Long.parseLong(text));
    }
    Duration until = date(text).map(at -> Duration.between(now, at)).orElse(Duration.ZERO);
    return until.isNegative() ? Duration.ZERO : until;
  }

  private static Optional<Instant> date(@Nullable String text) {
    if (text == null) {
      return Optional.empty();
    }
    try {
      return Optional.of(
          ZonedDateTime.parse(text, DateTimeFormatter.RFC_1123_DATE_TIME).toInstant());
    } catch (DateTimeParseException e) {
      return Optional.empty();
    }
  }

  /** The longest time of a policy with nothing remaining. */
  static Duration exhausted(@Nullable String field) {
    long seconds = 0;
    if (field != null) {
      Matcher policies =
          POLICY.matcher(field.length() > MAX_LENGTH ? field.substring(0, MAX_LENGTH) : field);
      while (policies.find()) {
        Matcher remaining = REMAINING.matcher(policies.group(1));
        Matcher time = TIME.matcher(policies.group(1));
        if (remaining.find() && Long.parseLong(remaining.group(1)) == 0 && time.find()) {
          seconds = Math.max(seconds, Long.parseLong(time.group(1)));
        }
      }
    }
    return Duration.ofSeconds(seconds);
  }
}
