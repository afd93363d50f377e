// SPDX-License-Identifier: Apache-2.0
package io.limiter.client;

import io.micronaut.http.HttpHeaders;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.format.DateTimeParseException;
import java.time.temporal.ChronoField;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Reads for how long a server asks its clients to pause: the longest time that its response states.
 * What it cannot read is ignored.
 */
final class StatedPause {

  /** GitHub responds with 403. */
  private static final Set<Integer> DENIALS =
      Set.of(
          HttpStatus.TOO_MANY_REQUESTS.getCode(),
          HttpStatus.SERVICE_UNAVAILABLE.getCode(),
          HttpStatus.FORBIDDEN.getCode());

  /** The field of RFC 9110, and those of MailerLite and bucket4j-spring-boot-starter. */
  private static final List<String> WAITS =
      List.of(
          HttpHeaders.RETRY_AFTER, "X-RateLimit-Retry-After", "X-Rate-Limit-Retry-After-Seconds");

  /** Enough for the policies of a line; what follows is not read. */
  private static final int MAX_LENGTH = 2_000;

  /** More digits are a mistake. */
  private static final Pattern NUMBER = Pattern.compile("-?\\d{1,40}(?:\\.\\d{0,40})?");

  /** More seconds count as these. */
  private static final BigDecimal MOST_SECONDS = BigDecimal.valueOf(10_000_000_000L);

  /** From here on, a number of seconds until a reset is a Unix time. */
  private static final BigDecimal UNIX_SECONDS = BigDecimal.valueOf(1_000_000_000L);

  /** From here on, a Unix time is in milliseconds, or in thousandths of these. */
  private static final BigDecimal UNIX_MILLIS = BigDecimal.valueOf(100_000_000_000L);

  /** Between the members of a field; the comma after the day of the week is not one. */
  private static final Pattern COMMA = Pattern.compile(",(?!\\s*\\d{1,2}[ -][A-Za-z])");

  /** The day of the week, which may be wrong. */
  private static final Pattern WEEKDAY = Pattern.compile("^[A-Za-z]+,? ");

  /** One policy of a draft from -08 on: its name as a structured field, then its parameters. */
  private static final Pattern POLICY =
      Pattern.compile("(?:\"(?:[^\"\\\\]|\\\\.)*+\"|[A-Za-z*][\\w:./*-]*+)((?:;[^,;\"]*+)*+)");

  // Both names: those of draft 11, and those of its open change.
  private static final Pattern REMAINING = parameter(';', "[ra]");
  private static final Pattern TIME = parameter(';', "[tw]");
  private static final Pattern REMAINING_07 = parameter(',', "remaining");
  private static final Pattern TIME_07 = parameter(',', "reset");

  /** The dates of RFC 9110, section 5.6.7, without the day of the week; and that of RFC 3339. */
  private static final List<DateTimeFormatter> DATES =
      List.of(
          DateTimeFormatter.RFC_1123_DATE_TIME,
          new DateTimeFormatterBuilder()
              .parseCaseInsensitive()
              .appendPattern("d-MMM-")
              // two digits are a year from 1970 to 2069, as in cookies (RFC 6265)
              .appendValueReduced(ChronoField.YEAR, 2, 4, 1970)
              .appendPattern(" HH:mm:ss 'GMT'")
              .toFormatter(Locale.ENGLISH)
              .withZone(ZoneOffset.UTC),
          DateTimeFormatter.ofPattern("MMM d HH:mm:ss uuuu", Locale.ENGLISH)
              .withZone(ZoneOffset.UTC),
          DateTimeFormatter.ISO_OFFSET_DATE_TIME);

  private final HttpHeaders fields;
  private final int status;
  private final Instant now; // by the server's clock, which may differ from ours

  private StatedPause(HttpResponse<?> response) {
    this.fields = response.getHeaders();
    this.status = response.code();
    this.now =
        Optional.ofNullable(response.header(HttpHeaders.DATE))
            .flatMap(StatedPause::date)
            .orElseGet(Instant::now);
  }

  /** The time from now on; zero if the response does not ask for a pause. */
  static Duration of(HttpResponse<?> response) {
    return new StatedPause(response).longest();
  }

  /**
   * Beside a {@code Retry-After} the {@code X-RateLimit} fields do not count: with some servers
   * their reset is when the quota is full.
   */
  private Duration longest() {
    Duration drafts = longest(policies(), reset("RateLimit-"));
    if (!DENIALS.contains(status)) {
      return drafts;
    }
    Duration wait = retryAfter();
    return wait.isZero()
        ? longest(drafts, reset("X-RateLimit-"), reset("X-Rate-Limit-"))
        : longest(drafts, wait);
  }

  private Duration retryAfter() {
    return longest(
        WAITS.stream()
            .flatMap(this::members)
            .map(text -> number(text).map(StatedPause::seconds).orElseGet(() -> until(text))));
  }

  /** The policies with nothing remaining, in one field for all. */
  private Duration policies() {
    return longest(
        fields.getAll("RateLimit").stream()
            .map(line -> line.length() > MAX_LENGTH ? line.substring(0, MAX_LENGTH) : line)
            .flatMap(
                line ->
                    Stream.concat(
                        line.indexOf('"') < 0
                            ? exhausted(line, REMAINING_07, TIME_07).stream()
                            : Stream.empty(),
                        POLICY
                            .matcher(line)
                            .results()
                            .flatMap(one -> exhausted(one.group(1), REMAINING, TIME).stream()))));
  }

  private static Optional<Duration> exhausted(String policy, Pattern remaining, Pattern time) {
    Matcher left = remaining.matcher(policy);
    Matcher until = time.matcher(policy);
    return left.find() && Long.parseLong(left.group(1)) == 0 && until.find()
        ? Optional.of(Duration.ofSeconds(Long.parseLong(until.group(1))))
        : Optional.empty();
  }

  /**
   * A field for what remains and one for the time, as in the drafts up to -06: each may have a
   * member for each policy. A 429 may lack what remains.
   */
  private Duration reset(String prefix) {
    List<String> remaining = members(prefix + "Remaining").toList();
    List<String> resets = members(prefix + "Reset").toList();
    boolean any =
        remaining.isEmpty()
            ? status == HttpStatus.TOO_MANY_REQUESTS.getCode()
            : remaining.stream().anyMatch(StatedPause::isNothing);
    return longest(
        IntStream.range(0, resets.size())
            .filter(i -> remaining.size() == resets.size() ? isNothing(remaining.get(i)) : any)
            .mapToObj(i -> reset(number(resets.get(i)), resets.get(i))));
  }

  /** Seconds, a Unix time or a date. */
  private Duration reset(Optional<BigDecimal> number, String text) {
    if (number.isEmpty()) {
      return until(text);
    }
    BigDecimal reset = number.get();
    if (reset.compareTo(UNIX_SECONDS) < 0) {
      return seconds(reset);
    }
    while (reset.compareTo(UNIX_MILLIS) >= 0) {
      reset = reset.movePointLeft(3);
    }
    return seconds(reset.subtract(BigDecimal.valueOf(now.toEpochMilli(), 3)));
  }

  private Duration until(String text) {
    return date(text).map(at -> Duration.between(now, at)).orElse(Duration.ZERO);
  }

  private Stream<String> members(String field) {
    return fields.getAll(field).stream().flatMap(COMMA::splitAsStream).map(String::strip);
  }

  private static boolean isNothing(String remaining) {
    return number(remaining).filter(left -> left.compareTo(BigDecimal.ONE) < 0).isPresent();
  }

  private static Optional<BigDecimal> number(String text) {
    return NUMBER.matcher(text).matches() ? Optional.of(new BigDecimal(text)) : Optional.empty();
  }

  private static Duration seconds(BigDecimal number) {
    return Duration.ofMillis(
        number
            .min(MOST_SECONDS)
            .max(BigDecimal.ZERO)
            .movePointRight(3)
            .setScale(0, RoundingMode.CEILING)
            .longValue());
  }

  private static Optional<Instant> date(String text) {
    String plain =
        WEEKDAY
            .matcher(text.strip().replaceAll("\\s+", " "))
            .replaceFirst("")
            .replace("UTC", "GMT");
    for (DateTimeFormatter format : DATES) {
      try {
        return Optional.of(format.parse(plain, Instant::from));
      } catch (DateTimeParseException e) {
        // the next form
      }
    }
    return Optional.empty();
  }

  private static Duration longest(Duration... pauses) {
    return longest(Stream.of(pauses));
  }

  /** What has passed is no pause. */
  private static Duration longest(Stream<Duration> pauses) {
    return pauses
        .filter(pause -> !pause.isNegative())
        .max(Comparator.naturalOrder())
        .orElse(Duration.ZERO);
  }

  private static Pattern parameter(char before, String name) {
    return Pattern.compile(
        "(?:^|" + before + ")\\s*" + name + "\\s*=\\s*(\\d{1,15})\\s*(?=[,;]|$)");
  }
}
