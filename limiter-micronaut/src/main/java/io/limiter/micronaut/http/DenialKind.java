// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.micronaut.denial.Denial;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.micronaut.core.type.Argument;
import io.micronaut.core.type.MutableHeaders;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpResponseFactory;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.body.ByteBodyFactory;
import io.micronaut.http.body.CloseableByteBody;
import io.micronaut.http.body.ResponseBodyWriter;
import io.micronaut.http.codec.CodecException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Denials whose bodies differ only in the path and a few numbers: the same rules deny, in the same
 * language and for the same method. Their encoded response is kept, cut where it depends on the
 * request. The cuts are found in the response to a made-up request, whose path and numbers occur
 * nowhere else.
 *
 * <p>A response is filled only with printable ASCII that JSON does not escape, which is all that a
 * valid path has. One that needs other characters is made in the ordinary way.
 */
final class DenialKind {

  /** Longer than the resolution of a time that a body may contain. */
  private static final long PROVING_NANOS = Duration.ofMillis(20).toNanos();

  private static final long CHECK_NANOS = Duration.ofSeconds(1).toNanos();

  private static final Writer WRITER = new Writer();

  private final LimitDeniedException like;
  private final String method;
  private final @Nullable Locale language;
  private final int longest;

  private final AtomicBoolean checking = new AtomicBoolean();
  private volatile long checkedNanos;
  private volatile Progress state = Progress.NEW;

  // Of the response. The thread that finds them writes them, before the state says so.
  private int status;
  private String reason = "";
  private String field = ""; // the name of the field with the type, as it is written
  private String type = "";
  private byte[][] pieces = {};
  private Hole[] holes = {}; // between the pieces
  private int length; // of all pieces

  private enum Progress {
    /** No parts yet. */
    NEW,
    /** Parts that were found once. */
    FOUND,
    /** Parts that gave the response each time. */
    PROVED,
    /** The response has none. */
    NEVER
  }

  /** What a body takes from a request and its verdict. */
  enum Hole {
    URI,
    PATH,
    RETRY_AFTER,
    BANNED,
    REMAINING,
    RESET
  }

  /**
   * @param language null if the message is the same in all of them
   * @param nanos the time, by a monotonic clock
   */
  DenialKind(
      HttpRequest<?> request, LimitDeniedException like, @Nullable Locale language, long nanos) {
    this.like = like;
    this.method = request.getMethodName();
    this.language = language;
    this.longest = longest(like.verdict());
    this.checkedNanos = nanos - CHECK_NANOS;
  }

  @Nullable Locale language() {
    return language;
  }

  /** Whether a denial is of this kind, if its language is this one. */
  boolean isOf(HttpRequest<?> request, LimitDeniedException other) {
    return like.getClass() == other.getClass()
        && isSame(like.text(), other.text())
        && method.equals(request.getMethodName())
        && isOf(other.verdict());
  }

  private boolean isOf(Verdict other) {
    Verdict verdict = like.verdict();
    List<RuleVerdict> rules = verdict.rules();
    List<RuleVerdict> others = other.rules();
    boolean same =
        verdict.outcome() == other.outcome()
            && rules.size() == others.size()
            && verdict.ban().isPresent() == other.ban().isPresent()
            && verdict.storeRetryAfter().isPresent() == other.storeRetryAfter().isPresent()
            && verdict.duplicate().isPresent() == other.duplicate().isPresent()
            && isSame(verdict.policy(), other.policy());
    for (int r = 0; same && r < rules.size(); r++) {
      same = isSame(rules.get(r), others.get(r));
    }
    return same
        && (verdict.duplicate().isEmpty()
            || isSame(verdict.duplicate().get(), other.duplicate().get()))
        && longest == longest(other);
  }

  private static boolean isSame(RuleVerdict rule, RuleVerdict other) {
    return rule.violated() == other.violated()
        && rule.observed() == other.observed()
        && rule.tooCostly() == other.tooCostly()
        && rule.retryAfter().isPresent() == other.retryAfter().isPresent()
        && isSame(rule.rule(), other.rule());
  }

  @SuppressWarnings("ReferenceEquality") // mostly the same object
  private static boolean isSame(Object one, Object other) {
    return one == other || one.equals(other);
  }

  /** Which rule gives a body its numbers. */
  private static int longest(Verdict verdict) {
    int only = -1;
    for (int r = 0; r < verdict.rules().size(); r++) {
      if (verdict.rules().get(r).denies()) {
        if (only >= 0) {
          return verdict.rules().indexOf(verdict.denying().orElse(null));
        }
        only = r;
      }
    }
    return only;
  }

  boolean isNew() {
    return state == Progress.NEW;
  }

  boolean isProved() {
    return state == Progress.PROVED;
  }

  /** Whether the time has come to check a response. If so, only the caller does it. */
  boolean isToBeChecked(long nanos) {
    if (!isDue(nanos) || !checking.compareAndSet(false, true)) {
      return false;
    }
    boolean due = isDue(nanos); // unless another thread has just checked it
    if (due) {
      checkedNanos = nanos;
    } else {
      checking.set(false);
    }
    return due;
  }

  private boolean isDue(long nanos) {
    Progress now = state;
    return now != Progress.NEVER
        && nanos - checkedNanos >= (now == Progress.PROVED ? CHECK_NANOS : PROVING_NANOS);
  }

  /**
   * Ends a check.
   *
   * @param same whether parts were found, or gave the response
   */
  void checked(boolean same) {
    if (same) {
      state = state == Progress.NEW ? Progress.FOUND : Progress.PROVED;
    } else {
      state = Progress.NEVER;
    }
    checking.set(false);
  }

  /**
   * Finds the parts of a response that has one header field.
   *
   * @param body its encoded body
   * @param values those that it was made of
   */
  void cut(MutableHttpResponse<?> response, byte[] body, Function<Hole, String> values) {
    String text = new String(body, StandardCharsets.ISO_8859_1); // a byte each
    List<byte[]> between = new ArrayList<>();
    List<Hole> found = new ArrayList<>();
    int begin = 0;
    for (int at = 0; at < text.length(); at++) {
      for (Hole hole : Hole.values()) {
        String value = values.apply(hole);
        if (text.startsWith(value, at)) {
          between.add(Arrays.copyOfRange(body, begin, at));
          found.add(hole);
          begin = at + value.length();
          at = begin - 1;
          break;
        }
      }
    }
    between.add(Arrays.copyOfRange(body, begin, text.length()));
    status = response.code();
    reason = response.reason();
    field = onlyField(response);
    type = String.valueOf(response.getHeaders().get(field));
    pieces = between.toArray(byte[][]::new);
    holes = found.toArray(Hole[]::new);
    length = between.stream().mapToInt(piece -> piece.length).sum();
  }

  /**
   * Whether the parts give this response, which has one header field, to these values; also if they
   * give none.
   *
   * @param body its encoded body
   */
  boolean gives(MutableHttpResponse<?> response, byte[] body, Function<Hole, String> values) {
    byte[] filled = fill(values);
    return response.code() == status
        && response.reason().equals(reason)
        && onlyField(response).equals(field)
        && type.equals(response.getHeaders().get(field))
        && (filled == null || Arrays.equals(body, filled));
  }

  private static String onlyField(MutableHttpResponse<?> response) {
    return response.getHeaders().names().iterator().next();
  }

  /** The response to a request; null if it has to be made in the ordinary way. */
  @Nullable MutableHttpResponse<?> respond(HttpRequest<?> request, LimitDeniedException denied) {
    byte[] filled = state == Progress.PROVED ? fill(values(request, denied)) : null;
    if (filled == null) {
      return null;
    }
    MutableHttpResponse<byte[]> response = HttpResponseFactory.INSTANCE.status(status, reason);
    response.getHeaders().set(field, type); // before the body, which would set its own
    response.body(filled).bodyWriter(WRITER);
    return response;
  }

  /** The values of a request and its denial. */
  static Function<Hole, String> values(HttpRequest<?> request, LimitDeniedException denied) {
    Denial denial = new Denial(request, denied, 0, "", ""); // these do not vary within a kind
    return hole ->
        switch (hole) {
          case URI -> request.getUri().toString();
          case PATH -> request.getPath();
          case RETRY_AFTER -> Denial.Value.RETRY_AFTER.text(denial);
          case BANNED -> Denial.Value.BANNED.text(denial);
          case REMAINING -> Denial.Value.REMAINING.text(denial);
          case RESET -> Denial.Value.RESET.text(denial);
        };
  }

  /** A body; null if it needs characters that may be escaped, or if the URI is invalid. */
  private byte @Nullable [] fill(Function<Hole, String> values) {
    String[] filling = new String[holes.length];
    int size = length;
    try {
      for (int h = 0; h < holes.length; h++) {
        String value = values.apply(holes[h]);
        filling[h] = value;
        size += value.length();
      }
    } catch (IllegalArgumentException noUri) {
      return null;
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

  static boolean isPlain(char c) {
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
