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
      OffsetDateTime time = Instant.ofEpochSecond(second).atOffset(ZoneOffset.UTC);
      date = DateTimeFormatter.RFC_1123_DATE_TIME.format(time);
      dateSecond = second;
    }
    headers.set(HttpHeaders.DATE, date);
  }
}
