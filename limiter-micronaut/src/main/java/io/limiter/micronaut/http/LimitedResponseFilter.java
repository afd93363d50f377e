// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.Verdict;
import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.call.LimitedCall;
import io.limiter.micronaut.call.LimitedCall.Event;
import io.limiter.micronaut.call.WithheldItems;
import io.limiter.micronaut.exception.LimitDeniedException;
import io.limiter.micronaut.thread.CallerThreads;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.annotation.Order;
import io.micronaut.core.async.publisher.Publishers;
import io.micronaut.core.convert.ConversionService;
import io.micronaut.core.io.buffer.ReadBuffer;
import io.micronaut.core.order.Ordered;
import io.micronaut.http.ByteBodyHttpResponse;
import io.micronaut.http.ByteBodyHttpResponseWrapper;
import io.micronaut.http.HttpHeaders;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.HttpResponseWrapper;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.MutableHttpResponse;
import io.micronaut.http.annotation.ResponseFilter;
import io.micronaut.http.annotation.ServerFilter;
import io.micronaut.http.body.AvailableByteBody;
import io.micronaut.http.body.ByteBody;
import io.micronaut.http.body.ByteBodyFactory;
import io.micronaut.http.body.MessageBodyHandlerRegistry;
import io.micronaut.http.body.stream.BodySizeLimits;
import io.micronaut.http.codec.CodecException;
import io.micronaut.http.context.event.HttpRequestTerminatedEvent;
import io.micronaut.http.exceptions.HttpStatusException;
import io.micronaut.http.netty.NettyHttpResponseBuilder;
import io.micronaut.http.simple.SimpleHttpHeaders;
import io.micronaut.web.router.RouteAttributes;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import org.reactivestreams.Publisher;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/**
 * Completes the call of a limited route with its response, or with the end of its request where a
 * response is missing. It writes the header fields of the limits. The response is held back until
 * the submission of a failed call is released and permits are given back, so that a client that has
 * its response can submit again and finds its permit free. Most calls give nothing back, and wait
 * for nothing; others wait for the deadline of the store at most.
 */
@Internal
@ServerFilter(patterns = ServerFilter.MATCH_ALL_PATTERN, appendContextPath = false)
public final class LimitedResponseFilter
    implements ApplicationEventListener<HttpRequestTerminatedEvent> {

  /**
   * The order of the header fields of responses that are no denials: outside of the gate, before
   * and after security.
   */
  public static final int ORDER = GateFilter.ORDER_BEFORE_SECURITY - 10;

  private static final Logger LOG = LoggerFactory.getLogger(LimitedResponseFilter.class);

  private static final CompletionStage<Optional<MutableHttpResponse<?>>> UNCHANGED =
      CompletableFuture.completedFuture(Optional.empty());

  private static final int FAILED = HttpStatus.INTERNAL_SERVER_ERROR.getCode();

  /**
   * The attribute of a request that holds permits until a forwarded response is sent: its status.
   */
  private static final String FORWARDED = "io.limiter.forwarded";

  /** The most nested causes that are searched for a denial. */
  private static final int MAX_CAUSES = 8;

  private final RateLimitFields fields;
  private final CallerThreads threads;
  private final LateUsers users;
  private final Optional<MessageBodyHandlerRegistry> writers;
  private final ConversionService conversions;
  private final LogThrottle failures = new LogThrottle();

  LimitedResponseFilter(
      RateLimitFields fields,
      CallerThreads threads,
      LateUsers users,
      Optional<MessageBodyHandlerRegistry> writers,
      ConversionService conversions) {
    this.fields = fields;
    this.threads = threads;
    this.users = users;
    this.writers = writers;
    this.conversions = conversions;
  }

  /**
   * The outermost filter, which has the response that the client gets, whatever filters and
   * handlers have made of it. It writes the header fields of a denial, once, whether a route was
   * denied or a bean behind it: an {@code @Error} method of the application need not know the
   * fields, and a filter may allow every response to be stored. And it completes the call.
   */
  @ResponseFilter
  @Order(Ordered.HIGHEST_PRECEDENCE)
  CompletionStage<Optional<MutableHttpResponse<?>>> answer(
      HttpRequest<?> request, MutableHttpResponse<?> response) {
    Optional<LimitDeniedException> denial = denial(response);
    Optional<LimitedCall> decided = LimitedCall.of(request);
    if (denial.isPresent()) {
      writeDenial(denial.get().verdict(), request, response);
    } else if (decided.isPresent() && decided.get().isDenied()) {
      // A filter may have replaced the response on which the exception was noted.
      writeDenial(decided.get().verdict(), request, response);
    }
    LimitedCall.answered(request); // of any route: it may have begun limited calls that continue
    return decided.isEmpty() ? UNCHANGED : complete(decided.get(), request, response);
  }

  /** The denial that this response was made of. */
  private static Optional<LimitDeniedException> denial(MutableHttpResponse<?> response) {
    Throwable cause = RouteAttributes.getException(response).orElse(null);
    for (int i = 0; cause != null && i < MAX_CAUSES; i++) {
      if (cause instanceof LimitDeniedException denied) {
        return Optional.of(denied);
      }
      cause = cause.getCause();
    }
    return Optional.empty();
  }

  /**
   * Writes the header fields of a denial, and encodes its body. Both may be the application's: the
   * method has run by then, or the call is denied, and neither may become a 500.
   */
  private void writeDenial(
      Verdict verdict, HttpRequest<?> request, MutableHttpResponse<?> response) {
    try {
      fields.writeDenial(verdict, response);
    } catch (Throwable broken) {
      report(broken);
    }
    Object body = response.body();
    if (body == null || body instanceof byte[] || body instanceof Publisher<?>) {
      return;
    }
    try {
      if (EncodedBody.encode(request, response, writers, true, null)
          == EncodedBody.Encoding.FAILED) {
        throw new CodecException("A %s cannot be encoded".formatted(body.getClass().getName()));
      }
    } catch (Throwable broken) {
      failures.report(LOG, "The body of denials has failed, so they are sent without it", broken);
      response.body(null).getHeaders().remove(HttpHeaders.CONTENT_TYPE);
    }
  }

  /** Writes the header fields of a response that is no denial; {@link #answer} those of one. */
  private void write(Optional<LimitedCall> decided, MutableHttpResponse<?> response) {
    if (decided.isEmpty() || decided.get().isDenied() || denial(response).isPresent()) {
      return;
    }
    try {
      fields.write(decided.get().stated(), response);
    } catch (Throwable broken) {
      report(broken);
    }
  }

  private void report(Throwable broken) {
    failures.report(
        LOG,
        "%s has failed, so responses are sent without its header fields"
            .formatted(fields.getClass().getName()),
        broken);
  }

  /** Writes the header fields of a response that is no denial, for the filters that follow. */
  @ResponseFilter
  @Order(ORDER)
  CompletionStage<Optional<MutableHttpResponse<?>>> respond(
      HttpRequest<?> request, MutableHttpResponse<?> response) {
    Optional<LimitedCall> decided = LimitedCall.of(request);
    if (decided.isPresent() && decided.get().countsUsers()) {
      users.answered(request);
    }
    write(decided, response);
    return UNCHANGED;
  }

  /**
   * Writes the header fields of an error that takes the place of the response that all filters saw.
   */
  void failedLate(HttpRequest<?> request, MutableHttpResponse<?> response) {
    if (LimitedCall.isAnswered(request)) {
      write(LimitedCall.of(request), response);
    }
  }

  private CompletionStage<Optional<MutableHttpResponse<?>>> complete(
      LimitedCall decided, HttpRequest<?> request, MutableHttpResponse<?> response) {
    Optional<LimitedCall> completed = decided.completedByResponse();
    if (completed.isEmpty() || completed.get().isOver()) {
      return UNCHANGED;
    }
    LimitedCall call = completed.get();
    if (Publishers.isConvertibleToPublisher(response.body())) {
      Publisher<?> stream = Publishers.convertToPublisher(conversions, response.body());
      response.body(completedByStream(call, response.code(), stream, request, false));
      return UNCHANGED;
    }
    if (call.lastsUntilWritten() && isForwarded(response)) {
      request.setAttribute(FORWARDED, response.code());
      return UNCHANGED;
    }
    return switch (EncodedBody.encode(
        request, response, writers, call.dependsOnStatus(), new Writing(call, request))) {
      case DONE -> answered(call, response.code(), request).thenApply(done -> Optional.empty());
      case FAILED -> answered(call, FAILED, request).thenApply(done -> Optional.empty());
      case LATER -> UNCHANGED;
    };
  }

  /** Whether its body is the stream of another server, which no filter sees. */
  private static boolean isForwarded(MutableHttpResponse<?> response) {
    try {
      return response.body() == null && OfNetty.isStream(response);
    } catch (NoClassDefFoundError absent) {
      return false;
    }
  }

  /** Netty is optional. */
  private static final class OfNetty {

    static boolean isStream(MutableHttpResponse<?> response) {
      return response instanceof NettyHttpResponseBuilder netty && netty.isStream();
    }
  }

  private CompletionStage<Void> answered(LimitedCall call, int status, HttpRequest<?> request) {
    return back(call.on(new Event.Answered(status)), request);
  }

  /**
   * Completes a call whose body is produced while it is written: once the writer has failed or has
   * produced all of it, else with the last bytes, before the client has them.
   */
  private final class Writing implements WrittenBody.Observer {

    private final LimitedCall call;
    private final HttpRequest<?> request;

    Writing(LimitedCall call, HttpRequest<?> request) {
      this.call = call;
      this.request = request;
    }

    @Override
    public void failed() {
      await(FAILED);
    }

    private void await(int status) {
      threads.awaitWhereAllowed(call.on(new Event.Answered(status)), request.getPath());
    }

    @Override
    public ByteBodyHttpResponse<?> written(
        ByteBodyHttpResponse<?> response, ByteBodyFactory bodies) {
      ByteBody body = response.byteBody();
      OptionalLong length = body.expectedLength();
      if (body instanceof AvailableByteBody || length.orElse(1) == 0) {
        await(response.code());
        return response;
      }
      Flux<Object> bytes = Flux.defer(() -> Flux.from(body.toReadBufferPublisher()));
      if (length.isPresent()) {
        bytes = answeredByLast(bytes, length.getAsLong(), response.code());
      }
      HttpResponse<?> head =
          response instanceof HttpResponseWrapper<?> wrapper ? wrapper.getDelegate() : response;
      return ByteBodyHttpResponseWrapper.wrap(
          head,
          bodies.adapt(
              completedByStream(call, response.code(), bytes, request, true).cast(ReadBuffer.class),
              BodySizeLimits.UNLIMITED,
              new SimpleHttpHeaders(lengthField(length), conversions),
              response::close));
    }

    private static Map<String, String> lengthField(OptionalLong length) {
      return length.isPresent()
          ? Map.of(HttpHeaders.CONTENT_LENGTH, Long.toString(length.getAsLong()))
          : Map.of();
    }

    /** A client that counts the bytes does not wait for the end of the stream. */
    private Flux<Object> answeredByLast(Flux<Object> bytes, long length, int status) {
      long[] left = {length};
      return Flux.from(
          new WithheldItems(
              bytes,
              buffer -> {
                left[0] -= ((ReadBuffer) buffer).readable();
                return left[0] > 0
                    ? null
                    : answered(call, status, request).thenApply(reported -> true);
              },
              Optional::empty));
    }
  }

  /**
   * Completes a call whose response never came to the filter, or is a stream without a subscriber.
   * Micronaut publishes the event once a response is written or cannot be written any more. If the
   * client disconnects while the method runs, the event follows the end of the method.
   */
  @Override
  public void onApplicationEvent(HttpRequestTerminatedEvent ended) {
    Optional<LimitedCall> decided = LimitedCall.of(ended.getSource());
    if (decided.isPresent()) {
      GateFilter.forgetConnection(ended.getSource());
      Event end =
          ended.getSource().getAttribute(FORWARDED).orElse(null) instanceof Integer status
              ? new Event.Answered(status)
              : Event.Plain.REQUEST_OVER;
      decided.get().completedByResponse().ifPresent(call -> call.on(end));
    }
  }

  /**
   * The items of a streamed response. The call completes with the last item, before the reader sees
   * that it was the last; with the failure of the stream; or when its reader disconnects.
   *
   * @param headSent whether the client has the status before the first item
   */
  private Flux<Object> completedByStream(
      LimitedCall call, int status, Publisher<?> stream, HttpRequest<?> request, boolean headSent) {
    return Flux.defer(
        () -> {
          AtomicBoolean begun = new AtomicBoolean(headSent);
          return Flux.<Object>from(stream)
              .doOnNext(item -> begun.setPlain(true))
              .concatWith(
                  Mono.defer(
                      () -> reported(call, new Event.Answered(status), request).then(Mono.empty())))
              .onErrorResume(failure -> failed(call, failure, begun.getPlain(), request))
              .doOnCancel(() -> call.on(Event.Plain.ABANDONED));
        });
  }

  /**
   * If the stream fails before the first item, the server responds with the status of a status
   * exception, else 500, whatever the handlers are. Later it has no other status.
   */
  private Mono<Object> failed(
      LimitedCall call, Throwable failure, boolean begun, HttpRequest<?> request) {
    var unused = call.on(Event.Plain.THREW);
    Event end =
        !begun && failure instanceof HttpStatusException other
            ? new Event.Answered(other.getStatus().getCode())
            : Event.Plain.OVER;
    return reported(call, end, request).then(Mono.error(failure));
  }

  private Mono<Void> reported(LimitedCall call, Event event, HttpRequest<?> request) {
    return Mono.fromCompletionStage(back(call.on(event), request));
  }

  private CompletionStage<Void> back(CompletionStage<Void> reported, HttpRequest<?> request) {
    return threads.resume(reported, Optional.of(request));
  }
}
