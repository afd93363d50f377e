// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.util.LogThrottle;
import io.limiter.idempotency.Holding.Times;
import io.limiter.idempotency.SubmissionService.Result;
import io.limiter.idempotency.Submissions.Attempt;
import io.limiter.idempotency.Submissions.Held;
import io.limiter.idempotency.Submissions.Request;
import io.limiter.micronaut.call.LimitedCall;
import io.limiter.micronaut.denial.Rejections;
import io.limiter.micronaut.denial.ServerFields;
import io.limiter.micronaut.exception.InvalidCallException.MissingSubjectException;
import io.limiter.micronaut.http.EncodedBody;
import io.limiter.micronaut.http.GateFilter;
import io.limiter.micronaut.http.HeadBinder;
import io.limiter.micronaut.subject.RequestSubjects;
import io.limiter.micronaut.subject.SubjectSource;
import io.limiter.micronaut.thread.CallerThreads;
import io.limiter.micronaut.thread.CallerThreads.CallContext;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.core.annotation.Order;
import io.micronaut.core.order.Ordered;
import io.micronaut.http.HttpHeaders;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpRequestWrapper;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.ServerHttpRequest;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ResponseFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.body.ByteBody;
import io.micronaut.http.body.CloseableByteBody;
import io.micronaut.http.body.MessageBodyHandlerRegistry;
import io.micronaut.http.context.event.HttpRequestTerminatedEvent;
import io.micronaut.http.filter.ConditionalFilter;
import io.micronaut.http.server.annotation.PreMatching;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Flux;
import reactor.core.scheduler.Schedulers;

/**
 * Claims the key of a request behind security and before the gate decides, and reads the body only
 * of a request that the gate admits, or whose key is known. Responses are kept and repeated by the
 * outermost response filter, so that each is what a client got, and no other filter sees it twice.
 *
 * <p>All steps run on the event loop of the request, or where Micronaut runs filters; none waits.
 */
@ServerFilter(patterns = ServerFilter.MATCH_ALL_PATTERN, appendContextPath = false)
final class IdempotencyFilter
    implements ConditionalFilter, ApplicationEventListener<HttpRequestTerminatedEvent> {

  /** Behind security, before {@link GateFilter#ORDER}. */
  static final int ORDER = GateFilter.ORDER - 10;

  /** Behind the gate. */
  static final int ORDER_ADMITTED = GateFilter.ORDER + 10;

  static final String UNAVAILABLE = "idempotency_unavailable";

  private static final Logger LOG = LoggerFactory.getLogger(IdempotencyFilter.class);

  /** An attribute of a request: as it came, whatever filters have made of it. */
  private static final String RECEIVED = "io.limiter.idempotency.received";

  private static final CompletionStage<Optional<MutableHttpResponse<?>>> PROCEED =
      CompletableFuture.completedFuture(Optional.empty());

  /** Seconds after which a client may ask again for a response that was not there in time. */
  private static final String RETRY_AFTER = "1";

  private static final byte[] TOO_LARGE = {};

  /** The longest body of a request that is held while the request waits, in bytes. */
  private static final int MAX_HELD = 2_048;

  /** For how long it is. */
  private static final Duration MOMENT = Duration.ofMillis(100);

  private final IdempotentRoutes routes;
  private final IdempotencyConfiguration settings;
  private final SubmissionService submissions;
  private final RequestSubjects subjects;
  private final HeadBinder head;
  private final Rejections rejections;
  private final CallerThreads threads;
  private final Optional<MessageBodyHandlerRegistry> writers;
  private final ServerFields fields;
  private final RecentDenials denials = new RecentDenials(System::nanoTime);
  private final LogThrottle failures = new LogThrottle();
  private final LogThrottle unkept = new LogThrottle();

  IdempotencyFilter(
      IdempotentRoutes routes,
      IdempotencyConfiguration settings,
      SubmissionService submissions,
      RequestSubjects subjects,
      HeadBinder head,
      Rejections rejections,
      CallerThreads threads,
      Optional<MessageBodyHandlerRegistry> writers,
      ServerFields fields) {
    this.routes = routes;
    this.settings = settings;
    this.submissions = submissions;
    this.subjects = subjects;
    this.head = head;
    this.rejections = rejections;
    this.threads = threads;
    this.writers = writers;
    this.fields = fields;
  }

  @Override
  public boolean isEnabled(HttpRequest<?> request) {
    return routes.of(request) != null;
  }

  /**
   * Before all other filters, also those before the route is known: one of them may pass another
   * request on. A filter of its own, since routes are asked for here only once they are known.
   */
  @ServerFilter(patterns = ServerFilter.MATCH_ALL_PATTERN, appendContextPath = false)
  static final class Received {

    @PreMatching
    @RequestFilter
    @Order(Ordered.HIGHEST_PRECEDENCE)
    void received(HttpRequest<?> request) {
      request.setAttribute(RECEIVED, request);
    }
  }

  @RequestFilter
  @Order(ORDER)
  CompletionStage<Optional<MutableHttpResponse<?>>> arrived(HttpRequest<?> request) {
    if (request.getAttribute(RECEIVED).isEmpty()) {
      return replaced(request);
    }
    Terms terms = routes.of(request);
    if (terms == null) {
      return PROCEED;
    }
    KeyedRequest earlier = KeyedRequest.of(request).orElse(null);
    if (earlier != null) { // a filter has gone on once more: Micronaut may begin with the first
      if (earlier.isAnswered()) { // then no response would end another claim
        return rejected(request, HttpStatus.SERVICE_UNAVAILABLE, UNAVAILABLE);
      }
      earlier.over();
    }
    IdempotencyKey key = IdempotencyKey.of(request);
    if (key.mistake().isPresent()) {
      LOG.debug("An Idempotency-Key is malformed: {}", key.mistake().get());
      return rejected(request, HttpStatus.BAD_REQUEST, "idempotency_key_malformed");
    }
    if (key.key().isEmpty()) {
      return terms.required()
          ? rejected(request, HttpStatus.BAD_REQUEST, "idempotency_key_missing")
          : PROCEED;
    }
    Subject owner;
    try {
      owner = owner(terms.owner(), request);
    } catch (MissingSubjectException anonymous) {
      return rejected(request, HttpStatus.BAD_REQUEST, "idempotency_key_anonymous");
    }
    if (hasParts(request)) { // each time its parts are separated by other bytes
      return rejected(request, HttpStatus.UNSUPPORTED_MEDIA_TYPE, "idempotent_request_multipart");
    }
    if (request.getContentLength() > settings.maxBody()) {
      return tooLarge(request);
    }
    StateKey name = SubmissionService.key(owner, terms.scope(), key.key().get());
    byte[] head =
        submissions
            .fingerprints()
            .head(name, request.getMethodName(), request.getUri().toASCIIString());
    KeyedRequest call =
        new KeyedRequest(
            terms,
            new Request(
                name,
                head,
                Entry.NONE,
                Times.of(terms.claim(), terms.retain(), settings.longestRun()),
                terms.scope()));
    call.attachTo(request);
    if (terms.limitsFirst()) {
      return PROCEED;
    }
    return denials.has(name.tag()) ? look(request, call) : claim(request, call);
  }

  /**
   * Whose keys they are.
   *
   * @throws MissingSubjectException if the request has no owner
   */
  private Subject owner(SubjectSource source, HttpRequest<?> request) {
    if (!(source instanceof SubjectSource.Expression expression)) {
      return subjects.resolve(source, request);
    }
    Set<Integer> positions = expression.expression().head().orElseThrow();
    return head.bind(request, positions)
        .map(arguments -> expression.expression().evaluate(null, arguments))
        .map(value -> subjects.named(source, value))
        .orElseThrow(() -> new MissingSubjectException(source.written() + ": no such argument"));
  }

  /** Refuses a request that has lost its attributes; the interceptor does where it is. */
  private CompletionStage<Optional<MutableHttpResponse<?>>> replaced(HttpRequest<?> request) {
    return routes.byPath(request) == null
        ? PROCEED
        : CompletableFuture.failedFuture(IdempotentRoutes.replaced());
  }

  private static boolean hasParts(HttpRequest<?> request) {
    return request.getContentType().filter(type -> type.getType().equals("multipart")).isPresent();
  }

  /** The gate has admitted the request. */
  @RequestFilter
  @Order(ORDER_ADMITTED)
  CompletionStage<Optional<MutableHttpResponse<?>>> admitted(HttpRequest<?> request) {
    if (request.getAttribute(RECEIVED).isEmpty()) {
      return replaced(request);
    }
    KeyedRequest call = KeyedRequest.of(request).orElse(null);
    if (call == null) {
      return PROCEED;
    }
    return call.isClaimed()
        ? begin(request, call)
        : claim(request, call)
            .thenCompose(
                answer ->
                    answer.isPresent()
                        ? CompletableFuture.completedFuture(answer)
                        : begin(request, call));
  }

  /** Reads the body of a request whose submission is claimed. */
  private CompletionStage<Optional<MutableHttpResponse<?>>> begin(
      HttpRequest<?> request, KeyedRequest call) {
    return digest(request, call, true)
        .thenCompose(
            digest -> {
              if (digest == TOO_LARGE) { // the end of the response frees the key
                return tooLarge(request);
              }
              call.bodyRead(digest);
              return call.terms().seesMethod() || call.enter()
                  ? PROCEED
                  : rejected(request, HttpStatus.SERVICE_UNAVAILABLE, UNAVAILABLE);
            });
  }

  private CompletionStage<Optional<MutableHttpResponse<?>>> claim(
      HttpRequest<?> request, KeyedRequest call) {
    return onThread(
        request,
        call,
        submissions.claim(call.request(), Duration.ZERO),
        attempt ->
            attempt.found().kind() == Found.Kind.RUNNING && !call.terms().maxWait().isZero()
                ? await(request, call, attempt.found())
                : found(request, call, attempt));
  }

  /**
   * Waits for the end of another request: a short body is held for a moment, in which a request
   * that has just failed frees its key.
   */
  private CompletionStage<Optional<MutableHttpResponse<?>>> await(
      HttpRequest<?> request, KeyedRequest call, Found running) {
    long length = received(request).byteBody().expectedLength().orElse(Long.MAX_VALUE);
    Duration longest = call.terms().maxWait();
    boolean isHeld = length == 0 || longest.compareTo(MOMENT) <= 0;
    return length > MAX_HELD
        ? awaitWithoutBody(request, call, running)
        : onThread(
            request,
            call,
            submissions.claim(call.request(), isHeld ? longest : MOMENT),
            attempt ->
                attempt.found().kind() == Found.Kind.RUNNING && !isHeld
                    ? awaitWithoutBody(request, call, attempt.found())
                    : found(request, call, attempt));
  }

  /**
   * What the server has read of a body would be held, in whole buffers of up to 64 KiB, so that is
   * read and dropped before. Such a request does not run if the key is free afterwards.
   */
  private CompletionStage<Optional<MutableHttpResponse<?>>> awaitWithoutBody(
      HttpRequest<?> request, KeyedRequest call, Found running) {
    return digest(request, call, false)
        .thenCompose(
            digest ->
                digest == TOO_LARGE || running.differsFrom(digest)
                    ? different(request, call)
                    : onThread(
                        request,
                        call,
                        submissions.claim(call.request(), call.terms().maxWait()),
                        attempt -> awaited(request, call, attempt, digest)));
  }

  private CompletionStage<Optional<MutableHttpResponse<?>>> awaited(
      HttpRequest<?> request, KeyedRequest call, Attempt attempt, byte[] digest) {
    if (attempt.held() != null) {
      attempt.held().abandon();
      return inUse(request, call);
    }
    return switch (attempt.found().kind()) {
      case RUNNING -> inUse(request, call);
      case DIFFERENT -> different(request, call);
      default -> repeat(request, call, attempt.found(), digest);
    };
  }

  /**
   * Looks for a key without claiming it, where the limits have denied the caller recently: they
   * decide first then, so that a caller that is denied again costs one read.
   */
  private CompletionStage<Optional<MutableHttpResponse<?>>> look(
      HttpRequest<?> request, KeyedRequest call) {
    return onThread(
        request,
        call,
        submissions.look(call.request()),
        found ->
            switch (found.kind()) {
              case ABSENT -> PROCEED;
              case RUNNING -> claim(request, call);
              default -> found(request, call, new Attempt(found, null));
            });
  }

  private <T> CompletionStage<Optional<MutableHttpResponse<?>>> onThread(
      HttpRequest<?> request,
      KeyedRequest call,
      CompletionStage<T> asked,
      Function<T, CompletionStage<Optional<MutableHttpResponse<?>>>> next) {
    return threads
        .resume(
            asked.handle((found, failure) -> new Reply<>(found, failure)),
            Optional.of(request),
            CallContext.current())
        .thenCompose(
            reply ->
                reply.failure() == null
                    ? next.apply(reply.found())
                    : withoutStore(request, call, reply.failure()));
  }

  private record Reply<T>(T found, @Nullable Throwable failure) {}

  private CompletionStage<Optional<MutableHttpResponse<?>>> withoutStore(
      HttpRequest<?> request, KeyedRequest call, Throwable failure) {
    Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
    if (!(cause instanceof StoreException)) {
      return CompletableFuture.failedFuture(failure);
    }
    failures.report(
        LOG,
        "Requests with an Idempotency-Key are answered 503, since the store does not answer",
        cause);
    report(call, Result.UNAVAILABLE);
    return rejected(request, HttpStatus.SERVICE_UNAVAILABLE, UNAVAILABLE);
  }

  private CompletionStage<Optional<MutableHttpResponse<?>>> found(
      HttpRequest<?> request, KeyedRequest call, Attempt attempt) {
    if (attempt.held() != null) {
      report(call, Result.FIRST);
      call.claimed(attempt.held());
      return PROCEED;
    }
    Found found = attempt.found();
    return switch (found.kind()) {
      case DIFFERENT -> different(request, call);
      case RUNNING -> inUse(request, call);
      default ->
          digest(request, call, false).thenCompose(digest -> repeat(request, call, found, digest));
    };
  }

  private CompletionStage<Optional<MutableHttpResponse<?>>> inUse(
      HttpRequest<?> request, KeyedRequest call) {
    report(call, Result.RUNNING);
    return CompletableFuture.completedFuture(
        Optional.of(
            rejections
                .reject(request, HttpStatus.CONFLICT, "idempotency_key_in_use")
                .header(HttpHeaders.RETRY_AFTER, RETRY_AFTER)));
  }

  private CompletionStage<Optional<MutableHttpResponse<?>>> different(
      HttpRequest<?> request, KeyedRequest call) {
    report(call, Result.DIFFERENT);
    return rejected(request, HttpStatus.UNPROCESSABLE_ENTITY, "idempotency_key_reused");
  }

  private CompletionStage<Optional<MutableHttpResponse<?>>> repeat(
      HttpRequest<?> request, KeyedRequest call, Found found, byte[] digest) {
    if (digest == TOO_LARGE || found.differsFrom(digest)) {
      return different(request, call);
    }
    if (found.kind() == Found.Kind.UNREAD) {
      return onThread(
          request,
          call,
          submissions.look(call.request().withBody(digest)),
          read ->
              switch (read.kind()) {
                case DIFFERENT -> different(request, call);
                case ANSWERED, DONE -> repeat(request, call, read, digest);
                default -> inUse(request, call); // the answer has expired meanwhile
              });
    }
    if (found.kind() == Found.Kind.ANSWERED) {
      Optional<StoredAnswer> stored =
          submissions.open(call.request().key(), found.answer()).flatMap(StoredAnswer::read);
      if (stored.isPresent()) {
        report(call, Result.REPLAYED);
        call.repeat(stored.get());
        // The outermost filter writes it: the others see a response without a body.
        return CompletableFuture.completedFuture(
            Optional.of(
                HttpResponse.status(
                    stored.get().status(), HttpStatus.getDefaultReason(stored.get().status()))));
      }
      report(call, Result.UNREADABLE);
    } else {
      report(call, Result.DONE);
    }
    return rejected(request, HttpStatus.CONFLICT, "idempotent_answer_unavailable");
  }

  private CompletionStage<Optional<MutableHttpResponse<?>>> tooLarge(HttpRequest<?> request) {
    return rejected(request, HttpStatus.REQUEST_ENTITY_TOO_LARGE, "idempotent_request_too_large");
  }

  private CompletionStage<Optional<MutableHttpResponse<?>>> rejected(
      HttpRequest<?> request, HttpStatus status, String code) {
    return CompletableFuture.completedFuture(Optional.of(rejections.reject(request, status, code)));
  }

  private void report(KeyedRequest call, Result result) {
    submissions.report(call.terms().scope(), result);
  }

  /**
   * The fingerprint of the body; {@link #TOO_LARGE} if it is too long to be compared.
   *
   * @param forRoute whether the route reads the body afterwards; otherwise no byte of it is kept
   */
  private CompletionStage<byte[]> digest(
      HttpRequest<?> request, KeyedRequest call, boolean forRoute) {
    ByteBody body = received(request).byteBody();
    Fingerprints.Code code = submissions.fingerprints().body(call.request().key());
    int[] length = {0};
    CloseableByteBody copy =
        forRoute ? body.split(ByteBody.SplitBackpressureMode.FASTEST) : body.move();
    CompletableFuture<byte[]> digest =
        Flux.from(copy.toByteArrayPublisher())
            .takeUntil(
                bytes -> {
                  length[0] += bytes.length;
                  code.update(bytes);
                  return length[0] > settings.maxBody();
                })
            .then()
            .toFuture()
            .thenApply(all -> length[0] > settings.maxBody() ? TOO_LARGE : code.end());
    if (digest.isDone()) {
      return digest;
    }
    // Not within the event that brings the last bytes: the route would change the list of those who
    // read the body while the server goes over it, and the next request would find no reader.
    CompletableFuture<byte[]> later =
        digest.whenCompleteAsync((bytes, failure) -> {}, Schedulers.parallel()::schedule);
    return threads.resume(later, Optional.of(request), CallContext.current());
  }

  /** The request as it came, with its bytes. */
  private static ServerHttpRequest<?> received(HttpRequest<?> request) {
    HttpRequest<?> received =
        request.getAttribute(RECEIVED).orElse(null) instanceof HttpRequest<?> first
            ? first
            : request;
    while (received instanceof HttpRequestWrapper<?> wrapper) {
      received = wrapper.getDelegate();
    }
    if (received instanceof ServerHttpRequest<?> server) {
      return server;
    }
    throw new IllegalStateException(
        "%s shows no bytes of a request, so requests with an Idempotency-Key cannot be compared on this server"
            .formatted(received.getClass().getName()));
  }

  /** The outermost filter, which has the response that the client gets. */
  @ResponseFilter
  @Order(Ordered.HIGHEST_PRECEDENCE)
  void answered(HttpRequest<?> request, MutableHttpResponse<?> response) {
    fields.writeTo(response.getHeaders());
    KeyedRequest call = KeyedRequest.of(request).orElse(null);
    if (call == null) {
      return;
    }
    StoredAnswer repeated = call.repeated();
    if (repeated != null) {
      repeated.writeTo(response);
      return;
    }
    if (isDenied(request, call) && !call.terms().seesMethod()) {
      call.threw(); // by a limit around the method, which has not begun
    }
    Held held = call.answered();
    if (held != null) {
      keep(held, call, request, response);
    }
  }

  private boolean isDenied(HttpRequest<?> request, KeyedRequest call) {
    Optional<LimitedCall> denied = LimitedCall.of(request).filter(LimitedCall::isDenied);
    denied
        .flatMap(known -> known.verdict().retryAfter())
        .ifPresent(time -> denials.add(call.request().key().tag(), time));
    return denied.isPresent();
  }

  private void keep(
      Held held, KeyedRequest call, HttpRequest<?> request, MutableHttpResponse<?> response) {
    if (!call.terms().repeats()) {
      held.end(End.DONE);
      return;
    }
    Optional<byte[]> body;
    try {
      body = EncodedBody.bytes(request, response, writers);
    } catch (Throwable broken) { // of the application's writer: the server reports it, by a 500
      body = Optional.empty();
    }
    if (body.isEmpty() || body.get().length > settings.maxAnswer()) {
      reportUnkept(call, body);
      report(call, Result.NO_ROOM);
      held.end(End.DONE);
      return;
    }
    StoredAnswer answer =
        StoredAnswer.of(
            response,
            body.get(),
            EncodedBody.mediaType(request, response).toString(),
            settings.withoutHeaders());
    submissions.end(held, call.request().key(), answer.bytes());
  }

  private void reportUnkept(KeyedRequest call, Optional<byte[]> body) {
    if (unkept.count() > 0) {
      LOG.warn(
          "The response of {} is not kept, so a repetition is answered 409: {}",
          call.terms().scope(),
          body.isEmpty()
              ? "it is a stream or a file, or cannot be encoded"
              : "it has %s bytes, more than %s.max-answer = %s"
                  .formatted(
                      body.get().length, IdempotencyConfiguration.PREFIX, settings.maxAnswer()));
    }
  }

  /** Micronaut publishes the event once a response is written or cannot be written any more. */
  @Override
  public void onApplicationEvent(HttpRequestTerminatedEvent ended) {
    KeyedRequest.of(ended.getSource()).ifPresent(KeyedRequest::over);
  }
}
