// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.engine;

import es.moki.ratelimitj.core.limiter.request.RequestLimitRule;
import es.moki.ratelimitj.redis.request.RedisSlidingWindowRequestRateLimiter;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.reactive.RedisReactiveCommands;
import io.lettuce.core.codec.StringCodec;
import io.limiter.benchmarks.BenchRedis;
import io.limiter.core.redis.connection.LettuceClients;
import java.time.Duration;
import java.util.List;
import java.util.Set;

/**
 * RateLimitJ: both rules in one script, and one bit as its answer. Its windows consist of blocks;
 * there is only one, so that they are no sliding windows at all, unless a rule sets the length of a
 * block.
 */
final class RateLimitJPeer implements Peer {

  static final String ONE_BLOCK = "RateLimitJ, 2 rules as they are by default, one bit";
  static final String BLOCKS = "RateLimitJ, 2 rules of 60 blocks, one bit";

  private final RedisClient client = LettuceClients.create();
  private final RedisReactiveCommands<String, String> commands;
  private final String prefix;

  RateLimitJPeer(BenchRedis redis) {
    commands = client.connect(StringCodec.UTF8, RedisURI.create(redis.uri())).reactive();
    prefix = redis.prefix() + "ratelimitj:";
  }

  @Override
  public List<Contender> contenders() {
    RequestLimitRule minute = RequestLimitRule.of(Duration.ofMinutes(1), 1_000);
    RequestLimitRule hour = RequestLimitRule.of(Duration.ofHours(1), 10_000);
    return List.of(
        contender(ONE_BLOCK, minute, hour),
        contender(
            BLOCKS,
            minute.withPrecision(Duration.ofSeconds(1)),
            hour.withPrecision(Duration.ofMinutes(1))));
  }

  private Contender contender(String name, RequestLimitRule... rules) {
    RedisSlidingWindowRequestRateLimiter limiter =
        new RedisSlidingWindowRequestRateLimiter(commands, commands, Set.of(rules));
    return Contender.of(
        name, subject -> limiter.overLimitWhenIncrementedReactive(prefix + subject).toFuture());
  }

  @Override
  public void close() {
    LettuceClients.shutdown(client);
  }
}
