// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.limiter.core.LimitRequest;
import io.limiter.core.redis.AuditedStore;
import java.time.Duration;

/** Another client, which writes under the limiter's keys. */
final class KeyWriter implements AutoCloseable {

  private final RedisClient client;
  private final RedisCommands<byte[], byte[]> redis;

  KeyWriter(String uri) {
    client = RedisClient.create(uri);
    redis = client.connect(ByteArrayCodec.INSTANCE).sync();
  }

  byte[] read(LimitRequest call) {
    return redis.get(AuditedStore.name(call.charge(0).key()));
  }

  void write(LimitRequest call, byte[] value) {
    redis.set(AuditedStore.name(call.charge(0).key()), value);
  }

  @Override
  public void close() {
    client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
  }
}
