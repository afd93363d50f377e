// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.engine;

import io.limiter.benchmarks.BenchRedis;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RRateLimiter;
import org.redisson.api.RateType;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Redisson's RRateLimiter, which has one rate: 1,000 in 60 s. A connection of Redisson carries one
 * call at a time; its pool has the default size.
 */
final class RedissonPeer implements Peer {

  static final String NAME = "Redisson, 1 rate, one bit, a pool of connections";

  private static final int SET_SECONDS = 60;

  private final RedissonClient client;
  private final RRateLimiter[] limiters;

  RedissonPeer(BenchRedis redis, int subjects) {
    Config config = new Config();
    config.useSingleServer().setAddress(redis.uri());
    client = Redisson.create(config);
    limiters = new RRateLimiter[subjects];
    for (int i = 0; i < subjects; i++) {
      limiters[i] = client.getRateLimiter(redis.prefix() + "redisson:" + i);
    }
  }

  @Override
  public List<Contender> contenders() {
    return List.of(
        Contender.of(NAME, subject -> limiters[subject].tryAcquireAsync())
            .withPreparation(this::setRates));
  }

  private void setRates() throws Exception {
    CompletableFuture<?>[] set = new CompletableFuture<?>[limiters.length];
    for (int i = 0; i < limiters.length; i++) {
      set[i] =
          limiters[i]
              .trySetRateAsync(RateType.OVERALL, 1_000, Duration.ofMinutes(1))
              .toCompletableFuture();
    }
    var unused = CompletableFuture.allOf(set).get(SET_SECONDS, TimeUnit.SECONDS);
  }

  @Override
  public void close() {
    client.shutdown();
  }
}
