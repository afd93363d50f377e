// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.micronaut.http.HttpHeaders;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MutableHttpHeaders;
import io.micronaut.http.MutableHttpResponse;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/**
 * The response to a submission, as it is kept: a version, the status, its header fields, and its
 * body. Arrays are not copied.
 *
 * @param fields names and values, in their order
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record StoredAnswer(int status, List<Field> fields, byte[] body) {

  /** The field that marks a repeated response. */
  static final String REPLAYED = "Idempotency-Replayed";

  private static final int VERSION = 1;
  private static final int MIN_STATUS = 200;
  private static final int MAX_STATUS = 999;

  /**
   * Fields that belong to one response or connection, in lower case: those that are not end-to-end,
   * its time, cookies and other credentials, and those that this library writes into each response.
   */
  private static final Set<String> WITHHELD =
      Set.of(
          "authentication-info",
          "authorization",
          "connection",
          "content-length",
          "date",
          "idempotency-replayed",
          "keep-alive",
          "proxy-authenticate",
          "proxy-authentication-info",
          "proxy-authorization",
          "proxy-connection",
          "set-cookie",
          "set-cookie2",
          "te",
          "trailer",
          "transfer-encoding",
          "upgrade",
          "www-authenticate",
          "x-decided-by");

  /** The beginnings of names of fields that state limits, or answer the origin of one request. */
  private static final List<String> WITHHELD_GROUPS =
      List.of("ratelimit", "x-ratelimit", "x-rate-limit", "access-control-");

  /** A header field. */
  record Field(String name, String value) {}

  /**
   * What is kept of a response.
   *
   * @param contentType the type of the body where no field states it
   * @param without the names of further fields that are not kept, in lower case
   */
  static StoredAnswer of(
      MutableHttpResponse<?> response, byte[] body, String contentType, Set<String> without) {
    List<Field> fields = new ArrayList<>();
    for (String name : response.getHeaders().names()) {
      if (isKept(name, without)) {
        response.getHeaders().getAll(name).forEach(value -> fields.add(new Field(name, value)));
      }
    }
    if (response.body() != null && response.getHeaders().get(HttpHeaders.CONTENT_TYPE) == null) {
      fields.add(new Field(HttpHeaders.CONTENT_TYPE, contentType));
    }
    return new StoredAnswer(response.code(), fields, body);
  }

  private static boolean isKept(String name, Set<String> without) {
    String lower = name.toLowerCase(Locale.ROOT);
    return !WITHHELD.contains(lower)
        && !without.contains(lower)
        && WITHHELD_GROUPS.stream().noneMatch(lower::startsWith);
  }

  /**
   * Makes this response of another one. Fields that filters have written there remain, if this
   * response does not have them.
   */
  void writeTo(MutableHttpResponse<?> response) {
    response.status(status, HttpStatus.getDefaultReason(status));
    MutableHttpHeaders headers = response.getHeaders();
    headers.remove(HttpHeaders.CONTENT_TYPE);
    fields.forEach(field -> headers.remove(field.name()));
    fields.forEach(field -> headers.add(field.name(), field.value()));
    headers.set(REPLAYED, "true");
    response.body(body.length == 0 ? null : body);
  }

  byte[] bytes() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(body.length + 256);
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeByte(VERSION);
      out.writeShort(status);
      out.writeShort(fields.size());
      for (Field field : fields) {
        write(out, field.name());
        write(out, field.value());
      }
      out.writeInt(body.length);
      out.write(body);
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
    return bytes.toByteArray();
  }

  /** A field may be longer than the 65,535 bytes of {@link DataOutputStream#writeUTF}. */
  private static void write(DataOutputStream out, String text) throws IOException {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    out.writeInt(bytes.length);
    out.write(bytes);
  }

  private static byte[] read(DataInputStream in) throws IOException {
    int length = in.readInt();
    if (length < 0 || length > in.available()) {
      throw new EOFException();
    }
    return in.readNBytes(length);
  }

  /** Reads a response; empty if another version, or something else, has written it. */
  static Optional<StoredAnswer> read(byte[] bytes) {
    try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
      if (in.readByte() != VERSION) {
        return Optional.empty();
      }
      int status = in.readUnsignedShort();
      int count = in.readUnsignedShort();
      List<Field> fields = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        fields.add(new Field(text(in), text(in)));
      }
      byte[] body = read(in);
      return status < MIN_STATUS || status > MAX_STATUS || in.available() > 0
          ? Optional.empty()
          : Optional.of(new StoredAnswer(status, fields, body));
    } catch (IOException broken) {
      return Optional.empty();
    }
  }

  private static String text(DataInputStream in) throws IOException {
    return new String(read(in), StandardCharsets.UTF_8);
  }
}
