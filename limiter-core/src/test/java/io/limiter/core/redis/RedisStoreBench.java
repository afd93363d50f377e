// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.LimitStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** A store over Redis for each test, whose clock the test sets. */
abstract class RedisStoreBench implements RedisHarness {
  final TestRedis redis = new TestRedis();
  final LimitStore store = redis.store();

  @BeforeEach
  void begin() {
    redis.setClock(START_MICROS);
  }

  @AfterEach
  void close() {
    store.close();
    redis.close();
  }

  @Override
  public LimitStore store() {
    return store;
  }

  @Override
  public TestRedis redis() {
    return redis;
  }
}
