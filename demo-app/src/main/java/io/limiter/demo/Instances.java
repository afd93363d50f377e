// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.env.PropertySource;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.exceptions.HttpStatusException;
import io.micronaut.runtime.server.EmbeddedServer;
import jakarta.annotation.PreDestroy;
import jakarta.inject.Singleton;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * Further instances of the demo in this process, which listen on loopback only and share the Redis
 * of the first: a second one to see one limit over two, and one for each format of denials. Each is
 * started on demand, once, and stops when it was not used for {@link #IDLE}, or with the first.
 */
@Singleton
@Requires(missingProperty = Instances.BESIDE)
final class Instances {

  /** Set in further instances. */
  static final String BESIDE = "demo.beside";

  static final Duration IDLE = Duration.ofMinutes(10);

  private static final int BURST = 12;
  private static final int MAX_FORWARDED = 64;
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  /** Why an instance runs. */
  enum Kind {
    SECOND(Map.of()),
    PROBLEM(Map.of("limiter.denial.body", "problem")),
    TEMPLATE(
        Map.of(
            "limiter.denial.body",
            "template",
            "limiter.denial.template",
            Map.of(
                "code",
                "{code}",
                "msg",
                "{message}",
                "ok",
                false,
                "data",
                Map.of("retryAfter", "{retryAfter}", "rules", "{violated}"))));

    @SuppressWarnings("ImmutableEnumChecker") // Map.of
    private final Map<String, Object> settings;

    Kind(Map<String, Object> settings) {
      this.settings = settings;
    }

    /** The kind of this name, as paths and forms have it. */
    static Optional<Kind> of(String name) {
      for (Kind kind : values()) {
        if (kind.name().toLowerCase(Locale.ROOT).equals(name)) {
          return Optional.of(kind);
        }
      }
      return Optional.empty();
    }
  }

  private static final class Running {
    private final EmbeddedServer server;
    private volatile long usedAt = System.nanoTime();

    Running(EmbeddedServer server) {
      this.server = server;
    }
  }

  private final ApplicationContext first;
  private final Live live;
  private final Map<Kind, Running> running = new EnumMap<>(Kind.class);
  private final Semaphore forwarded = new Semaphore(MAX_FORWARDED);
  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  /** The calls that the first admitted and denied, then those of the second. */
  private final AtomicIntegerArray counts = new AtomicIntegerArray(4);

  private volatile boolean second;
  private volatile boolean observed;

  Instances(ApplicationContext first, Live live) {
    this.first = first;
    this.live = live;
    live.show(this::state);
  }

  private Map<String, Object> state() {
    return Map.of(
        "second",
        second,
        "observe",
        observed,
        "instances",
        List.of(counts.get(0), counts.get(1), counts.get(2), counts.get(3)));
  }

  /** Starts it and returns its address; at once if it runs. Blocks for a second or two. */
  synchronized URI start(Kind kind) {
    Running known = running.get(kind);
    if (known == null) {
      known = new Running(started(kind));
      running.put(kind, known);
      second = running.containsKey(Kind.SECOND);
      stopWhenIdle(kind, known, IDLE);
    }
    known.usedAt = System.nanoTime();
    return known.server.getURI();
  }

  private EmbeddedServer started(Kind kind) {
    Map<String, Object> settings = new LinkedHashMap<>();
    // Those that were given in code, such as the address of the demo's own Redis. All others come
    // from the same files and variables.
    for (PropertySource source : first.getEnvironment().getPropertySources()) {
      if (source.getName().equals(PropertySource.CONTEXT)) {
        source.forEach(name -> settings.put(name, source.get(name)));
      }
    }
    settings.putAll(kind.settings);
    settings.put("micronaut.server.host", "127.0.0.1");
    settings.put("micronaut.server.port", -1);
    settings.put("limiter.address.trusted-proxies", "127.0.0.1"); // the first forwards
    settings.put(BESIDE, kind.name());
    ApplicationContext context =
        ApplicationContext.builder(first.getEnvironment().getActiveNames().toArray(String[]::new))
            .deduceEnvironment(false)
            .singletons(live) // it shows the calls of all
            .properties(settings)
            .start();
    try {
      return context.getBean(EmbeddedServer.class).start();
    } catch (RuntimeException e) {
      context.close();
      throw e;
    }
  }

  private void stopWhenIdle(Kind kind, Running one, Duration check) {
    Executor later = CompletableFuture.delayedExecutor(check.toMillis(), TimeUnit.MILLISECONDS);
    later.execute(
        () -> {
          Duration left = IDLE.minusNanos(System.nanoTime() - one.usedAt);
          if (left.isNegative() || left.isZero()) {
            stop(kind, one);
          } else {
            stopWhenIdle(kind, one, left);
          }
        });
  }

  private synchronized void stop(Kind kind, Running one) {
    if (running.remove(kind, one)) {
      second = running.containsKey(Kind.SECOND);
      one.server.close();
    }
  }

  /** Stops it; nothing if it does not run. */
  synchronized void stop(Kind kind) {
    Running one = running.get(kind);
    if (one != null) {
      stop(kind, one);
    }
  }

  @PreDestroy
  synchronized void close() {
    for (Kind kind : Kind.values()) {
      stop(kind);
    }
  }

  synchronized boolean runs(Kind kind) {
    return running.containsKey(kind);
  }

  boolean observed() {
    return observed;
  }

  /** Makes the pages show whether all policies are only observed. */
  void showObserved(boolean all) {
    observed = all;
  }

  /** The addresses of the further instances that run. */
  synchronized List<URI> beside() {
    List<URI> all = new ArrayList<>();
    running.values().forEach(one -> all.add(one.server.getURI()));
    return all;
  }

  /** The first, by the address of the visitor's family, so that it counts the same subject. */
  URI own(InetAddress visitor) {
    int port = first.getBean(EmbeddedServer.class).getPort();
    return URI.create(
        "http://%s:%s".formatted(visitor instanceof Inet6Address ? "[::1]" : "127.0.0.1", port));
  }

  /** Twelve calls, by turns to the first and the second. Blocks until they are answered. */
  Map<String, Object> burst(String path, InetAddress visitor, String page) {
    URI other = start(Kind.SECOND);
    for (int i = 0; i < BURST; i++) {
      int place = i % 2 * 2;
      URI server = place == 0 ? own(visitor) : other;
      HttpRequest.Builder call =
          HttpRequest.newBuilder(server.resolve(path)).header(PageController.PAGE, page);
      if (place != 0) {
        call.header("X-Forwarded-For", visitor.getHostAddress());
      }
      int denied = send(call).join().statusCode() < 400 ? 0 : 1;
      counts.incrementAndGet(place + denied);
    }
    return state();
  }

  /** Sends a request to an instance, without waiting for the answer. */
  CompletableFuture<HttpResponse<String>> send(HttpRequest.Builder request) {
    if (!forwarded.tryAcquire()) {
      throw new HttpStatusException(
          HttpStatus.SERVICE_UNAVAILABLE, "The page has too many calls under way: wait a moment");
    }
    return client
        .sendAsync(request.timeout(PATIENCE).build(), BodyHandlers.ofString())
        .whenComplete((answer, failure) -> forwarded.release());
  }
}
