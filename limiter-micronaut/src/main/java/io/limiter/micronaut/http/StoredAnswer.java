// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.micronaut.core.type.Headers;
import io.micronaut.http.HttpResponseFactory;
import io.micronaut.http.HttpStatus;
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
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The answer to a submission, as it is kept: a version, the status, header fields, and the body. An
 * answer whose body is not kept, since it is too large or a stream, has only its status: the
 * submission was answered, and is not processed again.
 */
final class StoredAnswer {

  /** The field that marks a repeated answer. */
  static final String REPLAYED = "Idempotency-Replayed";

  private static final int VERSION = 1;

  private static final int NO_BODY = -1;

  private final int status;
  private final List<Field> fields;
  private final byte @Nullable [] body;

  /**
   * @param fields names and values, in their order
   * @param body null if it is not kept
   */
  StoredAnswer(int status, List<Field> fields, byte @Nullable [] body) {
    this.status = status;
    this.fields = fields;
    this.body = body;
  }

  static StoredAnswer withoutBody(int status) {
    return new StoredAnswer(status, List.of(), null);
  }

  /** A header field. */
  record Field(String name, String value) {}

  /** The fields of a response that are kept. */
  static List<Field> fields(Headers headers, Iterable<String> names) {
    List<Field> kept = new ArrayList<>();
    for (String name : names) {
      headers.getAll(name).forEach(value -> kept.add(new Field(name, value)));
    }
    return kept;
  }

  byte[] bytes() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      out.writeByte(VERSION);
      out.writeShort(status);
      out.writeShort(fields.size());
      for (Field field : fields) {
        write(out, field.name());
        write(out, field.value());
      }
      out.writeInt(body == null ? NO_BODY : body.length);
      if (body != null) {
        out.write(body);
      }
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

  private static String read(DataInputStream in) throws IOException {
    int length = in.readInt();
    if (length < 0 || length > in.available()) {
      throw new EOFException();
    }
    return new String(in.readNBytes(length), StandardCharsets.UTF_8);
  }

  /**
   * Reads an answer; empty if another version of the limiter, or something else, has written it.
   */
  static Optional<StoredAnswer> of(byte[] bytes) {
    try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
      if (in.readByte() != VERSION) {
        return Optional.empty();
      }
      int status = in.readUnsignedShort();
      int count = in.readUnsignedShort();
      List<Field> fields = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        fields.add(new Field(read(in), read(in)));
      }
      int length = in.readInt();
      if (length == NO_BODY) {
        return Optional.of(new StoredAnswer(status, fields, null));
      }
      if (length != in.available() || status < 200) {
        return Optional.empty();
      }
      return Optional.of(new StoredAnswer(status, fields, in.readAllBytes()));
    } catch (IOException broken) {
      return Optional.empty();
    }
  }

  /** The response that repeats this answer; empty if its body is not kept. */
  Optional<MutableHttpResponse<?>> response() {
    if (body == null) {
      return Optional.empty();
    }
    MutableHttpResponse<byte[]> response =
        HttpResponseFactory.INSTANCE.status(status, HttpStatus.getDefaultReason(status));
    fields.forEach(field -> response.header(field.name(), field.value()));
    response.header(REPLAYED, "true");
    return Optional.of(body.length == 0 ? response : response.body(body));
  }
}
