// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.address.TrustedProxies;
import io.micronaut.core.annotation.Internal;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Locale;
import java.util.Optional;

/**
 * A caller that is blocked or exempt for a time, in addition to those of {@code limiter.block} and
 * {@code limiter.exempt}: an address, a network or a user.
 *
 * @param addresses of the caller; none of a user
 * @param user the name of a principal; empty of an address or a network
 * @param since when it was listed, by the clock of the instance that did
 * @param until when it ends, by the same clock
 * @param reason why; may be empty
 * @param by who has listed it
 * @param left the time for which it still holds
 */
public record ListedCaller(
    Kind kind,
    @Internal TrustedProxies addresses,
    String user,
    Instant since,
    Instant until,
    String reason,
    String by,
    Duration left)
    implements OverrideTable.Entry<ListedCaller> {

  /** What it is listed for. */
  public enum Kind {
    /** All requests are rejected. */
    BLOCK,
    /** No rule and no ban applies. */
    EXEMPT;

    /** Its name, as in {@code limiter.block} and {@code limiter.exempt}. */
    public String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** The longest time for which a caller can be listed: 30 days. */
  public static final Duration MAX_TIME = Duration.ofDays(30);

  /** The most characters of a reason: {@value}. */
  public static final int MAX_REASON = 200;

  /** What the entries of a table are, for messages. */
  static final String ENTRIES = "blocked and exempt callers";

  /** The most characters of a user's name, or of the name of who has listed a caller. */
  private static final int MAX_NAME = 500;

  private static final String ADDRESS = "address";
  private static final String USER = "user";

  @Internal
  public ListedCaller {
    requireLength(user, MAX_NAME, "name of a user");
    requireLength(reason, MAX_REASON, "reason");
    reason = LogThrottle.oneLine(reason, MAX_REASON);
    by = LogThrottle.oneLine(by, MAX_NAME);
  }

  private static void requireLength(String text, int max, String what) {
    if (text.length() > max) {
      throw new IllegalArgumentException(
          "A %s with %s characters: use %s at most".formatted(what, text.length(), max));
    }
  }

  /**
   * An address or a network.
   *
   * @param address such as {@code 203.0.113.7} or {@code 2001:db8::/32}
   * @param time for which it is listed, 1 s to 30 days
   * @param reason at most {@value #MAX_REASON} characters; may be empty
   * @param by who lists it
   * @throws IllegalArgumentException naming the value and the remedy
   */
  public static ListedCaller ofAddress(
      Kind kind, String address, Duration time, String reason, String by) {
    return of(kind, TrustedProxies.ofOne(address.strip()), "", time, reason, by);
  }

  /**
   * A user.
   *
   * @param user the name of a principal
   * @param time for which it is listed, 1 s to 30 days
   * @param reason at most {@value #MAX_REASON} characters; may be empty
   * @param by who lists it
   * @throws IllegalArgumentException naming the value and the remedy
   */
  public static ListedCaller ofUser(
      Kind kind, String user, Duration time, String reason, String by) {
    return of(kind, TrustedProxies.NONE, user, time, reason, by);
  }

  private static ListedCaller of(
      Kind kind, TrustedProxies addresses, String user, Duration time, String reason, String by) {
    if (time.compareTo(Duration.ofSeconds(1)) < 0 || time.compareTo(MAX_TIME) > 0) {
      throw new IllegalArgumentException("A caller for %s: use 1 s to 30 days".formatted(time));
    }
    Instant now = Instant.now().truncatedTo(ChronoUnit.MILLIS);
    return new ListedCaller(kind, addresses, user, now, now.plus(time), reason, by, time);
  }

  /** How the caller is named: {@code address} or {@code user}. */
  public String type() {
    return user.isEmpty() ? ADDRESS : USER;
  }

  /** The address or the network, in the spelling of RFC 5952, or the name of the user. */
  public String name() {
    return user.isEmpty() ? addresses.text() : user;
  }

  @Override
  public String tag() {
    return kind.word() + ' ' + type() + ' ' + name();
  }

  @Override
  public String text() {
    return "%s\n%s\n%s\n%s".formatted(since.toEpochMilli(), until.toEpochMilli(), by, reason);
  }

  @Override
  public ListedCaller withLeft(Duration time) {
    return new ListedCaller(kind, addresses, user, since, until, reason, by, time);
  }

  /**
   * Reads what {@link #tag} and {@link #text} have written.
   *
   * @return empty if it is something else
   */
  static Optional<ListedCaller> read(String tag, String text, Duration left) {
    String[] caller = tag.split(" ", 3);
    String[] lines = text.split("\n", 4);
    if (caller.length < 3 || lines.length < 4) {
      return Optional.empty();
    }
    try {
      boolean user = caller[1].equals(USER);
      ListedCaller read =
          new ListedCaller(
              Kind.valueOf(caller[0].toUpperCase(Locale.ROOT)),
              user ? TrustedProxies.NONE : TrustedProxies.ofOne(caller[2]),
              user ? caller[2] : "",
              Instant.ofEpochMilli(Long.parseLong(lines[0])),
              Instant.ofEpochMilli(Long.parseLong(lines[1])),
              lines[3],
              lines[2],
              left);
      return Optional.of(read).filter(it -> it.tag().equals(tag)); // else it cannot be ended
    } catch (IllegalArgumentException malformed) { // numbers too
      return Optional.empty();
    }
  }
}
