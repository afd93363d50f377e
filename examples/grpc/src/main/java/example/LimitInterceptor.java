package example;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.Status;
import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.SlidingWindowLogRule;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Limits each method by the key of the caller. No thread waits for the decision: until it is there,
 * the events of the call are kept.
 */
@Singleton
class LimitInterceptor implements ServerInterceptor {

  static final Metadata.Key<String> API_KEY =
      Metadata.Key.of("x-api-key", Metadata.ASCII_STRING_MARSHALLER);
  static final Metadata.Key<String> RETRY_AFTER =
      Metadata.Key.of("retry-after", Metadata.ASCII_STRING_MARSHALLER);

  /** Three in a minute. */
  private static final Policy POLICY =
      Policy.of("grpc", SlidingWindowLogRule.of(3, Duration.ofMinutes(1)));

  private final Limiter limiter;

  LimitInterceptor(Limiter limiter) {
    this.limiter = limiter;
  }

  @Override
  public <Q, R> ServerCall.Listener<Q> interceptCall(
      ServerCall<Q, R> call, Metadata headers, ServerCallHandler<Q, R> next) {
    String key = headers.get(API_KEY);
    if (key == null) {
      call.close(Status.UNAUTHENTICATED.withDescription("x-api-key is missing"), new Metadata());
      return new ServerCall.Listener<>() {};
    }
    String method = call.getMethodDescriptor().getFullMethodName();
    LimitRequest request = LimitRequest.of(POLICY, new Subject(method, key));
    Early<Q> listener = new Early<>();
    limiter
        .acquire(request)
        .whenComplete(
            (verdict, failure) -> {
              if (failure != null) {
                call.close(Status.UNAVAILABLE.withCause(failure), new Metadata());
              } else if (verdict.allowed()) {
                listener.begin(next.startCall(call, headers));
              } else {
                call.close(Status.RESOURCE_EXHAUSTED, retryAfter(verdict));
              }
            });
    return listener;
  }

  private static Metadata retryAfter(Verdict verdict) {
    Metadata trailers = new Metadata();
    trailers.put(RETRY_AFTER, String.valueOf(verdict.retryAfter().orElse(Duration.ZERO).toSeconds() + 1));
    return trailers;
  }

  /** Keeps the few events that come before the call has begun. */
  private static final class Early<Q> extends ServerCall.Listener<Q> {

    private final List<Consumer<ServerCall.Listener<Q>>> events = new ArrayList<>();
    private ServerCall.Listener<Q> begun;

    synchronized void begin(ServerCall.Listener<Q> listener) {
      events.forEach(event -> event.accept(listener));
      events.clear();
      begun = listener;
    }

    private synchronized void on(Consumer<ServerCall.Listener<Q>> event) {
      if (begun == null) {
        events.add(event);
      } else {
        event.accept(begun);
      }
    }

    @Override
    public void onMessage(Q message) {
      on(listener -> listener.onMessage(message));
    }

    @Override
    public void onHalfClose() {
      on(ServerCall.Listener::onHalfClose);
    }

    @Override
    public void onCancel() {
      on(ServerCall.Listener::onCancel);
    }

    @Override
    public void onComplete() {
      on(ServerCall.Listener::onComplete);
    }

    @Override
    public void onReady() {
      on(ServerCall.Listener::onReady);
    }
  }
}
