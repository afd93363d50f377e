// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.RuleVerdict;
import io.limiter.core.Verdict;
import io.limiter.micronaut.denial.Denial;
import io.limiter.micronaut.denial.DenialTimes;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.micronaut.http.HttpMethod;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpResponse;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The kinds of denials of one plan, each with the parts of its response. Denials are of one kind if
 * their bodies differ only in the path and the numbers that {@link DenialParts} fills in: the same
 * rules deny, in the same language and for the same method.
 *
 * <p>A response is filled from parts only after the ordinary way has given the same response: first
 * twice with made-up values, some time apart, and to a real request; then to one request in each
 * second. A difference, such as a time of day that the application's serializer adds, ends that for
 * the kind.
 */
final class DenialKinds {

  /** Of one plan. When there are more, one is replaced at most once in {@link #CHECK_NANOS}. */
  static final int MOST = 32;

  /** Longer than the resolution of a time that a body may contain. */
  private static final long PROVING_NANOS = Duration.ofMillis(20).toNanos();

  private static final long CHECK_NANOS = Duration.ofSeconds(1).toNanos();

  private final DenialParts.Maker maker;
  private final LongSupplier nanos;
  private final AtomicLong replacedNanos;
  private volatile Kind[] kinds = {};
  private int next; // guarded by this

  DenialKinds(DenialParts.Maker maker) {
    this(maker, System::nanoTime);
  }

  /**
   * @param nanos a monotonic clock in nanoseconds
   */
  DenialKinds(DenialParts.Maker maker, LongSupplier nanos) {
    this.maker = maker;
    this.nanos = nanos;
    this.replacedNanos = new AtomicLong(nanos.getAsLong());
  }

  /** The response to a denied request. */
  MutableHttpResponse<?> respond(HttpRequest<?> request, LimitDeniedException denied) {
    Kind kind = isForProgram(request) ? kind(request, denied) : null;
    if (kind == null) {
      return maker.responses().respond(request, denied);
    }
    Denial denial = new Denial(request, denied, 0, "", ""); // these do not vary within a kind
    boolean looks = kind.begin(nanos.getAsLong());
    DenialParts parts = looks ? null : kind.proved();
    MutableHttpResponse<?> filled = parts == null ? null : parts.respond(denial);
    if (filled != null) {
      return filled;
    }
    MutableHttpResponse<?> response = maker.responses().respond(request, denied);
    if (looks) {
      kind.learn(maker, denial, response);
    }
    return response;
  }

  /** Whether some responses are filled from parts by now. */
  boolean areFilled() {
    return Arrays.stream(kinds).anyMatch(kind -> kind.state == State.PROVED);
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

  private @Nullable Kind kind(HttpRequest<?> request, LimitDeniedException denied) {
    Locale language = null;
    for (Kind kind : kinds) {
      if (kind.isOf(request, denied)) {
        if (kind.language == null) {
          return kind;
        }
        language = language == null ? maker.responses().language(request, denied) : language;
        if (kind.language.equals(language)) {
          return kind;
        }
      }
    }
    Kind made =
        new Kind(request, denied, maker.responses().language(request, denied), nanos.getAsLong());
    return keep(made) ? made : null;
  }

  /** Two threads may keep the same kind; the first is found from then on. */
  private boolean keep(Kind kind) {
    long last = replacedNanos.get();
    boolean full = kinds.length >= MOST;
    if (full
        && (kind.seenNanos - last < CHECK_NANOS
            || !replacedNanos.compareAndSet(last, kind.seenNanos))) {
      return false;
    }
    synchronized (this) {
      boolean grows = kinds.length < MOST;
      Kind[] more = Arrays.copyOf(kinds, grows ? kinds.length + 1 : MOST);
      more[grows ? more.length - 1 : next++ % MOST] = kind;
      kinds = more;
    }
    return true;
  }

  private enum State {
    /** No parts yet. */
    NEW,
    /** Parts that were found once. */
    FOUND,
    /** Parts that gave the response each time. */
    PROVED,
    /** The response has none. */
    NEVER
  }

  /** Denials of one kind. */
  private static final class Kind {

    private final LimitDeniedException like;
    private final String method;
    private final @Nullable Locale language; // null if the message is the same in all of them
    private final int longest;
    private final AtomicLong checkedNanos;
    private final long seenNanos;
    private volatile State state = State.NEW;
    private volatile @Nullable DenialParts parts;

    Kind(
        HttpRequest<?> request,
        LimitDeniedException like,
        @Nullable Locale language,
        long seenNanos) {
      this.like = like;
      this.method = request.getMethodName();
      this.language = language;
      this.longest = longest(like.verdict());
      this.seenNanos = seenNanos;
      this.checkedNanos = new AtomicLong(seenNanos - CHECK_NANOS);
    }

    boolean isOf(HttpRequest<?> request, LimitDeniedException other) {
      return like.getClass() == other.getClass()
          && like.text().equals(other.text())
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
            return verdict.rules().indexOf(DenialTimes.longest(verdict).orElse(null));
          }
          only = r;
        }
      }
      return only;
    }

    @Nullable DenialParts proved() {
      return state == State.PROVED ? parts : null;
    }

    /** Whether the time has come to look at a response, and no other thread does. */
    boolean begin(long nanos) {
      State now = state;
      if (now == State.NEVER) {
        return false;
      }
      long last = checkedNanos.get();
      return nanos - last >= (now == State.PROVED ? CHECK_NANOS : PROVING_NANOS)
          && checkedNanos.compareAndSet(last, nanos);
    }

    /** Looks at a response that was made in the ordinary way. */
    void learn(DenialParts.Maker maker, Denial denial, MutableHttpResponse<?> response) {
      DenialParts known = parts;
      try {
        if (known == null) {
          parts = DenialParts.of(maker, denial.request(), denial.cause());
          state = parts == null ? State.NEVER : State.FOUND;
        } else {
          boolean proved =
              known.agree(maker, denial, response)
                  && (state == State.PROVED || known.hold(maker, denial.request(), denial.cause()));
          state = proved ? State.PROVED : State.NEVER;
        }
      } catch (RuntimeException | StackOverflowError notForOthers) {
        state = State.NEVER;
      }
    }
  }
}
