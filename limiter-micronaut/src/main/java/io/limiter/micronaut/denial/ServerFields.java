// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.micronaut.core.annotation.Internal;
import io.micronaut.http.HttpHeaders;
import io.micronaut.http.MutableHttpHeaders;
import io.micronaut.http.server.HttpServerConfiguration;
import jakarta.inject.Singleton;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.Optional;

/**
 * {@code Date} and {@code Server}, which the server writes into the responses of routes and
 * handlers, but not into those of filters.
 */
@Internal
@Singleton
public final class ServerFields {

  /** The format of RFC 9110, section 5.6.7. */
  private static final DateTimeFormatter IMF_FIXDATE =
      DateTimeFormatter.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.ENGLISH)
          .withZone(ZoneOffset.UTC);

  private final HttpServerConfiguration server;

  private volatile String date = "";

  /** The second of the epoch that {@link #date} names. */
  private volatile long dateSecond;

  ServerFields(HttpServerConfiguration server) {
    this.server = server;
  }

  /** Adds those that are missing, unless a setting of the server leaves them out. */
  public void writeTo(MutableHttpHeaders headers) {
    if (server.isDateHeader() && !headers.contains(HttpHeaders.DATE)) {
      writeDate(headers);
    }
    if (!headers.contains(HttpHeaders.SERVER)) {
      Optional<String> name = server.getServerHeader();
      if (name.isPresent()) {
        headers.add(HttpHeaders.SERVER, name.get());
      }
    }
  }

  /**
   * The text of a second is formatted once. The text is written before its second, so that a thread
   * between the two formats it again; at worst it is the text of a neighbouring second.
   */
  private void writeDate(MutableHttpHeaders headers) {
    long second = Instant.now().getEpochSecond();
    if (dateSecond != second) {
      date = text(second);
      dateSecond = second;
    }
    headers.set(HttpHeaders.DATE, date);
  }

  /** Java's own format of RFC 1123 has the first days of a month without their zero. */
  static String text(long second) {
    return IMF_FIXDATE.format(Instant.ofEpochSecond(second));
  }
}
