// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.micronaut.core.type.Argument;
import io.micronaut.core.type.MutableHeaders;
import io.micronaut.http.ByteBodyHttpResponse;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.body.ByteBodyFactory;
import io.micronaut.http.body.CloseableByteBody;
import io.micronaut.http.body.MessageBodyWriter;
import io.micronaut.http.body.ResponseBodyWriter;
import io.micronaut.http.codec.CodecException;
import java.io.OutputStream;
import org.jspecify.annotations.Nullable;

/**
 * The body of a response that is produced while it is written, such as a file, with the writer that
 * the server would use. The server writes it on a thread that may block, so that the observer may
 * wait.
 *
 * @param type the type that the writer was found for
 * @param <T> the type of the body
 */
record WrittenBody<T>(
    MessageBodyWriter<T> writer, Argument<T> type, @Nullable T body, Observer observer)
    implements ResponseBodyWriter<T> {

  /** Observes how a body is written. */
  interface Observer {

    /** It could not be written, so the server responds with 500. */
    void failed();

    /** The response with its body, all of which may still be to come. */
    ByteBodyHttpResponse<?> written(ByteBodyHttpResponse<?> response, ByteBodyFactory bodies);
  }

  @Override
  public boolean isWriteable(Argument<T> route, @Nullable MediaType mediaType) {
    return true;
  }

  @Override
  public boolean isBlocking() {
    return true;
  }

  @Override
  public ByteBodyHttpResponse<?> write(
      ByteBodyFactory bodies,
      HttpRequest<?> request,
      MutableHttpResponse<T> response,
      Argument<T> route,
      MediaType mediaType,
      T object) {
    ByteBodyHttpResponse<?> written;
    try {
      written =
          ResponseBodyWriter.wrap(writer).write(bodies, request, response, type, mediaType, object);
    } catch (Throwable broken) {
      observer.failed();
      // A blocking writer that throws anything else leaves its request without a response.
      throw broken instanceof CodecException known
          ? known
          : new CodecException("The body could not be written: " + broken.getMessage(), broken);
    }
    return observer.written(written, bodies);
  }

  @Override
  public CloseableByteBody writePiece(
      ByteBodyFactory bodies,
      HttpRequest<?> request,
      HttpResponse<?> response,
      Argument<T> route,
      MediaType mediaType,
      T object) {
    return ResponseBodyWriter.wrap(writer)
        .writePiece(bodies, request, response, type, mediaType, object);
  }

  @Override
  public void writeTo(
      Argument<T> route,
      MediaType mediaType,
      T object,
      MutableHeaders headers,
      OutputStream stream) {
    writer.writeTo(type, mediaType, object, headers, stream);
  }
}
