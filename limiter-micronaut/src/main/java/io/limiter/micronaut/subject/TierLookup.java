// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.limiter.core.util.LogThrottle;
import io.limiter.core.util.RotatingSearch;
import io.limiter.micronaut.annotation.Tiers;
import io.limiter.micronaut.config.CallerConfiguration.TierLookupConfiguration;
import io.limiter.micronaut.thread.LimiterTimer;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Internal;
import io.micronaut.http.HttpRequest;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Asks for the tiers of callers, and remembers them for some time, as many as configured. */
@Internal
@Singleton
@Requires(beans = Tiers.class)
public final class TierLookup {

  /** The default tier. */
  public static final CompletableFuture<Optional<String>> USUAL =
      CompletableFuture.completedFuture(Optional.empty());

  private static final Logger LOG = LoggerFactory.getLogger(Tiers.class);

  /** The most characters of a header that names a caller; a longer one is no key. */
  private static final int MAX_VALUE = 512;

  private final Tiers tiers;
  private final TierLookupConfiguration configuration;
  private final LimiterTimer timer;
  private final LogThrottle throttle = new LogThrottle();
  // Bounded by the cache size of the configuration.
  private final ConcurrentMap<String, KnownTier> known = new ConcurrentHashMap<>();
  private final RotatingSearch<KnownTier> expired = new RotatingSearch<>(known);

  private record KnownTier(CompletableFuture<Optional<String>> tier, long untilNanos) {}

  TierLookup(Tiers tiers, TierLookupConfiguration configuration, LimiterTimer timer) {
    this.tiers = tiers;
    this.configuration = configuration;
    this.timer = timer;
  }

  /** The tier of the caller of this request; empty for the default tier. It never fails. */
  public CompletableFuture<Optional<String>> of(HttpRequest<?> request) {
    String caller;
    try {
      caller = caller(request);
    } catch (Throwable failure) {
      report(failure);
      return USUAL;
    }
    if (caller == null) {
      return USUAL;
    }
    long nowNanos = System.nanoTime();
    KnownTier before = known.get(caller);
    if (before != null && before.untilNanos - nowNanos > 0) {
      return before.tier;
    }
    CompletableFuture<Optional<String>> asked = ask(request);
    CompletableFuture<Optional<String>> tier = asked.exceptionally(failed -> Optional.empty());
    remember(caller, new KnownTier(tier, nowNanos + configuration.cacheTime().toNanos()), nowNanos);
    var unused =
        asked.whenComplete(
            (found, failure) -> {
              if (failure != null) { // the next call asks again
                known.computeIfPresent(caller, (name, kept) -> kept.tier == tier ? null : kept);
              }
            });
    return tier;
  }

  /** The name of a caller; null if it has the default tier. */
  private @Nullable String caller(HttpRequest<?> request) {
    List<String> headers = configuration.headers();
    if (headers.isEmpty()) {
      return tiers.caller(request).orElse(null);
    }
    StringBuilder caller = new StringBuilder();
    for (String header : headers) {
      List<String> lines = request.getHeaders().getAll(header);
      // With two lines the bean might go by the other one, and its tier be that of a stranger.
      String value = lines.size() == 1 ? lines.get(0) : "";
      if (value.isBlank() || value.length() > MAX_VALUE) {
        return null;
      }
      caller.append(value).append('\n'); // which no value contains
    }
    return caller.toString();
  }

  /**
   * The tier that is remembered of a caller; empty if it has the default tier or is not known.
   *
   * @param caller its name, as {@link Tiers#caller} gives it, or the values of the headers that
   *     name it, each before a line break
   */
  public Optional<String> remembered(String caller) {
    KnownTier tier = known.get(caller);
    return tier == null ? Optional.empty() : tier.tier.getNow(Optional.empty());
  }

  private void remember(String caller, KnownTier tier, long nowNanos) {
    if (known.size() >= configuration.cacheSize() && !known.containsKey(caller)) {
      expired.removeSome(old -> old.untilNanos - nowNanos <= 0);
      if (known.size() >= configuration.cacheSize()) {
        return;
      }
    }
    known.put(caller, tier);
  }

  private CompletableFuture<Optional<String>> ask(HttpRequest<?> request) {
    CompletableFuture<Optional<String>> tier = new CompletableFuture<>();
    CompletionStage<String> asked;
    try {
      asked = tiers.of(request);
    } catch (Throwable failure) {
      fail(tier, failure);
      return tier;
    }
    if (asked == null) {
      fail(
          tier,
          new IllegalStateException(
              "%s returned null: let of() return a stage".formatted(tiers.getClass().getName())));
      return tier;
    }
    var unused =
        asked.whenComplete(
            (name, failure) -> {
              if (failure == null) {
                tier.complete(Optional.ofNullable(name));
              } else {
                fail(tier, failure);
              }
            });
    if (!tier.isDone()) {
      Future<?> due =
          timer.schedule(
              () ->
                  fail(
                      tier,
                      new IllegalStateException(
                          "No tier within " + configuration.timeout().toMillis() + " ms")),
              configuration.timeout().toNanos());
      var ignored = tier.whenComplete((found, failure) -> due.cancel(false));
    }
    return tier;
  }

  private void fail(CompletableFuture<Optional<String>> tier, Throwable failure) {
    if (tier.completeExceptionally(failure)) {
      report(failure);
    }
  }

  private void report(Throwable failure) {
    throttle.report(LOG, "The tier of a caller is unknown, so the default tier applies", failure);
  }
}
