// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.faults;

import io.lettuce.core.RedisClient;
import io.lettuce.core.ScanIterator;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

/** What is stored in a Redis that only one service uses. */
final class KeysOfRedis implements AutoCloseable {

  /** As PTTL answers of a key that stays. */
  private static final long NEVER = -1;

  private final RedisClient client;
  private final StatefulRedisConnection<String, String> connection;

  KeysOfRedis(String uri) {
    client = RedisClient.create(uri);
    connection = client.connect();
  }

  /** How many there are. */
  long all() {
    return connection.sync().dbsize();
  }

  List<String> withoutExpiry() {
    Stream<String> keys = ScanIterator.scan(connection.sync()).stream();
    return keys.filter(key -> connection.sync().pttl(key) == NEVER).toList();
  }

  @Override
  public void close() {
    connection.close();
    client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
  }
}
