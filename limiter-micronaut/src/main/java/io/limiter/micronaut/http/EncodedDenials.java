// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.Outcome;
import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.http.DenialKind.Hole;
import io.micronaut.core.type.Argument;
import io.micronaut.http.HttpMethod;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpRequestWrapper;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.body.MessageBodyHandlerRegistry;
import io.micronaut.http.body.MessageBodyWriter;
import io.micronaut.http.context.ServerRequestContext;
import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The kinds of denials of one plan, each of which keeps the parts of its response. A response is
 * filled from parts only after the ordinary way has given the same response: first twice with
 * made-up values, some time apart, and to a real request; then to one request in each second. A
 * difference, such as a time of day that the application's serializer adds, ends that for the kind.
 */
final class EncodedDenials {

  /** Of one plan. When there are more, one is replaced at most once in {@link #REPLACE_NANOS}. */
  static final int MOST = 32;

  private static final long REPLACE_NANOS = Duration.ofSeconds(1).toNanos();

  private final LimitDeniedHandler handler;
  private final Optional<MessageBodyHandlerRegistry> writers;
  private final LongSupplier nanos;
  private final AtomicLong replacedNanos;
  private volatile DenialKind[] kinds = {};
  private int next; // guarded by this

  EncodedDenials(LimitDeniedHandler handler, Optional<MessageBodyHandlerRegistry> writers) {
    this(handler, writers, System::nanoTime);
  }

  /**
   * @param nanos a monotonic clock in nanoseconds
   */
  EncodedDenials(
      LimitDeniedHandler handler,
      Optional<MessageBodyHandlerRegistry> writers,
      LongSupplier nanos) {
    this.handler = handler;
    this.writers = writers;
    this.nanos = nanos;
    this.replacedNanos = new AtomicLong(nanos.getAsLong());
  }

  /** The response to a denied request. */
  MutableHttpResponse<?> respond(HttpRequest<?> request, LimitDeniedException denied) {
    long nowNanos = nanos.getAsLong();
    DenialKind kind = isForProgram(request) ? kind(request, denied, nowNanos) : null;
    if (kind == null) {
      return handler.handle(request, denied);
    }
    if (kind.isToBeChecked(nowNanos)) {
      return check(kind, request, denied);
    }
    MutableHttpResponse<?> filled = kind.respond(request, denied);
    return filled == null ? handler.handle(request, denied) : filled;
  }

  /** The response in the ordinary way, with which the parts are compared. */
  private MutableHttpResponse<?> check(
      DenialKind kind, HttpRequest<?> request, LimitDeniedException denied) {
    boolean same = false;
    try {
      MutableHttpResponse<?> response = handler.handle(request, denied);
      same = isSame(kind, request, denied, response);
      return response;
    } finally {
      kind.checked(same);
    }
  }

  private boolean isSame(
      DenialKind kind,
      HttpRequest<?> request,
      LimitDeniedException denied,
      MutableHttpResponse<?> response) {
    try {
      if (kind.isNew()) {
        return isSame(MadeUp.RARE, kind, request, denied);
      }
      byte[] body = encode(response);
      return body != null
          && kind.gives(response, body, DenialKind.values(request, denied))
          && (kind.isProved() || isSame(MadeUp.ORDINARY, kind, request, denied));
    } catch (RuntimeException | StackOverflowError notForOthers) {
      return false;
    }
  }

  /** The same for a request with made-up values; of a new kind, the parts are found. */
  private boolean isSame(
      MadeUp values, DenialKind kind, HttpRequest<?> like, LimitDeniedException denied) {
    HttpRequest<?> request = values.request(like);
    Supplier<Boolean> same =
        () -> {
          MutableHttpResponse<?> response = handler.handle(request, values.denial(denied));
          byte[] body = encode(response);
          if (body == null) {
            return false;
          }
          if (kind.isNew()) {
            kind.cut(response, body, values::text);
            return true;
          }
          return kind.gives(response, body, values::text);
        };
    return ServerRequestContext.with(request, same);
  }

  /** The body of a response as Micronaut encodes it; null if it is none that can be cut. */
  private byte @Nullable [] encode(MutableHttpResponse<?> response) {
    Object body = response.body();
    MediaType type = response.getContentType().orElse(null);
    if (body == null || type == null || response.getHeaders().names().size() != 1) {
      return null;
    }
    Argument<Object> argument = Argument.ofInstance(body);
    MessageBodyWriter<Object> writer =
        writers.flatMap(all -> all.findWriter(argument, List.of(type))).orElse(null);
    if (writer == null
        || writer.isBlocking()
        || !writer.getClass().getName().startsWith("io.micronaut.")) {
      return null;
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    writer.writeTo(argument, type, body, response.getHeaders(), bytes);
    return bytes.toByteArray();
  }

  /** Whether some responses are filled from parts by now. */
  boolean areFilled() {
    return Arrays.stream(kinds).anyMatch(DenialKind::isProved);
  }

  /** How many there are. */
  int size() {
    return kinds.length;
  }

  /** HEAD has no body, and a browser receives a page. */
  private static boolean isForProgram(HttpRequest<?> request) {
    if (request.getMethod() == HttpMethod.HEAD) {
      return false;
    }
    for (MediaType accepted : request.accept()) {
      if (accepted.equals(MediaType.TEXT_HTML_TYPE)) {
        return false;
      }
    }
    return true;
  }

  private @Nullable DenialKind kind(
      HttpRequest<?> request, LimitDeniedException denied, long nowNanos) {
    Locale language = null;
    for (DenialKind kind : kinds) {
      if (kind.isOf(request, denied)) {
        if (kind.language() == null) {
          return kind;
        }
        language = language == null ? handler.language(request) : language;
        if (language.equals(kind.language())) {
          return kind;
        }
      }
    }
    Locale own = handler.isInOneLanguage(denied) ? null : handler.language(request);
    DenialKind made = new DenialKind(request, denied, own, nowNanos);
    return keep(made, nowNanos) ? made : null;
  }

  /** Two threads may keep the same kind; the first is found from then on. */
  private boolean keep(DenialKind kind, long nowNanos) {
    long lastNanos = replacedNanos.get();
    boolean full = kinds.length >= MOST;
    if (full
        && (nowNanos - lastNanos < REPLACE_NANOS
            || !replacedNanos.compareAndSet(lastNanos, nowNanos))) {
      return false;
    }
    synchronized (this) {
      boolean grows = kinds.length < MOST;
      DenialKind[] more = Arrays.copyOf(kinds, grows ? kinds.length + 1 : MOST);
      more[grows ? more.length - 1 : next++ % MOST] = kind;
      kinds = more;
    }
    return true;
  }

  /** Made-up values. None of a set is the beginning of another. */
  private enum MadeUp {
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
        if (DenialKind.isPlain(c)) {
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

    /** A denial of the same kind with these values. */
    private LimitDeniedException denial(LimitDeniedException like) {
      return LimitDeniedException.of(verdict(like.verdict()), like.text());
    }

    @SuppressWarnings("ReferenceEquality") // one of this verdict's own
    private Verdict verdict(Verdict like) {
      RuleVerdict longest =
          (like.outcome() == Outcome.DUPLICATE ? like.duplicate() : like.denying()).orElse(null);
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
}
