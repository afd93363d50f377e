// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpHeaders;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.exceptions.HttpStatusException;
import io.micronaut.json.JsonMapper;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/** Very many calls of the one subject of {@link HotController}, by turns to two instances. */
@Singleton
@Requires(missingProperty = Instances.BESIDE)
final class Flood {

  /** The policy, and the card. */
  static final String HOT = "hot";

  /** More than the limit admits. */
  static final int CALLS = 2_600;

  static final int AT_ONCE = 32;

  /** Its leases have ended then: the next call gives back what is left, and all is counted. */
  private static final Duration PAUSE = Duration.ofMillis(200);

  private final Instances instances;
  private final JsonMapper json;
  private final AtomicBoolean running = new AtomicBoolean();

  Flood(Instances instances, JsonMapper json) {
    this.instances = instances;
    this.json = json;
  }

  /** One instance, and how many of its calls each decider has admitted; or {@code denied}. */
  private record Flooded(URI instance, Map<String, Integer> calls) {

    void count(HttpResponse<String> answer) {
      String decidedBy = answer.headers().firstValue("X-Decided-By").orElse("other");
      String what = answer.statusCode() < 400 ? decidedBy.split(" ", 2)[0] : "denied";
      calls.merge(what.toLowerCase(Locale.ROOT), 1, Integer::sum);
    }
  }

  /**
   * What has decided the calls of each of two instances, and the units of its leases until now.
   * Blocks until all calls are answered.
   *
   * @throws HttpStatusException 503, while another flood is under way
   */
  List<Map<String, Object>> run(URI first, URI second) {
    if (!running.compareAndSet(false, true)) {
      throw new HttpStatusException(HttpStatus.SERVICE_UNAVAILABLE, "A flood is under way");
    }
    try {
      List<Flooded> both =
          List.of(
              new Flooded(first, new ConcurrentHashMap<>()),
              new Flooded(second, new ConcurrentHashMap<>()));
      send(CALLS, both);
      LockSupport.parkNanos(PAUSE.toNanos());
      send(both.size(), both);
      return both.stream().map(this::view).toList();
    } finally {
      running.set(false);
    }
  }

  private void send(int calls, List<Flooded> both) {
    Semaphore free = new Semaphore(AT_ONCE);
    for (int i = 0; i < calls; i++) {
      free.acquireUninterruptibly();
      Flooded one = both.get(i % both.size());
      var unused =
          instances
              .send(HttpRequest.newBuilder(one.instance.resolve("/" + HOT)))
              .whenComplete(
                  (answer, failure) -> {
                    if (answer != null) {
                      one.count(answer);
                    }
                    free.release();
                  });
    }
    free.acquireUninterruptibly(AT_ONCE);
  }

  private Map<String, Object> view(Flooded one) {
    Map<String, Object> view = new TreeMap<>(one.calls);
    HttpRequest.Builder limits =
        HttpRequest.newBuilder(one.instance.resolve("/limits/" + HOT))
            .header(HttpHeaders.AUTHORIZATION, Operators.BASIC);
    try {
      Map<?, ?> policy = json.readValue(instances.send(limits).join().body(), Map.class);
      view.put("units", policy.get("lease"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return view;
  }
}
