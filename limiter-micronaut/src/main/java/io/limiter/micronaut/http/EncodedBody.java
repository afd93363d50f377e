// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.micronaut.core.annotation.Internal;
import io.micronaut.core.async.publisher.Publishers;
import io.micronaut.core.io.Writable;
import io.micronaut.core.io.buffer.ByteBuffer;
import io.micronaut.core.type.Argument;
import io.micronaut.core.type.MutableHeaders;
import io.micronaut.http.HttpMethod;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.body.ByteBodyFactory;
import io.micronaut.http.body.CloseableByteBody;
import io.micronaut.http.body.MediaTypeProvider;
import io.micronaut.http.body.MessageBodyHandlerRegistry;
import io.micronaut.http.body.MessageBodyWriter;
import io.micronaut.http.body.ResponseBodyWriter;
import io.micronaut.http.codec.CodecException;
import io.micronaut.http.server.types.files.FileCustomizableResponseType;
import io.micronaut.web.router.RouteAttributes;
import io.micronaut.web.router.RouteInfo;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The body of a response, encoded before the server does so. The server encodes after all filters,
 * and responds with 500 if that fails. Encoding early is the only way to know the status, which
 * decides the outcome of the call. The server gets the same bytes, or the same exception, so
 * nothing is encoded twice. If a filter has changed the body or its type meanwhile, the server
 * encodes it as usual.
 *
 * @param <T> the type of the body
 */
@Internal
public final class EncodedBody<T> implements ResponseBodyWriter<T> {

  /** What is known about a body before the server writes it. */
  enum Encoding {
    /** The server can write it. */
    DONE,
    /** The server will respond with 500. */
    FAILED,
    /** It is produced while it is written. */
    LATER
  }

  private final MessageBodyWriter<T> writer;
  private final T body;
  private final MediaType mediaType;
  private final byte[] bytes;
  private final @Nullable Throwable failure;

  private EncodedBody(
      MessageBodyWriter<T> writer,
      T body,
      MediaType mediaType,
      byte[] bytes,
      @Nullable Throwable failure) {
    this.writer = writer;
    this.body = body;
    this.mediaType = mediaType;
    this.bytes = bytes;
    this.failure = failure;
  }

  /**
   * Encodes the body of a response, unless encoding cannot fail or the body cannot be held in
   * memory.
   *
   * @param early whether it is encoded now; else only a body that is produced later matters
   * @param observer observes how such a body is written; null to leave it to the server
   */
  static Encoding encode(
      HttpRequest<?> request,
      MutableHttpResponse<?> response,
      Optional<MessageBodyHandlerRegistry> writers,
      boolean early,
      WrittenBody.@Nullable Observer observer) {
    Object body = response.body();
    if (body == null
        || request.getMethod() == HttpMethod.HEAD
        || isRaw(body)
        // The server writes its items. As a value it would be encoded by its properties.
        || Publishers.isConvertibleToPublisher(body)) {
      return Encoding.DONE;
    }
    @SuppressWarnings("unchecked") // it is that of this body
    MutableHttpResponse<Object> answer = (MutableHttpResponse<Object>) response;
    RouteInfo<?> route = RouteAttributes.getRouteInfo(response).orElse(null);
    MediaType mediaType = mediaType(request, answer, route);
    @SuppressWarnings("unchecked")
    Argument<Object> type =
        route == null
            ? Argument.of((Class<Object>) body.getClass())
            : (Argument<Object>) route.getResponseBodyType();
    boolean typed = type.isInstance(body); // else the server looks for another writer than this
    MessageBodyWriter<Object> writer = answer.getBodyWriter().orElse(null);
    if (writer == null || !typed || !writer.isWriteable(type, mediaType)) {
      Argument<Object> own = Argument.ofInstance(body);
      type = own;
      writer = writers.flatMap(all -> all.findWriter(own, List.of(mediaType))).orElse(null);
    }
    if (writer == null) {
      return writers.isPresent() ? Encoding.FAILED : Encoding.DONE;
    }
    if (isLater(body) || writer.isBlocking()) {
      return later(answer, type, writer, typed ? observer : null);
    }
    if (!early) {
      return Encoding.DONE;
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    Throwable failure = null;
    try {
      writer.writeTo(type, mediaType, body, answer.getHeaders(), bytes);
    } catch (UnsupportedOperationException streams) { // it writes into the connection only
      return later(answer, type, writer, typed ? observer : null);
    } catch (RuntimeException | StackOverflowError broken) {
      failure = broken;
    }
    answer.bodyWriter(new EncodedBody<>(writer, body, mediaType, bytes.toByteArray(), failure));
    return failure == null ? Encoding.DONE : Encoding.FAILED;
  }

  private static Encoding later(
      MutableHttpResponse<Object> response,
      Argument<Object> type,
      MessageBodyWriter<Object> writer,
      WrittenBody.@Nullable Observer observer) {
    if (observer == null) {
      return Encoding.DONE;
    }
    response.bodyWriter(new WrittenBody<>(writer, type, response.body(), observer));
    return Encoding.LATER;
  }

  /**
   * The bytes that the server will write as the body of a response. It encodes the body now, and
   * the server gets these bytes. Empty if the body cannot be encoded, or is produced while it is
   * written.
   */
  public static Optional<byte[]> bytes(
      HttpRequest<?> request,
      MutableHttpResponse<?> response,
      Optional<MessageBodyHandlerRegistry> writers) {
    return encode(request, response, writers, true, null) == Encoding.FAILED
        ? Optional.empty()
        : bytes(request, response);
  }

  private static Optional<byte[]> bytes(HttpRequest<?> request, MutableHttpResponse<?> response) {
    Object body = response.body();
    if (body == null) {
      return Optional.of(new byte[0]);
    }
    if (body instanceof CharSequence text) {
      Charset charset = mediaType(request, response).getCharset().orElse(StandardCharsets.UTF_8);
      return Optional.of(text.toString().getBytes(charset));
    }
    if (body instanceof byte[] bytes) {
      return Optional.of(bytes.clone());
    }
    if (body instanceof ByteBuffer<?> buffer) {
      return Optional.of(buffer.toByteArray());
    }
    return response.getBodyWriter().orElse(null) instanceof EncodedBody<?> encoded
            && encoded.body == body
        ? Optional.of(encoded.bytes)
        : Optional.empty();
  }

  /** The type of the body that the server will write. */
  public static MediaType mediaType(HttpRequest<?> request, MutableHttpResponse<?> response) {
    return mediaType(request, response, RouteAttributes.getRouteInfo(response).orElse(null));
  }

  /** Whether the body needs no encoding. Netty's buffers are found by name. */
  private static boolean isRaw(Object body) {
    return body instanceof CharSequence
        || body instanceof byte[]
        || body instanceof ByteBuffer
        || body.getClass().getName().startsWith("io.netty.");
  }

  /** Whether it is produced while it is written, or can be read only once. */
  private static boolean isLater(Object body) {
    return body instanceof AutoCloseable
        || body instanceof Writable
        || body instanceof File
        || body instanceof FileCustomizableResponseType;
  }

  private static MediaType mediaType(
      HttpRequest<?> request, MutableHttpResponse<?> response, @Nullable RouteInfo<?> route) {
    Optional<MediaType> stated = response.getContentType();
    if (stated.isPresent()) {
      return stated.get();
    }
    if (response.body() instanceof MediaTypeProvider body) {
      return body.getMediaType();
    }
    List<MediaType> produced = route == null ? List.of() : route.getProduces();
    for (MediaType first : request.accept()) {
      if (produced.contains(first)) {
        return first;
      }
      break;
    }
    return produced.isEmpty() ? MediaType.APPLICATION_JSON_TYPE : produced.get(0);
  }

  private boolean isOf(MediaType type, Object object) {
    return object == body && type.equals(mediaType);
  }

  private void rethrow() {
    if (failure instanceof Error error) {
      throw error;
    }
    if (failure instanceof RuntimeException exception) {
      throw exception;
    }
  }

  @Override
  public boolean isWriteable(Argument<T> type, @Nullable MediaType mediaType) {
    return writer.isWriteable(type, mediaType);
  }

  @Override
  public CloseableByteBody writePiece(
      ByteBodyFactory bodies,
      HttpRequest<?> request,
      HttpResponse<?> response,
      Argument<T> type,
      MediaType mediaType,
      T object) {
    if (!isOf(mediaType, object)) {
      return ResponseBodyWriter.wrap(writer)
          .writePiece(bodies, request, response, type, mediaType, object);
    }
    rethrow();
    return bodies.adapt(bytes);
  }

  @Override
  public void writeTo(
      Argument<T> type,
      MediaType mediaType,
      T object,
      MutableHeaders headers,
      OutputStream stream) {
    if (!isOf(mediaType, object)) {
      writer.writeTo(type, mediaType, object, headers, stream);
      return;
    }
    rethrow();
    try {
      stream.write(bytes);
    } catch (IOException e) {
      throw new CodecException("The body could not be written", e);
    }
  }
}
