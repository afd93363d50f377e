// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.limiter.core.Key;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.LimitStoreContract;
import io.limiter.core.Limiter;
import io.limiter.core.Readings;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MemoryStoreTest implements LimitStoreContract {

  private long clock = 1;
  private final MemoryStore store = new MemoryStore(1_000, () -> clock);

  @Override
  public LimitStore store() {
    return store;
  }

  @Override
  public void advance(Duration duration) {
    clock += Readings.micros(duration);
  }

  @Override
  public Optional<String> stored(Key key) {
    return store.dump(key);
  }

  @ParameterizedTest
  @ValueSource(longs = {0, -1, Long.MIN_VALUE, -30_000_000, Long.MAX_VALUE - 90_000_000})
  void theClockMayStartAnywhereAndWrapAround(long start) {
    clock = start;
    LimitRequest call = call(rule(2, MINUTE));
    for (int i = 0; i < 10; i++) {
      assertAllowed(call);
      advance(SECOND.multipliedBy(15));
      assertAllowed(call);
      advance(SECOND.multipliedBy(44));
      assertThat(acquire(call).retryAfter()).contains(SECOND);
      advance(MINUTE);
    }
  }

  @Test
  void everyStageIsComplete() {
    LimitRequest call = call(rule(2, MINUTE));
    Limiter limiter = new Limiter(store);
    assertComplete(limiter.acquire(call));
    assertComplete(limiter.refund(limiter.peek(call).toCompletableFuture().join()));
    assertComplete(limiter.reset(call));
  }

  private static void assertComplete(CompletionStage<?> stage) {
    assertThat(stage.toCompletableFuture()).isCompleted();
  }

  @Test
  void theDefaultClockRuns() {
    try (MemoryStore fresh = new MemoryStore()) {
      Limiter limiter = new Limiter(fresh);
      LimitRequest call = call(rule(1, MINUTE));
      assertThat(limiter.acquire(call).toCompletableFuture().join().allowed()).isTrue();
      Duration wait = limiter.peek(call).toCompletableFuture().join().retryAfter().orElseThrow();
      assertThat(wait).isPositive().isLessThanOrEqualTo(MINUTE);
    }
  }

  @Test
  void aStoreForNobodyIsRefused() {
    assertThatThrownBy(() -> new MemoryStore(0))
        .hasMessage("A memory store for 0 subjects: give it room for 1 or more");
  }
}
