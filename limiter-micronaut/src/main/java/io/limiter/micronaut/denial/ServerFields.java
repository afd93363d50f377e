// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.micronaut.core.annotation.Internal;
import io.micronaut.http.HttpHeaders;
import io.micronaut.http.MutableHttpHeaders;
import io.micronaut.http.server.HttpServerConfiguration;
import jakarta.inject.Singleton;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Optional;

/**
 * {@code Date} and {@code Server}, which the server writes into the responses of routes and
 * handlers, but not into those of filters.
 */
@Internal
@Singleton
public final class ServerFields {

  private final HttpServerConfiguration server;

  private volatile DateField date = new DateField(0, "");

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

  /** The text of a second is formatted once. */
  private void writeDate(MutableHttpHeaders headers) {
    long second = Instant.now().getEpochSecond();
    DateField written = date;
    if (written.second() != second) {
      OffsetDateTime time = Instant.ofEpochSecond(second).atOffset(ZoneOffset.UTC);
      written = new DateField(second, DateTimeFormatter.RFC_1123_DATE_TIME.format(time));
      date = written;
    }
    headers.set(HttpHeaders.DATE, written.text());
  }

  /**
   * The field of one second.
   *
   * @param second since the epoch
   */
  private record DateField(long second, String text) {}
}
