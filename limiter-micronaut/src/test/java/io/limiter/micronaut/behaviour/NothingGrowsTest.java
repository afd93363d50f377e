// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Prototype;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Header;
import io.micronaut.inject.qualifiers.Qualifiers;
import io.micronaut.runtime.context.scope.Refreshable;
import io.micronaut.runtime.context.scope.ThreadLocal;
import io.micronaut.runtime.http.scope.RequestScope;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import jakarta.inject.Named;
import jakarta.inject.Singleton;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Requests of invented callers, half of which are denied, to limited methods of beans of every
 * scope: no map, queue or cache of the limiter grows beyond its bound, and neither does the heap.
 * As many as {@code -Dlimiter.requests} has, 30,000 by default.
 */
@Tag("matrix")
class NothingGrowsTest {

  private static final String SPEC = "NothingGrowsTest";
  private static final int REQUESTS = Integer.getInteger("limiter.requests", 30_000);
  private static final int FIRST = 10_000;

  /** Of each store, of what is known for the fallback, and of the deny cache. */
  private static final int BOUND = 500;

  private static final int AT_ONCE = 32;
  private static final long MEGABYTE = 1 << 20;
  private static final long PATIENCE_MILLIS = 20_000;

  private static final List<String> PATHS =
      List.of(
          "/growing/header",
          "/growing/argument",
          "/growing/twice",
          "/growing/failures",
          "/growing/bean/singleton",
          "/growing/bean/prototype",
          "/growing/bean/request",
          "/growing/bean/thread",
          "/growing/bean/refreshable",
          "/growing-prototype",
          "/growing-request");

  /** A limited method in a bean of each scope. */
  abstract static class Limited {
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 1, time = 60))
    String call(String who) {
      return who;
    }
  }

  @Singleton
  @Named("singleton")
  @Requires(property = "spec.name", value = SPEC)
  static class SingletonBean extends Limited {}

  @Prototype
  @Named("prototype")
  @Requires(property = "spec.name", value = SPEC)
  static class PrototypeBean extends Limited {}

  @RequestScope
  @Named("request")
  @Requires(property = "spec.name", value = SPEC)
  static class RequestBean extends Limited {}

  @ThreadLocal
  @Named("thread")
  @Requires(property = "spec.name", value = SPEC)
  static class ThreadBean extends Limited {}

  @Refreshable
  @Named("refreshable")
  @Requires(property = "spec.name", value = SPEC)
  static class RefreshableBean extends Limited {}

  @Controller("/growing")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    private final ApplicationContext context;

    Routes(ApplicationContext context) {
      this.context = context;
    }

    @Get("/header")
    @RateRule(count = 1, time = 60, header = "X-Who")
    String header() {
      return "ok";
    }

    @Get("/argument")
    @RateRule(
        count = 1_000_000,
        time = 60,
        limitType = LimitType.GLOBAL,
        algorithm = Algorithm.FIXED_WINDOW)
    @RateLimiter(subject = "#{who}", rules = @RateRule(count = 1, time = 60))
    String argument(@Header("X-Who") String who) {
      return who;
    }

    @Get("/twice")
    @RateLimiter(preventDuplicate = true, duplicate = @Duplicate(key = "#{who}"))
    String twice(@Header("X-Who") String who) {
      return who;
    }

    @Get("/failures")
    @RateRule(count = 1, time = 60, counts = Counts.FAILURES, header = "X-Who")
    String failures() {
      throw new IllegalStateException("as always");
    }

    @Get("/bean/{scope}")
    @ExecuteOn(TaskExecutors.BLOCKING)
    String bean(String scope, @Header("X-Who") String who) {
      return context.getBean(Limited.class, Qualifiers.byName(scope)).call(who);
    }
  }

  @Prototype
  @Controller("/growing-prototype")
  @Requires(property = "spec.name", value = SPEC)
  static class PrototypeRoutes {
    @Get
    @RateRule(count = 1, time = 60, header = "X-Who")
    String get() {
      return "ok";
    }
  }

  @RequestScope
  @Controller("/growing-request")
  @Requires(property = "spec.name", value = SPEC)
  static class RequestRoutes {
    @Get
    @RateRule(count = 1, time = 60, header = "X-Who")
    String get() {
      return "ok";
    }
  }

  @Test
  void whatIsKnownOfInventedCallersHasABound() throws Exception {
    try (TestServer server =
        TestServer.start(
            SPEC,
            Map.of("limiter.memory.max-subjects", BOUND, "limiter.deny-cache.max-size", BOUND))) {
      call(server, 0, FIRST);
      Map<String, Integer> sizes = sizes(server);
      long heap = heap();

      int denied = call(server, FIRST, REQUESTS);

      assertThat(denied).as("of each two of one caller one").isGreaterThan((REQUESTS - FIRST) / 3);
      long more = heap() - heap;
      assertThat(sizes(server))
          .as("sizes, of all objects that a field belongs to the largest; before: %s", sizes)
          .allSatisfy(
              (field, size) ->
                  assertThat(size)
                      .as(field)
                      .isLessThanOrEqualTo(
                          Math.max(BOUND + 64, sizes.getOrDefault(field, 0) + 32)));
      assertThat(more / MEGABYTE).as("MB more on the heap").isLessThan(10);
    }
  }

  /** Each caller calls twice, one path. Returns how many were denied. */
  private static int call(TestServer server, int from, int to) throws InterruptedException {
    Semaphore free = new Semaphore(AT_ONCE);
    int[] denied = {0};
    for (int i = from; i < to; i++) {
      int caller = i / 2;
      free.acquire();
      var unused =
          server
              .getAsync(PATHS.get(caller % PATHS.size()), "X-Who", "caller-" + caller)
              .whenComplete(
                  (answer, failure) -> {
                    synchronized (denied) {
                      denied[0] += answer != null && answer.statusCode() / 100 == 4 ? 1 : 0;
                    }
                    free.release();
                  });
    }
    free.acquire(AT_ONCE);
    return denied[0];
  }

  private static long heap() throws InterruptedException {
    MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
    long least = Long.MAX_VALUE;
    for (int i = 0; i < 4; i++) {
      collect();
      least = Math.min(least, memory.getHeapMemoryUsage().getUsed());
    }
    return least;
  }

  /** Returns once the collector has cleared a weak reference, and so all that it found. */
  private static void collect() throws InterruptedException {
    ReferenceQueue<Object> cleared = new ReferenceQueue<>();
    WeakReference<Object> garbage = new WeakReference<>(new Object(), cleared);
    System.gc();
    assertThat((Object) cleared.remove(PATIENCE_MILLIS)).isSameAs(garbage);
  }

  /** The sizes of all maps, collections and arrays that beans of the limiter have, by field. */
  private static Map<String, Integer> sizes(TestServer server) throws InterruptedException {
    collect(); // what is only weakly held goes
    for (int i = 0; i < 500; i++) { // methods that are gone leave their map with the next ones
      server.get("/growing/bean/prototype", "X-Who", "somebody");
    }
    Map<String, Integer> sizes = new TreeMap<>();
    Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    Deque<Object> open = new ArrayDeque<>();
    server.context().getActiveBeanRegistrations(Object.class).stream()
        .map(registration -> (Object) registration.getBean())
        .filter(NothingGrowsTest::isOurs)
        .forEach(open::add);
    assertThat(open).hasSizeGreaterThan(30);
    while (!open.isEmpty()) {
      Object object = open.poll();
      if (!seen.add(object)) {
        continue;
      }
      for (Class<?> type = object.getClass(); type != null; type = type.getSuperclass()) {
        if (type.getName().startsWith("io.limiter.")) {
          for (Field field : type.getDeclaredFields()) {
            Object value = Modifier.isStatic(field.getModifiers()) ? null : value(field, object);
            look(value, type.getName() + "." + field.getName(), sizes, open);
          }
        }
      }
    }
    return sizes;
  }

  private static void look(
      Object value, String place, Map<String, Integer> sizes, Deque<Object> open) {
    if (value instanceof Map<?, ?> map) {
      sizes.merge(place, map.size(), Math::max);
      map.forEach(
          (key, one) -> {
            look(key, place + "[key]", sizes, open);
            look(one, place + "[]", sizes, open);
          });
    } else if (value instanceof Collection<?> all) {
      sizes.merge(place, all.size(), Math::max);
      all.forEach(one -> look(one, place + "[]", sizes, open));
    } else if (value instanceof Object[] all) {
      sizes.merge(place, all.length, Math::max);
      Arrays.stream(all).forEach(one -> look(one, place + "[]", sizes, open));
    } else if (value instanceof Optional<?> optional) {
      optional.ifPresent(one -> look(one, place, sizes, open));
    } else if (value instanceof AtomicReference<?> reference) {
      look(reference.get(), place, sizes, open);
    } else if (value instanceof CompletableFuture<?> future && !future.isCompletedExceptionally()) {
      look(future.getNow(null), place, sizes, open);
    } else if (value != null && isOurs(value)) {
      open.add(value);
    }
  }

  private static boolean isOurs(Object object) {
    return object.getClass().getName().startsWith("io.limiter.");
  }

  private static Object value(Field field, Object object) {
    try {
      ((AccessibleObject) field).setAccessible(true);
      return field.get(object);
    } catch (IllegalAccessException e) {
      throw new AssertionError(e);
    }
  }
}
