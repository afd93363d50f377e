// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.store.DelegatingStore;
import io.limiter.core.testing.RedisFixture;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.annotation.Replaces;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Order;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/** A store in front of the stores of the limiter takes one bean, which its order places. */
class StoreLayerTest {

  private static final String SPEC = "StoreLayerTest";

  private static HttpService start(Object... settings) {
    return HttpService.start(SPEC, HttpService.settings(settings));
  }

  private static HttpService startOverRedis() {
    return start(
        "redis.uri",
        RedisFixture.uri(),
        "limiter.redis.key-prefix",
        "layer" + UUID.randomUUID().toString().substring(0, 8) + ":",
        "limiter.redis.deadline",
        "10s",
        "limiter.redis.start-timeout",
        "10s",
        "limiter.deny-cache.enabled",
        true);
  }

  /** The third call is denied by the deny cache. */
  @Test
  void eachStandsWhereItsOrderPlacesIt() {
    try (HttpService service = startOverRedis()) {
      List<String> asked = service.bean(Asked.class).names;
      assertThat(service.status("/layers")).isEqualTo(200);
      assertThat(asked)
          .containsExactly("of any", "first", "behind the cache", "behind the fallback");
      assertThat(service.status("/layers")).isEqualTo(429);
      asked.clear();
      assertThat(service.status("/layers")).isEqualTo(429);
      assertThat(asked).containsExactly("of any", "first");
    }
  }

  @Test
  void oneForAnyStoreStandsInFrontOfMemory() {
    try (HttpService service = start()) {
      assertThat(service.status("/layers")).isEqualTo(200);
      assertThat(service.bean(Asked.class).names).containsExactly("of any");
    }
  }

  @Test
  void oneForAnyStoreStandsInFrontOfThatOfTheApplication() {
    try (HttpService service = start("test.own-store", true)) {
      assertThat(service.status("/layers")).isEqualTo(200);
      assertThat(service.bean(Asked.class).names).containsExactly("of any", "own");
    }
  }

  @Controller("/layers")
  @Requires(property = "spec.name", value = SPEC)
  static class Route {

    @Get
    @RateLimiter(rules = @RateRule(count = 1))
    String get() {
      return "ok";
    }
  }

  /** The layers, by name, that were asked to decide a call. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Asked {

    final List<String> names = new CopyOnWriteArrayList<>();

    LimitStore before(LimitStore store, String name) {
      return new DelegatingStore(store) {
        @Override
        public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
          names.add(name);
          return store.decide(request, mode);
        }
      };
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  record First(Asked asked) implements StoreLayer {

    @Override
    public LimitStore around(LimitStore store) {
      return asked.before(store, "first");
    }
  }

  @Singleton
  @Order(150)
  @Requires(property = "spec.name", value = SPEC)
  record BehindTheCache(Asked asked) implements StoreLayer {

    @Override
    public LimitStore around(LimitStore store) {
      return asked.before(store, "behind the cache");
    }
  }

  @Singleton
  @Order(350)
  @Requires(property = "spec.name", value = SPEC)
  record BehindTheFallback(Asked asked) implements StoreLayer {

    @Override
    public LimitStore around(LimitStore store) {
      return asked.before(store, "behind the fallback");
    }
  }

  @Singleton
  @Order(999)
  @Requires(property = "spec.name", value = SPEC)
  record OfAny(Asked asked) implements StoreLayer {

    @Override
    public LimitStore around(LimitStore store) {
      return asked.before(store, "of any");
    }

    @Override
    public boolean isForAny() {
      return true;
    }
  }

  @Singleton
  @Replaces(value = LimitStore.class, factory = LimitStoreFactory.class)
  @Requires(property = "spec.name", value = SPEC)
  @Requires(property = "test.own-store")
  static class Own extends DelegatingStore {

    Own(Asked asked) {
      super(asked.before(new MemoryStore(), "own"));
    }
  }
}
