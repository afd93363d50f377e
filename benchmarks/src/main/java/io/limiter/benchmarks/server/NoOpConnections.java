// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.server;

import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.limiter.core.redis.ConnectionSource;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;

/** The limiter's own connections, on which decisions do nothing. */
final class NoOpConnections implements ConnectionSource {

  private final ConnectionSource real;
  private final Map<RedisClusterAsyncCommands<byte[], byte[]>, NoOpCommands> byConnection =
      new ConcurrentHashMap<>(); // as many as there are event loops, and one for each reconnect

  NoOpConnections(ConnectionSource real) {
    this.real = real;
  }

  @Override
  public RedisClusterAsyncCommands<byte[], byte[]> commands() {
    RedisClusterAsyncCommands<byte[], byte[]> commands = real.commands();
    return byConnection.computeIfAbsent(commands, NoOpCommands::of);
  }

  @Override
  public CompletionStage<Boolean> firstAttempt() {
    return real.firstAttempt();
  }

  @Override
  public void renew() {
    real.renew();
  }

  @Override
  public void close() {
    real.close();
  }
}
