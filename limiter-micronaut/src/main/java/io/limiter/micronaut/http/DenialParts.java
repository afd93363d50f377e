// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.micronaut.denial.Denial;
import io.limiter.micronaut.denial.DenialTimes;
import io.limiter.micronaut.denial.DenialValue;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.micronaut.core.type.Argument;
import io.micronaut.core.type.MutableHeaders;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpRequestWrapper;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpResponseFactory;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.body.ByteBodyFactory;
import io.micronaut.http.body.CloseableByteBody;
import io.micronaut.http.body.MessageBodyHandlerRegistry;
import io.micronaut.http.body.ResponseBodyWriter;
import io.micronaut.http.codec.CodecException;
import io.micronaut.http.context.ServerRequestContext;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * An encoded response to denials of one kind, cut where it depends on the request. The cuts are
 * found by encoding the response to a made-up request, whose path and numbers occur nowhere else.
 *
 * <p>It is filled only with printable ASCII that JSON does not escape, which is all that a valid
 * path has. A response that needs other characters is made in the ordinary way.
 */
final class DenialParts {

  private static final Writer WRITER = new Writer();

  private final int status;
  private final String reason;
  private final String field; // the name of the field with the type, as it is written
  private final String type;
  private final byte[][] pieces;
  private final Hole[] holes; // between the pieces
  private final int length; // of all pieces

  private DenialParts(Encoded encoded, List<byte[]> pieces, List<Hole> holes) {
    this.status = encoded.status;
    this.reason = encoded.reason;
    this.field = encoded.field;
    this.type = encoded.type;
    this.pieces = pieces.toArray(byte[][]::new);
    this.holes = holes.toArray(Hole[]::new);
    this.length = pieces.stream().mapToInt(piece -> piece.length).sum();
  }

  /** What a body takes from a request and its verdict. */
  private enum Hole {
    URI(denial -> denial.request().getUri().toString()),
    PATH(DenialValue.PATH::text),
    RETRY_AFTER(DenialValue.RETRY_AFTER::text),
    BANNED(DenialValue.BANNED::text),
    REMAINING(DenialValue.REMAINING::text),
    RESET(DenialValue.RESET::text);

    @SuppressWarnings("ImmutableEnumChecker") // lambdas without state
    private final Function<Denial, String> value;

    Hole(Function<Denial, String> value) {
      this.value = value;
    }
  }

  /** Made-up values. None of a set is the beginning of another. */
  enum MadeUp {
    /** Values that occur in no body. */
    RARE(
        "/_7wHk0uP1Yb5qXcN3eRz-uri",
        "/_7wHk0uP1Yb5qXcN3eRz-path",
        7_310_224_881_936_017L,
        731_022_488_193_603L,
        73_102_248_819_361L,
        7_310_224_881_907L),
    /** Values with every character that holes are filled with. */
    ORDINARY(
        "/a/b.c/~d;e=f,g/$&'()*+!:@-_%22%5C%C3%A9/?q=1&x[]=2/?",
        everyPlainCharacter(), 86_399, 7_201, 611, 43);

    @SuppressWarnings("ImmutableEnumChecker") // never changed
    private final Map<Hole, String> values = new EnumMap<>(Hole.class);

    @SuppressWarnings("ImmutableEnumChecker")
    private final URI uri;

    MadeUp(String uri, String path, long retryAfter, long banned, long reset, long remaining) {
      this.uri = URI.create(uri);
      values.put(Hole.URI, uri);
      values.put(Hole.PATH, path);
      values.put(Hole.RETRY_AFTER, Long.toString(retryAfter));
      values.put(Hole.BANNED, Long.toString(banned));
      values.put(Hole.RESET, Long.toString(reset));
      values.put(Hole.REMAINING, Long.toString(remaining));
    }

    private static String everyPlainCharacter() {
      StringBuilder all = new StringBuilder("/");
      for (char c = ' '; c < 0x7F; c++) {
        if (isPlain(c)) {
          all.append(c);
        }
      }
      return all.toString();
    }

    private String text(Hole hole) {
      return values.getOrDefault(hole, "");
    }

    private long number(Hole hole) {
      return Long.parseLong(text(hole));
    }

    /** A verdict of the same kind with these values. */
    @SuppressWarnings("ReferenceEquality") // one of this verdict's own
    private Verdict verdict(Verdict like) {
      RuleVerdict longest = DenialTimes.longest(like).orElse(null);
      Verdict.Builder made =
          Verdict.of(like.policy(), like.outcome())
              .decidedBy(like.decidedBy())
              .delay(like.delay())
              .rules(like.rules().stream().map(rule -> rule(rule, rule == longest)).toList());
      like.duplicate().ifPresent(rule -> made.duplicate(rule(rule, rule == longest)));
      like.ban().ifPresent(rest -> made.ban(Duration.ofSeconds(number(Hole.BANNED))));
      like.reason().ifPresent(made::reason);
      like.storeRetryAfter()
          .ifPresent(rest -> made.storeRetryAfter(Duration.ofSeconds(number(Hole.RETRY_AFTER))));
      return made.build();
    }

    private RuleVerdict rule(RuleVerdict like, boolean longest) {
      RuleVerdict.Builder made =
          RuleVerdict.of(like.rule())
              .remaining(number(Hole.REMAINING))
              .resetAfter(like.resetAfter())
              .effectiveWindow(Duration.ofSeconds(number(Hole.RESET)))
              .observed(like.observed());
      if (like.tooCostly()) {
        made.tooCostly();
      } else if (like.retryAfter().isPresent()) {
        made.violatedFor(Duration.ofSeconds(longest ? number(Hole.RETRY_AFTER) : 1));
      } else if (like.violated()) {
        made.violated();
      }
      return made.build();
    }

    /** The request with this path. */
    private <B> HttpRequest<B> request(HttpRequest<B> like) {
      return new HttpRequestWrapper<>(like) {
        @Override
        public URI getUri() {
          return uri;
        }

        @Override
        public String getPath() {
          return text(Hole.PATH);
        }
      };
    }
  }

  /** Makes encoded responses in the ordinary way. */
  record Maker(DenialResponseFactory responses, Optional<MessageBodyHandlerRegistry> writers) {

    /** The encoded response to a request with made-up values; null if it cannot be cut. */
    private @Nullable Encoded encode(
        MadeUp values, HttpRequest<?> like, LimitDeniedException denied) {
      HttpRequest<?> request = values.request(like);
      LimitDeniedException other =
          LimitDeniedException.of(values.verdict(denied.verdict()), denied.text());
      Supplier<@Nullable Encoded> encoded =
          () -> encode(request, responses.respond(request, other));
      return ServerRequestContext.with(request, encoded);
    }

    /** The response with its body encoded; null if it is none that can be cut. */
    private @Nullable Encoded encode(HttpRequest<?> request, MutableHttpResponse<?> response) {
      boolean encoded = EncodedBody.encode(request, response, writers);
      byte[] bytes = encoded ? EncodedBody.ofMicronaut(response) : null;
      Set<String> fields = response.getHeaders().names();
      return bytes == null || fields.size() != 1 || response.getContentType().isEmpty()
          ? null
          : new Encoded(response, fields.iterator().next(), bytes);
    }
  }

  /** A response with its body. */
  private static final class Encoded {

    private final int status;
    private final String reason;
    private final String field;
    private final String type;
    private final byte[] bytes;

    Encoded(MutableHttpResponse<?> response, String field, byte[] bytes) {
      this.status = response.code();
      this.reason = response.reason();
      this.field = field;
      this.type = String.valueOf(response.getHeaders().get(field));
      this.bytes = bytes;
    }

    boolean isLike(DenialParts parts) {
      return status == parts.status
          && reason.equals(parts.reason)
          && field.equals(parts.field)
          && type.equals(parts.type);
    }
  }

  /** The parts for denials of this kind; null if the response has none. */
  static @Nullable DenialParts of(
      Maker maker, HttpRequest<?> request, LimitDeniedException denied) {
    Encoded encoded = maker.encode(MadeUp.RARE, request, denied);
    if (encoded == null) {
      return null;
    }
    String text = new String(encoded.bytes, StandardCharsets.ISO_8859_1); // a byte each
    List<byte[]> pieces = new ArrayList<>();
    List<Hole> holes = new ArrayList<>();
    int begin = 0;
    for (int at = 0; at < text.length(); at++) {
      for (Hole hole : Hole.values()) {
        String value = MadeUp.RARE.text(hole);
        if (text.startsWith(value, at)) {
          pieces.add(Arrays.copyOfRange(encoded.bytes, begin, at));
          holes.add(hole);
          begin = at + value.length();
          at = begin - 1;
          break;
        }
      }
    }
    pieces.add(Arrays.copyOfRange(encoded.bytes, begin, text.length()));
    return new DenialParts(encoded, pieces, holes);
  }

  /** Whether they give the response to other values, too. */
  boolean hold(Maker maker, HttpRequest<?> request, LimitDeniedException denied) {
    Encoded other = maker.encode(MadeUp.ORDINARY, request, denied);
    return other != null
        && other.isLike(this)
        && Arrays.equals(other.bytes, fill(MadeUp.ORDINARY::text));
  }

  /** Whether they give this response to this request; also if they give none. */
  boolean agree(Maker maker, Denial denial, MutableHttpResponse<?> response) {
    Encoded real = maker.encode(denial.request(), response);
    if (real == null || !real.isLike(this)) {
      return false;
    }
    byte[] filled = fill(denial);
    return filled == null || Arrays.equals(real.bytes, filled);
  }

  /** The response to a request; null if it has to be made in the ordinary way. */
  @Nullable MutableHttpResponse<?> respond(Denial denial) {
    byte[] filled = fill(denial);
    if (filled == null) {
      return null;
    }
    MutableHttpResponse<byte[]> response = HttpResponseFactory.INSTANCE.status(status, reason);
    response.getHeaders().set(field, type); // before the body, which would set its own
    response.body(filled).bodyWriter(WRITER);
    return response;
  }

  private byte @Nullable [] fill(Denial denial) {
    try {
      return fill(hole -> hole.value.apply(denial));
    } catch (IllegalArgumentException noUri) {
      return null;
    }
  }

  private byte @Nullable [] fill(Function<Hole, String> values) {
    String[] filling = new String[holes.length];
    int size = length;
    for (int h = 0; h < holes.length; h++) {
      String value = values.apply(holes[h]);
      filling[h] = value;
      size += value.length();
    }
    byte[] filled = new byte[size];
    int at = 0;
    for (int p = 0; p < pieces.length; p++) {
      byte[] piece = pieces[p];
      System.arraycopy(piece, 0, filled, at, piece.length);
      at += piece.length;
      if (p < filling.length) {
        String value = filling[p];
        for (int i = 0; i < value.length(); i++) {
          char c = value.charAt(i);
          if (!isPlain(c)) {
            return null;
          }
          filled[at++] = (byte) c;
        }
      }
    }
    return filled;
  }

  private static boolean isPlain(char c) {
    return c >= ' ' && c < 0x7F && c != '"' && c != '\\';
  }

  /** Writes a filled body. */
  private static final class Writer implements ResponseBodyWriter<byte[]> {

    @Override
    public CloseableByteBody writePiece(
        ByteBodyFactory bodies,
        HttpRequest<?> request,
        HttpResponse<?> response,
        Argument<byte[]> type,
        MediaType mediaType,
        byte[] filled) {
      return bodies.adapt(filled);
    }

    @Override
    public void writeTo(
        Argument<byte[]> type,
        MediaType mediaType,
        byte[] filled,
        MutableHeaders headers,
        OutputStream stream) {
      try {
        stream.write(filled);
      } catch (IOException e) {
        throw new CodecException("The body could not be written", e);
      }
    }
  }
}
