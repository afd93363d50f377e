// SPDX-License-Identifier: Apache-2.0
package io.limiter.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.micronaut.http.HttpResponse;
import io.micronaut.http.MutableHttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The forms in which servers state a pause. A row is a status, header lines, and the pause. Each
 * response has the date Sun, 06 Nov 2033 08:49:37 GMT, which is 2014879777 as a Unix time.
 */
class StatedPauseTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        // RFC 9110, section 10.2.3: seconds, or one of the three dates of section 5.6.7
        "429 | Retry-After: 60 | PT60S",
        "429 | Retry-After: 0 | PT0S",
        "503 | Retry-After: 60 | PT60S",
        "429 | Retry-After: Sun, 06 Nov 2033 08:50:37 GMT | PT60S",
        "429 | Retry-After: Sunday, 06-Nov-33 08:50:37 GMT | PT60S",
        "429 | Retry-After: Sun Nov  6 08:50:37 2033 | PT60S",
        "429 | Retry-After: Sunday, 06-Nov-94 08:49:37 GMT | PT0S", // 1994
        // A wrong day of the week, and dates of other formats
        "429 | Retry-After: Mon, 06 Nov 2033 08:50:37 GMT | PT60S",
        "429 | Retry-After: Sun, 6 Nov 2033 08:50:37 UTC | PT60S",
        "429 | Retry-After: Sun, 06-Nov-2033 08:50:37 GMT | PT60S",
        "429 | Retry-After: Sun, 06 Nov 2033 09:50:37 +0100 | PT60S",
        "429 | Retry-After: 2033-11-06T08:50:37Z | PT60S",
        // Fractions: Discord
        "429 | Retry-After: 2.0 | PT2S",
        "429 | Retry-After: 0.5 | PT0.5S",
        "429 | Retry-After: 0.0001 | PT0.001S",
        // More than a long holds
        "429 | Retry-After: 99999999999999999999 | PT2777777H46M40S",
        // One line of the gateway, one of the service, in either order, or joined
        "429 | Retry-After: 5 ~ Retry-After: 60 | PT60S",
        "429 | Retry-After: 60 ~ Retry-After: 5 | PT60S",
        "429 | Retry-After: soon ~ Retry-After: 60 | PT60S",
        "429 | Retry-After: 5, 60 | PT60S",
        "429 | Retry-After: 5, Sun, 06 Nov 2033 08:50:37 GMT | PT60S",
        // GitHub's secondary limits: the remaining calls are those of another limit
        "403 | Retry-After: 60 ~ X-RateLimit-Remaining: 4999 ~ X-RateLimit-Reset: 2014883377 | PT60S",
        // bucket4j-spring-boot-starter; MailerLite
        "429 | X-Rate-Limit-Retry-After-Seconds: 60 | PT60S",
        "429 | X-RateLimit-Retry-After: 60 | PT60S",
      })
  void retryAfter(int status, String lines, Duration pause) {
    assertThat(StatedPause.of(response(status, lines))).isEqualTo(pause);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        // draft-ietf-httpapi-ratelimit-headers-08 to -11
        "200 | RateLimit: \"a\";r=0;t=60 | PT60S",
        "200 | RateLimit: \"a\"; r=0; t=60 | PT60S",
        "200 | RateLimit: \"a\";t=60;pk=:cHsdsRa894==:;r=0 | PT60S",
        "200 | RateLimit: a;r=0;t=60 | PT60S",
        "200 | RateLimit: \"a\";a=0;w=60;c=2 | PT60S",
        "200 | RateLimit: \"a\";a=5;w=60;c=0 | PT0S",
        "200 | RateLimit: \"a\";r=5;t=10, \"b\";r=0;t=60 | PT60S",
        "200 | RateLimit: \"a\";r=0;t=60 ~ RateLimit: \"b\";r=5;t=70 | PT60S",
        "200 | RateLimit: \"b\";r=5;t=70 ~ RateLimit: \"a\";r=0;t=60 | PT60S",
        "200 | RateLimit: \"a, remaining=0, reset=9\";r=5;t=60 | PT0S",
        "200 | RateLimit: \"a;r=0;t=9\";r=5;t=60 | PT0S",
        "200 | RateLimit: \"a\";r=0 | PT0S",
        "200 | RateLimit: nonsense;;;=\" | PT0S",
        // -07: a dictionary
        "200 | RateLimit: limit=100, remaining=0, reset=60 | PT60S",
        "429 | RateLimit: limit=100,remaining=0,reset=60 | PT60S",
        "200 | RateLimit: reset=60, remaining=0 | PT60S",
        "200 | RateLimit: limit=100, remaining=5, reset=60 | PT0S",
        "200 | RateLimit: limit=9, remaining=5, reset=9 ~ RateLimit: remaining=0, reset=60 | PT60S",
        // -00 to -06: three fields
        "200 | RateLimit-Limit: 100 ~ RateLimit-Remaining: 0 ~ RateLimit-Reset: 60 | PT60S",
        "200 | RateLimit-Limit: 100 ~ RateLimit-Remaining: 5 ~ RateLimit-Reset: 60 | PT0S",
        "429 | RateLimit-Reset: 60 | PT60S",
        "200 | RateLimit-Reset: 60 | PT0S",
        // GitLab: a Unix time
        "429 | RateLimit-Observed: 67 ~ RateLimit-Remaining: 0 ~ RateLimit-Reset: 2014879837"
            + " ~ RateLimit-ResetTime: Sun, 06 Nov 2033 08:50:37 GMT | PT60S",
        // A Retry-After does not shorten what the other fields state
        "429 | Retry-After: 5 ~ RateLimit: \"a\";r=0;t=60 | PT60S",
        "429 | Retry-After: 60 ~ RateLimit: \"a\";r=0;t=5 | PT60S",
        "429 | Retry-After: 5 ~ RateLimit-Remaining: 0 ~ RateLimit-Reset: 60 | PT60S",
      })
  void theFieldsOfTheDrafts(int status, String lines, Duration pause) {
    assertThat(StatedPause.of(response(status, lines))).isEqualTo(pause);
  }

  /** Their reset may be the time of a full quota, so they count only where nothing else does. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        // GitHub's primary limits
        "403 | X-RateLimit-Remaining: 0 ~ X-RateLimit-Reset: 2014879837 | PT60S",
        "429 | X-RateLimit-Remaining: 0 ~ X-RateLimit-Reset: 2014879837 | PT60S",
        "403 | X-RateLimit-Remaining: 4999 ~ X-RateLimit-Reset: 2014879837 | PT0S",
        "403 | X-RateLimit-Reset: 2014879837 | PT0S",
        "200 | X-RateLimit-Remaining: 0 ~ X-RateLimit-Reset: 2014879837 | PT0S",
        // Our own, and others: seconds
        "429 | X-RateLimit-Remaining: 0 ~ X-RateLimit-Reset: 60 | PT60S",
        "429 | X-RateLimit-Reset: 60 | PT60S",
        // X and Okta: another name; Reddit: fractions
        "429 | X-Rate-Limit-Remaining: 0 ~ X-Rate-Limit-Reset: 2014879837 | PT60S",
        "429 | X-RateLimit-Remaining: 0.0 ~ X-RateLimit-Reset: 60.5 | PT60.5S",
        "429 | X-RateLimit-Remaining: -1 ~ X-RateLimit-Reset: 60 | PT60S",
        // Unix times with fractions, in milliseconds, in the past; dates
        "429 | X-RateLimit-Reset: 2014879837.5 | PT60.5S",
        "429 | X-RateLimit-Reset: 2014879837500 | PT60.5S",
        "429 | X-RateLimit-Reset: 2014879700 | PT0S",
        "429 | X-RateLimit-Reset: Sun, 06 Nov 2033 08:50:37 GMT | PT60S",
        "429 | X-RateLimit-Reset: 2033-11-06T08:50:37+00:00 | PT60S",
        // Brave Search: one for each of several limits
        "429 | X-RateLimit-Remaining: 0, 14999 ~ X-RateLimit-Reset: 60, 1419704 | PT60S",
        "429 | X-RateLimit-Remaining: 0 ~ X-RateLimit-Reset: 5, 60 | PT60S",
        // throttled: the reset is the time of a full quota
        "429 | X-RateLimit-Remaining: 0 ~ X-RateLimit-Reset: 60 ~ Retry-After: 5 | PT5S",
      })
  void olderFields(int status, String lines, Duration pause) {
    assertThat(StatedPause.of(response(status, lines))).isEqualTo(pause);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "200 | Retry-After: 60",
        "202 | Retry-After: 60",
        "301 | Retry-After: 60",
        "404 | Retry-After: 60",
        "429 | Retry-After: soon",
        "429 | Retry-After: -5",
        "429 | Retry-After: Wed, 21 Oct 2015 07:28:00 GMT",
        "429 | Retry-After: Sun, 06 Brumaire 2033 08:50:37 GMT",
        "429 | X-RateLimit-Reset: later",
        "429 | X-Other: 60"
      })
  void whatStatesNoPause(int status, String lines) {
    assertThat(StatedPause.of(response(status, lines))).isZero();
  }

  @Test
  void withoutADateTheTimeIsThatOfThisProcess() {
    MutableHttpResponse<?> response = HttpResponse.status(429, "slow");
    response.header("X-RateLimit-Reset", "" + (Instant.now().getEpochSecond() + 60));

    assertThat(StatedPause.of(response)).isBetween(Duration.ofSeconds(55), Duration.ofSeconds(60));
  }

  @Test
  void theLanguageOfTheProcessChangesNothing() {
    Locale before = Locale.getDefault();
    try {
      Locale.setDefault(Locale.forLanguageTag("ar-EG"));
      assertThat(StatedPause.of(response(429, "Retry-After: Sunday, 06-Nov-33 08:50:37 GMT")))
          .isEqualTo(Duration.ofMinutes(1));
    } finally {
      Locale.setDefault(before);
    }
  }

  private static HttpResponse<?> response(int status, String lines) {
    MutableHttpResponse<?> response = HttpResponse.status(status, "any");
    response.header("Date", "Sun, 06 Nov 2033 08:49:37 GMT");
    for (String line : lines.split("~")) {
      int colon = line.indexOf(':');
      response.header(line.substring(0, colon).strip(), line.substring(colon + 1).strip());
    }
    return response;
  }
}
