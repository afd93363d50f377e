// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.core.Fallback;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.outage.FallbackCounts;
import io.limiter.core.outage.FallbackStore;
import io.limiter.micronaut.config.LimiterConfiguration;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.definition.PolicyMember;
import io.limiter.micronaut.redis.LimitStoreFactory;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Replaces;
import io.micronaut.context.env.PropertySource;
import io.micronaut.context.env.yaml.YamlPropertySourceLoader;
import io.micronaut.runtime.server.EmbeddedServer;
import jakarta.inject.Singleton;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * A service with the controllers of this package. Its clock stands still, so that an answer is the
 * same to the letter each time.
 */
final class DocsServer extends HttpService {

  private DocsServer(EmbeddedServer server) {
    super(server);
  }

  static DocsServer start(String yaml) {
    Map<String, Object> settings;
    try {
      settings =
          new YamlPropertySourceLoader()
              .read("docs", new ByteArrayInputStream(yaml.getBytes(StandardCharsets.UTF_8)));
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
    return new DocsServer(
        ApplicationContext.builder()
            .propertySources(
                PropertySource.of("docs.yml", settings, 1), // endpoints show this name
                PropertySource.of(Map.of("spec.name", "docs", "micronaut.server.port", -1)))
            .start()
            .getBean(EmbeddedServer.class)
            .start());
  }

  /** Forgets all calls. */
  void forget() {
    bean(Begun.class).begin();
  }

  HttpResponse<String> call(Exchange exchange) {
    String[] fields =
        exchange.fields().entrySet().stream()
            .flatMap(field -> Stream.of(field.getKey(), field.getValue()))
            .toArray(String[]::new);
    return exchange(exchange.method(), exchange.path(), exchange.body(), fields);
  }

  /** A bean of its own, since a store in front of the other may replace that. */
  @Singleton
  static class Begun {

    private final Function<Policy, Fallback> fallbacks;
    private final boolean away;
    private volatile LimitStore store;

    Begun(LimiterConfiguration configuration, PoliciesConfiguration policies) {
      fallbacks = policies.fallbacks(configuration.fallback());
      away =
          configuration.fallback() != Fallback.LOCAL
              || policies.current().policies().stream()
                  .anyMatch(
                      name -> policies.current().of(name).members().has(PolicyMember.FALLBACK));
      store = begun();
    }

    void begin() {
      store = begun();
    }

    /** Where a page describes what happens without Redis, there is none. */
    private LimitStore begun() {
      MemoryStore memory = new MemoryStore(1_000, () -> 0);
      if (!away) {
        return memory;
      }
      MemoryStore redis = new MemoryStore();
      redis.close();
      return new FallbackStore(redis, memory, fallbacks, new FallbackCounts());
    }
  }

  @Singleton
  @Replaces(value = LimitStore.class, factory = LimitStoreFactory.class)
  record StandingStill(Begun begun) implements LimitStore {

    @Override
    public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
      return begun.store.decide(request, mode);
    }

    @Override
    public CompletionStage<Void> reset(Collection<StateKey> keys) {
      return begun.store.reset(keys);
    }

    @Override
    public CompletionStage<Void> liftBans(Collection<StateKey> keys) {
      return begun.store.liftBans(keys);
    }

    @Override
    public void close() {
      begun.store.close();
    }
  }
}
