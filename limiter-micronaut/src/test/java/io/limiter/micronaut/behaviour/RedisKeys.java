// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import io.lettuce.core.RedisClient;
import io.lettuce.core.ScanArgs;
import io.lettuce.core.ScanIterator;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.codec.StringCodec;
import io.limiter.core.testing.RedisFixture;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Map;
import java.util.TreeMap;

/** What one test's limiter has stored: the keys under its own prefix. */
final class RedisKeys implements AutoCloseable {

  /** Redis 6.2 has no PEXPIRETIME. */
  private static final String EXPIRY =
      """
      local time, left = redis.call('TIME'), redis.call('PTTL', KEYS[1])
      return left < 0 and left or time[1] * 1000 + math.floor(time[2] / 1000) + left
      """;

  private final String prefix;
  private final RedisClient client = RedisClient.create(RedisFixture.uri());
  private final StatefulRedisConnection<String, byte[]> connection =
      client.connect(RedisCodec.of(StringCodec.UTF8, ByteArrayCodec.INSTANCE));

  RedisKeys(String prefix) {
    this.prefix = prefix;
  }

  /** With which all of them begin. */
  String prefix() {
    return prefix;
  }

  /**
   * One key's value, and when it expires.
   *
   * @param bytes the value in hexadecimal digits
   * @param expiry milliseconds since 1970; -1 for never
   */
  record Stored(String bytes, long expiry) {}

  /** All keys with what they hold. */
  Map<String, Stored> all() {
    RedisCommands<String, byte[]> redis = connection.sync();
    Map<String, Stored> found = new TreeMap<>();
    ScanIterator<String> keys =
        ScanIterator.scan(redis, ScanArgs.Builder.matches(prefix + "*").limit(1_000));
    while (keys.hasNext()) {
      String key = keys.next();
      byte[] value = redis.get(key);
      Long expiry = redis.eval(EXPIRY, ScriptOutputType.INTEGER, key);
      if (value != null) {
        found.put(key, new Stored(HexFormat.of().formatHex(value), expiry));
      }
    }
    return found;
  }

  void clear() {
    all().keySet().forEach(connection.sync()::del);
  }

  @Override
  public void close() {
    clear();
    connection.close();
    client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
  }
}
