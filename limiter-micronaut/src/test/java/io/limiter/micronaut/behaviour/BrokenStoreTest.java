// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.outage.FallbackStore;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.redis.LimitStoreFactory;
import io.limiter.micronaut.testing.StoreDecorator;
import io.micronaut.context.annotation.Replaces;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.annotation.Value;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import jakarta.inject.Singleton;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Flux;

/** An application's own store violates its contract: no call is admitted, and no call hangs. */
class BrokenStoreTest {

  private static final String SPEC = "BrokenStoreTest";

  @ParameterizedTest
  @ValueSource(
      strings = {
        "THROWS",
        "THROWS_ERROR",
        "THROWS_STORE_EXCEPTION",
        "FAILS",
        "FAILS_LATE",
        "NULL_STAGE",
        "NULL_VERDICT",
        "NULL_VERDICT_LATE"
      })
  void noCallIsAdmitted(Flaw flaw) {
    try (TestServer server = start(flaw, false);
        LoggedWarnings warnings = LoggedWarnings.begin()) {
      for (String path : new String[] {"/sync", "/stage", "/flux", "/argument?who=a"}) {
        assertThat(server.get("/broken-store" + path).statusCode())
            .as("%s %s", flaw, path)
            .isEqualTo(500);
      }
      assertThat(warnings.unhandled())
          .hasSize(4)
          .allSatisfy(line -> assertThat(line).contains(flaw.message));
      assertThat(server.bean(Routes.class).entered).hasValue(0);
    }
  }

  /** As {@code docs/resilience.md} advises. */
  @ParameterizedTest
  @CsvSource({"THROWS_STORE_EXCEPTION", "FAILS", "FAILS_LATE"})
  void behindAFallbackItsFailuresAreThoseOfAnyStore(Flaw flaw) {
    try (TestServer server = start(flaw, true)) {
      assertThat(server.get("/broken-store/sync").statusCode()).isEqualTo(200);
      assertThat(server.get("/broken-store/sync").statusCode()).isEqualTo(429);
    }
  }

  private static TestServer start(Flaw flaw, boolean fallback) {
    return TestServer.start(SPEC, Map.of("test.flaw", flaw, "test.fallback", fallback));
  }

  /** What it does in place of deciding. */
  enum Flaw {
    THROWS("IllegalStateException: a defect"),
    THROWS_ERROR("AssertionError: a defect"),
    THROWS_STORE_EXCEPTION("StoreException: away"),
    FAILS("StoreException: away"),
    FAILS_LATE("StoreException: away"),
    NULL_STAGE(
        "returned null for the decision on io.limiter.micronaut.behaviour.BrokenStoreTest$Routes."),
    NULL_VERDICT("The store returned no verdict on io.limiter.micronaut.behaviour.BrokenStoreTest"),
    NULL_VERDICT_LATE(
        "The store returned no verdict on io.limiter.micronaut.behaviour.BrokenStoreTest");

    final String message;

    Flaw(String message) {
      this.message = message;
    }

    CompletionStage<Verdict> decide() {
      StoreException away = new StoreException(FailureReason.ERROR, "away", null);
      return switch (this) {
        case THROWS -> throw new IllegalStateException("a defect");
        case THROWS_ERROR -> throw new AssertionError("a defect");
        case THROWS_STORE_EXCEPTION -> throw away;
        case FAILS -> CompletableFuture.failedFuture(away);
        case FAILS_LATE ->
            CompletableFuture.supplyAsync(
                () -> {
                  throw away;
                });
        case NULL_STAGE -> null;
        case NULL_VERDICT -> CompletableFuture.completedFuture(null);
        case NULL_VERDICT_LATE -> CompletableFuture.supplyAsync(() -> null);
      };
    }
  }

  @Singleton
  @Replaces(value = LimitStore.class, factory = LimitStoreFactory.class)
  @Requires(property = "spec.name", value = SPEC)
  static class OwnStore extends StoreDecorator {

    OwnStore(@Value("${test.flaw}") Flaw flaw, @Value("${test.fallback}") boolean fallback) {
      super(fallback ? new FallbackStore(new Flawed(flaw), new MemoryStore()) : new Flawed(flaw));
    }

    @Override
    public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
      return mode == Mode.PEEK
          ? new MemoryStore().decide(request, mode) // the start looks at it
          : store.decide(request, mode);
    }
  }

  private record Flawed(Flaw flaw) implements LimitStore {

    @Override
    public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
      return flaw.decide();
    }

    @Override
    public CompletionStage<Void> reset(Collection<StateKey> keys) {
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public void close() {}
  }

  @Controller("/broken-store")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    final AtomicInteger entered = new AtomicInteger();

    @Get("/sync")
    @RateRule(count = 1)
    String sync() {
      return entered();
    }

    @Get("/stage")
    @RateRule(count = 1)
    CompletionStage<String> stage() {
      return CompletableFuture.completedFuture(entered());
    }

    @Get("/flux")
    @RateRule(count = 1)
    Flux<String> flux() {
      return Flux.defer(() -> Flux.just(entered()));
    }

    @Get("/argument")
    @RateLimiter(subject = "#{T(java.util.Objects).toString(who)}", rules = @RateRule(count = 1))
    String argument(@QueryValue String who) {
      return entered();
    }

    private String entered() {
      entered.incrementAndGet();
      return "ok";
    }
  }
}
