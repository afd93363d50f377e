// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.exception.RateLimitExceededException;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.async.propagation.ReactorPropagation;
import io.micronaut.core.propagation.PropagatedContext;
import io.micronaut.http.HttpMethod;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.context.ServerHttpRequestContext;
import io.micronaut.http.context.ServerRequestContext;
import io.micronaut.http.simple.SimpleHttpRequest;
import jakarta.inject.Singleton;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;

/** The caller of a method that returns a Publisher is who subscribes to that. */
class PublisherCallersTest {

  private static final String SPEC = "PublisherCallersTest";
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  @AutoClose private final ApplicationContext context = Starts.inMemory(SPEC);
  private final Bean bean = context.getBean(Bean.class);

  /** Each method gives the name of the request that its code finds. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Bean {

    private static String found() {
      return ServerRequestContext.currentRequest().map(PublisherCallersTest::name).orElse("none");
    }

    @RateLimiter(header = "X-Name", rules = @RateRule(count = 1, time = 60))
    Mono<String> mono() {
      return Mono.just(found());
    }

    @RateLimiter(header = "X-Name", rules = @RateRule(count = 1, time = 60))
    Mono<String> deferred() {
      return Mono.fromSupplier(Bean::found);
    }

    @RateLimiter(header = "X-Name", rules = @RateRule(count = 1, time = 60))
    Flux<String> flux() {
      return Flux.just(found());
    }

    @RateLimiter(header = "X-Name", rules = @RateRule(count = 1, time = 60))
    Publisher<String> publisher() {
      return Flux.defer(() -> Flux.just(found()));
    }
  }

  enum Kind {
    MONO(Bean::mono),
    DEFERRED(Bean::deferred),
    FLUX(Bean::flux),
    PUBLISHER(Bean::publisher);

    final Function<Bean, Publisher<String>> method;

    Kind(Function<Bean, Publisher<String>> method) {
      this.method = method;
    }
  }

  private static HttpRequest<?> request(String name) {
    return new SimpleHttpRequest<>(HttpMethod.GET, "/", null).header("X-Name", name);
  }

  private static <T> T with(HttpRequest<?> request, Supplier<T> code) {
    return ServerRequestContext.with(request, code);
  }

  private static String name(HttpRequest<?> request) {
    return String.valueOf(request.getHeaders().get("X-Name"));
  }

  private Publisher<String> made(Kind kind, String name) {
    return with(request(name), () -> kind.method.apply(bean));
  }

  private static String subscribed(Publisher<String> publisher) {
    return Flux.from(publisher).blockLast(PATIENCE);
  }

  private static String subscribed(Publisher<String> publisher, String name) {
    return with(request(name), () -> subscribed(publisher));
  }

  @ParameterizedTest
  @EnumSource
  void eachSubscriptionCountsItsOwnRequest(Kind kind) {
    Publisher<String> made = made(kind, "a");

    assertThat(subscribed(made, "b")).isEqualTo("b");
    assertThat(subscribed(made, "c")).isEqualTo("c");
    assertThatThrownBy(() -> subscribed(made, "b")).isInstanceOf(RateLimitExceededException.class);
    assertThat(subscribed(made(kind, "a"), "a")).as("a has called nothing yet").isEqualTo("a");
  }

  @ParameterizedTest
  @EnumSource
  void aRequestInTheContextOfTheSubscriberGoesBefore(Kind kind) {
    Publisher<String> made = made(kind, "a");

    assertThat(
            subscribed(
                Flux.from(made)
                    .contextWrite(written -> written.put(ServerRequestContext.KEY, request("b")))
                    .subscribeOn(Schedulers.boundedElastic())))
        .isEqualTo("b");
    assertThat(
            subscribed(
                Flux.from(made)
                    .contextWrite(
                        written ->
                            ReactorPropagation.addPropagatedContext(
                                written,
                                PropagatedContext.empty()
                                    .plus(new ServerHttpRequestContext(request("c")))))
                    .subscribeOn(Schedulers.boundedElastic()),
                "d"))
        .isEqualTo("c");
  }

  @ParameterizedTest
  @EnumSource
  void aSubscriptionWithoutARequestCountsThatOfTheCall(Kind kind) throws Exception {
    Publisher<String> made = made(kind, "a");

    assertThat(CompletableFuture.supplyAsync(() -> subscribed(made)).get()).isEqualTo("a");
    assertThatThrownBy(() -> subscribed(made)).isInstanceOf(RateLimitExceededException.class);
    assertThatThrownBy(() -> subscribed(made, "a")).isInstanceOf(RateLimitExceededException.class);
  }

  @ParameterizedTest
  @EnumSource
  void aPublisherMadeOutsideOfARequestCountsThatOfItsSubscriber(Kind kind) {
    Publisher<String> made = kind.method.apply(bean);

    assertThat(subscribed(made, "b")).isEqualTo("b");
    assertThatThrownBy(() -> subscribed(made))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("outside of an HTTP request");
  }

  /** Else a stored one would keep the first request for as long as it is stored itself. */
  @ParameterizedTest
  @EnumSource
  void aPublisherWithALaterSubscriberDoesNotKeepTheRequestOfItsCall(Kind kind) {
    HttpRequest<?> first = request("a");
    WeakReference<HttpRequest<?>> kept = new WeakReference<>(first);
    Publisher<String> made = with(first, () -> kind.method.apply(bean));
    first = null;
    assertThat(subscribed(made, "b")).isEqualTo("b");

    await()
        .atMost(PATIENCE)
        .until(
            () -> {
              System.gc();
              return kept.get() == null;
            });
    assertThatThrownBy(() -> subscribed(made)).hasMessageContaining("outside of an HTTP request");
    assertThat(subscribed(made, "c")).isEqualTo("c");
  }
}
