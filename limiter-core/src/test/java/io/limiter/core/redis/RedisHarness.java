// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.limiter.core.StateKey;
import io.limiter.core.StoreHarness;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.HexFormat;
import java.util.Optional;

/** A store over Redis whose clock the test sets. */
interface RedisHarness extends StoreHarness {

  /** What each test sets the clock to when it begins. */
  long START_MICROS = 1_700_000_000_000_000L;

  TestRedis redis();

  @Override
  default void advance(Duration duration) {
    redis().setClock(redis().clock() + MICROSECONDS.convert(duration));
  }

  @Override
  default Instant now() {
    return Instant.EPOCH.plus(redis().clock(), ChronoUnit.MICROS);
  }

  @Override
  default Optional<String> stored(StateKey key) {
    return Optional.ofNullable(redis().commands().get(redis().name(key)))
        .map(HexFormat.of()::formatHex);
  }
}
