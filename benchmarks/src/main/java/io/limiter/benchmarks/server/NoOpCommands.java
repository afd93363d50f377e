// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.server;

import io.lettuce.core.RedisAsyncCommandsImpl;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.codec.ByteArrayCodec;

/**
 * Runs a {@link NoOpScript} in place of each decision script of the limiter: with the same keys,
 * arguments and length of reply, over the same connection.
 */
final class NoOpCommands extends RedisAsyncCommandsImpl<byte[], byte[]> {

  private NoOpCommands(StatefulRedisConnection<byte[], byte[]> connection) {
    super(connection, ByteArrayCodec.INSTANCE);
  }

  /**
   * Uses the connection of these commands.
   *
   * @throws IllegalStateException if they are those of a Cluster, which has several
   */
  static NoOpCommands of(RedisClusterAsyncCommands<byte[], byte[]> commands) {
    if (commands instanceof RedisAsyncCommandsImpl<byte[], byte[]> single
        && single.getConnection() instanceof StatefulRedisConnection<byte[], byte[]> connection) {
      return new NoOpCommands(connection);
    }
    throw new IllegalStateException(
        "The no-op script is for a single Redis, and this is a Cluster: name one server in REDIS_URI");
  }

  @Override
  public <T> RedisFuture<T> evalsha(
      String digest, ScriptOutputType type, byte[][] keys, byte[]... values) {
    return super.evalsha(NoOpScript.of(values).sha(), type, keys, values);
  }

  /** Sent if Redis does not have the script. */
  @Override
  public <T> RedisFuture<T> eval(
      String script, ScriptOutputType type, byte[][] keys, byte[]... values) {
    return super.eval(NoOpScript.of(values).text(), type, keys, values);
  }
}
