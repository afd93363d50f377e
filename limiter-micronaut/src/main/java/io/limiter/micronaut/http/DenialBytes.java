// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.Outcome;
import io.limiter.micronaut.denial.Denial;
import io.limiter.micronaut.denial.DirectBody;
import io.limiter.micronaut.denial.JsonTemplate;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.micronaut.core.type.Argument;
import io.micronaut.http.HttpHeaders;
import io.micronaut.http.HttpMethod;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.body.MessageBodyHandlerRegistry;
import io.micronaut.http.body.MessageBodyWriter;
import java.io.ByteArrayOutputStream;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Responds to denials with bodies that the limiter writes as bytes. The first response of each
 * shape is made by the handler, and encoded by the application's JSON mapper. If the bytes differ
 * from those of the limiter, since the application has configured the mapper, the handler makes all
 * responses of this shape.
 */
final class DenialBytes {

  private static final Logger LOG = LoggerFactory.getLogger(DenialBytes.class);

  /** A text of all characters that a mapper may be configured to escape: some beyond ASCII. */
  private static final String CHARACTERS = characters();

  private final LimitDeniedHandler handler;
  private final DirectBody body;
  private final Optional<MessageBodyHandlerRegistry> writers;

  /** As the server would find it for each response; null if there is none. */
  private final @Nullable MessageBodyWriter<byte[]> bytesWriter;

  /** The layout of each shape; empty if the handler makes its responses. */
  private final Map<Shape, Optional<JsonTemplate>> layouts = new ConcurrentHashMap<>();

  DenialBytes(
      LimitDeniedHandler handler, DirectBody body, Optional<MessageBodyHandlerRegistry> writers) {
    this.handler = handler;
    this.body = body;
    this.writers = writers;
    this.bytesWriter =
        writers
            .flatMap(all -> all.findWriter(Argument.of(byte[].class), List.of(body.type())))
            .orElse(null);
  }

  private static String characters() {
    StringBuilder all = new StringBuilder();
    for (char c = 0; c <= 0x80; c++) {
      all.append(c);
    }
    return all.append("\u00E9\u2028\u2029\u6C49\uFEFF\uD83D\uDE00").toString();
  }

  /** The response to a denied request. */
  MutableHttpResponse<?> respond(HttpRequest<?> request, LimitDeniedException denied) {
    if (!isForProgram(request)) {
      return handler.handle(request, denied);
    }
    Denial denial = handler.denial(request, denied);
    Shape shape = Shape.of(denial);
    Optional<JsonTemplate> layout = layouts.get(shape);
    try {
      if (layout == null) {
        MutableHttpResponse<?> response = handler.respond(denial);
        layouts.put(shape, layout(denial, response)); // that of another thread is the same
        return response;
      }
      if (layout.isPresent()) {
        return written(layout.get(), denial);
      }
    } catch (IllegalArgumentException noUri) {
      LOG.debug("The URI of a denied request is invalid", noUri);
    }
    return handler.respond(denial);
  }

  /** HEAD has no body, and a browser receives a page. */
  private static boolean isForProgram(HttpRequest<?> request) {
    return request.getMethod() != HttpMethod.HEAD
        && !request.accept().contains(MediaType.TEXT_HTML_TYPE);
  }

  private MutableHttpResponse<byte[]> written(JsonTemplate layout, Denial denial) {
    byte[] bytes = layout.write(denial);
    MutableHttpResponse<?> begun = LimitDeniedHandler.begun(denial);
    // Before the body, which would set its own; under the name that Micronaut's writers set.
    begun.getHeaders().set(HttpHeaders.CONTENT_TYPE, body.type());
    MutableHttpResponse<byte[]> response = begun.body(bytes);
    if (bytesWriter != null) {
      response.bodyWriter(bytesWriter);
    }
    return response;
  }

  /** Finds the layout with which the mapper has made this response. */
  private Optional<JsonTemplate> layout(Denial denial, MutableHttpResponse<?> response) {
    Denial withAll =
        new Denial(denial.request(), denial.cause(), denial.status(), CHARACTERS, CHARACTERS);
    MutableHttpResponse<?> responseWithAll = handler.respond(withAll);
    List<JsonTemplate> layouts =
        body.layouts(denial.verdict().outcome()).stream()
            .flatMap(layout -> layout.byJackson().stream())
            .toList();
    for (JsonTemplate layout : layouts) {
      MutableHttpResponse<byte[]> direct = written(layout, denial);
      MutableHttpResponse<byte[]> directWithAll = written(layout, withAll);
      // A body without any text of these would not show which characters the mapper escapes.
      if (!Arrays.equals(direct.body(), directWithAll.body())
          && isSame(direct, response)
          && isSame(directWithAll, responseWithAll)) {
        return Optional.of(layout);
      }
    }
    LOG.debug(
        "The application's JSON mapper encodes denials such as {}: their bytes would differ",
        denial.cause().verdict());
    return Optional.empty();
  }

  private boolean isSame(MutableHttpResponse<byte[]> direct, MutableHttpResponse<?> response) {
    byte[] encoded = encode(response);
    return Arrays.equals(direct.body(), encoded)
        && direct.code() == response.code()
        && direct.reason().equals(response.reason())
        && direct.getHeaders().asMap().equals(response.getHeaders().asMap());
  }

  /** The body as Micronaut encodes it; nothing if the application, or no one, does. */
  private byte[] encode(MutableHttpResponse<?> response) {
    Object content = response.body();
    MediaType type = response.getContentType().orElse(null);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    if (content == null || type == null) {
      return bytes.toByteArray();
    }
    Argument<Object> argument = Argument.ofInstance(content);
    MessageBodyWriter<Object> writer =
        writers.flatMap(all -> all.findWriter(argument, List.of(type))).orElse(null);
    if (writer != null
        && !writer.isBlocking()
        && writer.getClass().getName().startsWith("io.micronaut.")) {
      try {
        writer.writeTo(argument, type, content, response.getHeaders(), bytes);
      } catch (RuntimeException | StackOverflowError notEncoded) {
        LOG.debug("A denial cannot be encoded", notEncoded);
        return new byte[0];
      }
    }
    return bytes.toByteArray();
  }

  /**
   * What a denial has: a mapper may leave out what is absent. The first response of each shape
   * shows it.
   */
  private record Shape(
      Outcome outcome, boolean rule, boolean retryAfter, boolean ban, boolean message) {

    static Shape of(Denial denial) {
      return new Shape(
          denial.verdict().outcome(),
          denial.rule().isPresent(),
          denial.retryAfterSeconds().isPresent(),
          denial.verdict().ban().isPresent(),
          !denial.message().isEmpty());
    }
  }
}
