// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.memory;

import io.lettuce.core.RedisAsyncCommandsImpl;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.limiter.benchmarks.BenchRedis;
import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.redis.ConnectionSource;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.RedisStore;
import io.limiter.core.redis.connection.LettuceClients;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** The real reply of Redis to a decision, so that it can be read again without one. */
final class RecordedReply extends RedisAsyncCommandsImpl<byte[], byte[]>
    implements ConnectionSource {

  private static final Duration DEADLINE = Duration.ofSeconds(10);

  // Completed behind the store's own continuation, so it may come after the verdict.
  private final CompletableFuture<byte[]> reply = new CompletableFuture<>();

  private RecordedReply(StatefulRedisConnection<byte[], byte[]> connection) {
    super(connection, ByteArrayCodec.INSTANCE);
  }

  /** The reply to an admitted call. */
  static byte[] to(LimitRequest request, BenchRedis redis) throws Exception {
    RedisClient client = LettuceClients.create();
    try {
      RecordedReply recorder =
          new RecordedReply(client.connect(ByteArrayCodec.INSTANCE, RedisURI.create(redis.uri())));
      try (RedisStore store =
          new RedisStore(recorder, new RedisSettings(redis.prefix(), DEADLINE))) {
        // The first sends the script itself if Redis does not have it yet.
        for (int i = 0; i < 2; i++) {
          var unused =
              new Limiter(store)
                  .acquire(request)
                  .toCompletableFuture()
                  .get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
        }
      }
      return recorder.reply.get(DEADLINE.toSeconds(), TimeUnit.SECONDS);
    } finally {
      LettuceClients.shutdown(client);
    }
  }

  @Override
  public RedisClusterAsyncCommands<byte[], byte[]> commands() {
    return this;
  }

  @Override
  public <T> RedisFuture<T> evalsha(
      String digest, ScriptOutputType type, byte[][] keys, byte[]... values) {
    RedisFuture<T> sent = super.evalsha(digest, type, keys, values);
    var unused =
        sent.thenAccept(
            result -> {
              if (result instanceof byte[] bytes) {
                var unusedFirst = reply.complete(bytes);
              }
            });
    return sent;
  }

  @Override
  public void close() {}
}
