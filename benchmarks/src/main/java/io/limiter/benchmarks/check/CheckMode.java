// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.check;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.limiter.benchmarks.BenchRedis;
import io.limiter.benchmarks.Mode;
import io.limiter.benchmarks.Options;
import io.limiter.benchmarks.Report;
import io.limiter.core.redis.ConnectionSource;
import io.limiter.core.redis.LoopConnections;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.RedisStore;
import io.limiter.core.redis.cluster.ClusterConnections;
import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Sends to a server what the limiter would send, and reports what works: for servers and services
 * that the limiter was not tested with. All keys have a prefix of this run, after that of a
 * service, whose user may have no other keys; they are removed, and expire after a minute in any
 * case.
 */
public final class CheckMode implements Mode {

  /** Far more than a service would wait: how long the server takes is a step of its own. */
  private static final Duration DEADLINE = Duration.ofSeconds(5);

  private static final Option PREFIX =
      new Option("prefix", "P", "what all keys begin with; limiter: unless given");

  @Override
  public String name() {
    return "check";
  }

  @Override
  public String help() {
    return "what the limiter sends to --redis, and what of it works there; fails if it cannot decide";
  }

  @Override
  public List<Option> options() {
    return List.of(PREFIX);
  }

  /** It measures nothing: it succeeds or fails. */
  @Override
  public boolean partOfAll() {
    return false;
  }

  /**
   * @throws Failure after the tables, if the limiter would not work with the server
   */
  @Override
  public void run(Options options, Report report) throws Exception {
    report.library("io.lettuce", "lettuce-core");
    int failed;
    try (BenchRedis redis = BenchRedis.open(options, report)) {
      String prefix =
          options.text(PREFIX.name()).orElse(RedisSettings.DEFAULT_PREFIX) + redis.prefix();
      boolean cluster;
      try (RedisClient client = RedisClient.create(redis.uri());
          StatefulRedisConnection<String, String> connection = client.connect()) {
        SentCommands commands = new SentCommands(connection.sync(), prefix + "{check}");
        Steps sent = commands.send();
        report.table(sent.table());
        failed = sent.failed();
        cluster = commands.isCluster();
      }
      Steps byUri = calls("The limiter, by redis.uri", redis, prefix + "1:", false);
      report.table(byUri.table());
      if (cluster) {
        Steps byUris = calls("The limiter, by redis.uris", redis, prefix + "2:", true);
        report.table(byUris.table());
        failed += byUris.failed();
      } else {
        failed += byUri.failed();
      }
    }
    if (failed > 0) {
      throw new Failure("Steps that the limiter needs, and that do not work: %s".formatted(failed));
    }
  }

  private static Steps calls(String title, BenchRedis redis, String prefix, boolean cluster) {
    Steps steps = new Steps(title);
    RedisSettings settings = new RedisSettings(prefix, DEADLINE);
    RedisURI uri = RedisURI.create(redis.uri());
    MultiThreadIoEventLoopGroup group =
        new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    EventLoop loop = (EventLoop) group.iterator().next();
    ConnectionSource connections =
        cluster
            ? ClusterConnections.open(List.of(uri), settings)
            : LoopConnections.open(List.of(loop), uri, settings);
    try (RedisStore store = new RedisStore(connections, settings)) {
      if (steps.needed(
          "a connection that has decided",
          "the fallback decides all calls; a line of the log has the reason",
          () -> {
            Steps.require(Steps.get(connections.firstAttempt()), "it was not opened");
            return 1;
          })) {
        new LimiterCalls(store, loop).make(steps);
      }
    } finally {
      var unused = group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }
    return steps;
  }
}
