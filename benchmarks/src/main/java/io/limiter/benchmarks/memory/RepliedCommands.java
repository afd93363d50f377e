// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.memory;

import io.lettuce.core.RedisAsyncCommandsImpl;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.limiter.core.redis.ConnectionSource;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** A Redis without a network: every script gets the same reply at once. */
final class RepliedCommands extends RedisAsyncCommandsImpl<byte[], byte[]>
    implements ConnectionSource {

  private final Reply reply = new Reply();

  /** A complete reply. */
  private static final class Reply extends CompletableFuture<byte[]>
      implements RedisFuture<byte[]> {

    @Override
    public String getError() {
      return "";
    }

    @Override
    public boolean await(long timeout, TimeUnit unit) {
      return true;
    }
  }

  RepliedCommands(byte[] answer) {
    super(null, ByteArrayCodec.INSTANCE);
    boolean unused = reply.complete(answer);
  }

  @Override
  public RedisClusterAsyncCommands<byte[], byte[]> commands() {
    return this;
  }

  @Override
  @SuppressWarnings("unchecked") // the store asks for bytes
  public <T> RedisFuture<T> evalsha(
      String digest, ScriptOutputType type, byte[][] keys, byte[]... values) {
    return (RedisFuture<T>) reply;
  }

  @Override
  public void close() {}
}
