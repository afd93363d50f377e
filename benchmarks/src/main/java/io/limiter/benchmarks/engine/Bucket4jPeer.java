// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.engine;

import io.github.bucket4j.BucketConfiguration;
import io.github.bucket4j.distributed.AsyncBucketProxy;
import io.github.bucket4j.distributed.ExpirationAfterWriteStrategy;
import io.github.bucket4j.distributed.proxy.AsyncProxyManager;
import io.github.bucket4j.redis.lettuce.Bucket4jLettuce;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.limiter.benchmarks.BenchRedis;
import io.limiter.core.redis.connection.LettuceClients;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Bucket4j over Lettuce: two bandwidths in one bucket, read with GET and written by a script that
 * compares and swaps. Its buckets are created once, and it returns the remaining tokens.
 */
final class Bucket4jPeer implements Peer {

  static final String NAME = "Bucket4j, 2 bandwidths";

  private final RedisClient client = LettuceClients.create();
  private final AsyncBucketProxy[] buckets;

  Bucket4jPeer(BenchRedis redis, int subjects) {
    StatefulRedisConnection<byte[], byte[]> connection =
        client.connect(ByteArrayCodec.INSTANCE, RedisURI.create(redis.uri()));
    AsyncProxyManager<byte[]> manager =
        Bucket4jLettuce.casBasedBuilder(connection)
            .expirationAfterWrite(
                ExpirationAfterWriteStrategy.basedOnTimeForRefillingBucketUpToMax(
                    Duration.ofSeconds(1)))
            .build()
            .asAsync();
    BucketConfiguration configuration =
        BucketConfiguration.builder()
            .addLimit(limit -> limit.capacity(1_000).refillGreedy(1_000, Duration.ofMinutes(1)))
            .addLimit(limit -> limit.capacity(10_000).refillGreedy(10_000, Duration.ofHours(1)))
            .build();
    CompletableFuture<BucketConfiguration> known = CompletableFuture.completedFuture(configuration);
    buckets = new AsyncBucketProxy[subjects];
    for (int i = 0; i < subjects; i++) {
      buckets[i] = manager.builder().build(redis.key("bucket4j:" + i), () -> known);
    }
  }

  @Override
  public List<Contender> contenders() {
    return List.of(
        Contender.of(NAME, subject -> buckets[subject].tryConsumeAndReturnRemaining(1))
            .withPlain("get"));
  }

  @Override
  public void close() {
    LettuceClients.shutdown(client);
  }
}
