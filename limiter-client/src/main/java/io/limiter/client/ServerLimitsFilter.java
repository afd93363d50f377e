// SPDX-License-Identifier: Apache-2.0
package io.limiter.client;

import static java.util.concurrent.TimeUnit.NANOSECONDS;

import io.micronaut.core.annotation.Order;
import io.micronaut.core.order.Ordered;
import io.micronaut.http.BasicHttpAttributes;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpResponse;
import io.micronaut.http.MutableHttpRequest;
import io.micronaut.http.annotation.ClientFilter;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ResponseFilter;
import io.micronaut.http.client.exceptions.HttpClientResponseException;
import io.micronaut.scheduling.TaskExecutors;
import jakarta.inject.Named;
import java.net.URI;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Delays or rejects calls to servers that have asked for a pause. Waiting takes no thread; the call
 * continues on a thread that may block, since filters of the application follow.
 */
@ObeyRateLimits
@ClientFilter
@Order(
    Ordered.HIGHEST_PRECEDENCE) // filters that sign a request, or add a token, run after the wait
final class ServerLimitsFilter {

  private static final CompletionStage<Optional<HttpResponse<?>>> SEND =
      CompletableFuture.completedFuture(Optional.empty());

  private final ClientConfiguration configuration;
  private final ExecutorService executor;

  /** Those that have asked for a pause; a service has few. */
  private final Map<String, Server> servers = new ConcurrentHashMap<>();

  ServerLimitsFilter(
      ClientConfiguration configuration, @Named(TaskExecutors.BLOCKING) ExecutorService executor) {
    this.configuration = configuration;
    this.executor = executor;
  }

  /**
   * A pause.
   *
   * @param untilNanos its end
   * @param time its length, as the server has stated it
   */
  record Pause(long untilNanos, Duration time) {

    /**
     * How much later than its end one call is sent: never earlier, since the server denies it until
     * then.
     *
     * @param share the most, as a share of the pause
     */
    long laterNanos(double share, RandomGenerator random) {
      return (long) (random.nextDouble() * share * time.toNanos());
    }
  }

  /** The pause of one server, and how many calls wait for its end. */
  private static final class Server {

    final String name;
    volatile Pause pause = new Pause(System.nanoTime(), Duration.ZERO);
    final AtomicInteger waiting = new AtomicInteger();

    Server(String name) {
      this.name = name;
    }

    long pauseNanos() {
      return pause.untilNanos() - System.nanoTime();
    }

    synchronized void pause(Duration time) {
      Pause given = new Pause(System.nanoTime() + time.toNanos(), time);
      if (given.untilNanos() - pause.untilNanos() > 0) {
        pause = given;
      }
    }

    ServerRateLimitException rejection(String reason) {
      Duration pause = Duration.ofNanos(Math.max(0, pauseNanos()));
      return new ServerRateLimitException(
          "%s requires a pause of another %s ms: %s".formatted(name, pause.toMillis(), reason),
          pause);
    }
  }

  @RequestFilter
  CompletionStage<Optional<HttpResponse<?>>> before(MutableHttpRequest<?> request) {
    Server server = servers.get(name(request));
    if (server == null || server.pauseNanos() <= 0) {
      return SEND;
    }
    if (server.waiting.incrementAndGet() > configuration.maxWaiters()) {
      server.waiting.decrementAndGet();
      throw server.rejection(
          "the number of waiting calls has reached limiter.client.max-waiters = %s"
              .formatted(configuration.maxWaiters()));
    }
    CompletableFuture<Optional<HttpResponse<?>>> turn = new CompletableFuture<>();
    await(server, turn, System.nanoTime() + configuration.maxWait().toNanos());
    return turn.whenComplete((sent, rejected) -> server.waiting.decrementAndGet());
  }

  /** Waits again if the pause has become longer meanwhile. */
  private void await(
      Server server, CompletableFuture<Optional<HttpResponse<?>>> turn, long latestNanos) {
    long pause = server.pauseNanos();
    long left = latestNanos - System.nanoTime();
    if (pause <= 0) {
      turn.complete(Optional.empty());
    } else if (pause > left) {
      turn.completeExceptionally(
          server.rejection(
              "this is longer than limiter.client.max-wait = %s ms"
                  .formatted(configuration.maxWait().toMillis())));
    } else {
      long later = server.pause.laterNanos(configuration.jitter(), ThreadLocalRandom.current());
      CompletableFuture.delayedExecutor(Math.min(pause + later, left), NANOSECONDS, executor)
          .execute(() -> await(server, turn, latestNanos));
    }
  }

  /** A client reports a response of 400 and above as a failure. */
  @ResponseFilter
  void after(
      HttpRequest<?> request, @Nullable HttpResponse<?> response, @Nullable Throwable failure) {
    HttpResponse<?> received =
        failure instanceof HttpClientResponseException status ? status.getResponse() : response;
    Duration pause = received == null ? Duration.ZERO : StatedPause.of(received);
    if (!pause.isZero()) {
      Duration longest = configuration.maxRetryAfter();
      String name = name(request);
      Server server =
          servers.size() < configuration.maxServers()
              ? servers.computeIfAbsent(name, Server::new)
              : servers.get(name);
      if (server != null) {
        server.pause(pause.compareTo(longest) > 0 ? longest : pause);
      }
    }
  }

  private static String name(HttpRequest<?> request) {
    return BasicHttpAttributes.getServiceId(request)
        .filter(id -> !id.isEmpty() && !id.contains("/"))
        .orElseGet(
            () -> {
              URI uri = request.getUri();
              return uri.getScheme() + "://" + uri.getAuthority();
            });
  }
}
