// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.outage.FallbackStore;
import io.limiter.core.redis.AuditedStore;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.SharedConnection;
import io.limiter.core.testing.FaultProxy;
import io.limiter.core.testing.RedisProcess;
import io.limiter.core.testing.SentinelGroup;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/** A limiter on the primary that sentinels report. */
final class SentinelBench extends LimiterBench {

  final SentinelGroup group;
  private final List<LimitStore> others = new ArrayList<>();
  private final RedisClient admin = RedisClient.create();

  private SentinelBench(SentinelGroup group, AuditedStore store) {
    super(store);
    this.group = group;
  }

  /** Connected and warm. */
  static SentinelBench start(String... settings) {
    return on(SentinelGroup.start(settings));
  }

  static SentinelBench on(SentinelGroup group) {
    return on(group, script -> script);
  }

  /**
   * @param change applied to its copy of the script
   */
  static SentinelBench on(SentinelGroup group, UnaryOperator<String> change) {
    SentinelBench bench = new SentinelBench(group, storeAt(group.uri(), change));
    bench.awaitWarm();
    return bench;
  }

  /** Connects by this URI, which may fail. */
  static SentinelBench on(SentinelGroup group, String uri) {
    return new SentinelBench(group, storeAt(uri, script -> script));
  }

  private static AuditedStore storeAt(String uri, UnaryOperator<String> change) {
    return new AuditedStore(
        SharedConnection.open(RedisURI.create(uri), RedisSettings.defaults()), DEADLINE, change);
  }

  /** The limiter of another instance, which does not use sentinels and stays with its server. */
  LimitStore pinnedTo(RedisProcess server) {
    return another(server.uri());
  }

  /** The limiter of another instance. */
  LimitStore another() {
    return another(group.uri());
  }

  private LimitStore another(String uri) {
    LimitStore another = new FallbackStore(storeAt(uri, script -> script), new MemoryStore());
    others.add(another);
    awaitDecided(another);
    return another;
  }

  /** Returns when Redis decides the calls of another instance. */
  static void awaitDecided(LimitStore another) {
    LimitRequest call = call("warm-up-of-another", 1_000_000, HOUR);
    await()
        .until(
            () ->
                another.decide(call, Mode.ACQUIRE).toCompletableFuture().join().decidedBy()
                    == DecidedBy.STORE);
  }

  <T> T admin(RedisProcess server, Function<RedisCommands<String, String>, T> commands) {
    try (StatefulRedisConnection<String, String> connection =
        admin.connect(RedisURI.create(server.uri()))) {
      return commands.apply(connection.sync());
    }
  }

  /** Returns when both replicas have everything that the primary had at the time of the call. */
  void awaitReplicated() {
    RedisProcess primary = group.primary();
    await()
        .until(
            () ->
                admin(
                        primary,
                        redis -> {
                          redis.set("replicated", "so far");
                          return redis.waitForReplication(2, 1_000);
                        })
                    == 2);
  }

  /** Returns the proxy between the replicas and the primary. Sentinel repairs it in 3 seconds. */
  FaultProxy replicateThrough() {
    FaultProxy link = new FaultProxy(group.primary().port());
    Collection<RedisProcess> replicas =
        group.replicas().stream().filter(RedisProcess::isRunning).toList();
    replicas.forEach(replica -> demote(replica, link.port()));
    await()
        .until(
            () ->
                replicas.stream()
                    .allMatch(
                        replica ->
                            admin(replica, redis -> redis.info("replication"))
                                .contains("master_link_status:up")));
    return link;
  }

  /** Makes a server a replica of another, as Sentinel does. */
  void demote(RedisProcess server, int primary) {
    admin(server, redis -> redis.replicaof("127.0.0.1", primary));
  }

  /** {@code master} or {@code slave}, as the server reports. */
  String role(RedisProcess server) {
    return admin(server, redis -> redis.role().get(0).toString());
  }

  /** What ran on the current primary, or was replicated to it. */
  @Override
  List<String> executed() {
    return executed(group.primary());
  }

  List<String> executed(RedisProcess server) {
    return admin(server, redis -> redis.lrange(AuditedStore.AUDIT, 0, -1));
  }

  /** Redis decides the calls of a load again: those that are sent from now on. */
  static void assertHeals(Load load) {
    long now = System.nanoTime();
    await()
        .pollInterval(Duration.ofMillis(20))
        .atMost(HEALED.multipliedBy(NOISE))
        .until(
            () ->
                load.answeredSoFar().stream()
                    .anyMatch(answer -> answer.sent() > now && isDecided(answer)));
  }

  /** Whether Redis has decided it. */
  static boolean isDecided(TimedVerdict answer) {
    return answer.verdict().filter(it -> it.decidedBy() == DecidedBy.STORE).isPresent();
  }

  /** The longest time without a decision by Redis. */
  static Duration outage(Collection<TimedVerdict> answers) {
    long[] decided =
        answers.stream()
            .filter(SentinelBench::isDecided)
            .mapToLong(TimedVerdict::answered)
            .sorted()
            .toArray();
    long longest = 0;
    for (int i = 1; i < decided.length; i++) {
      longest = Math.max(longest, decided[i] - decided[i - 1]);
    }
    return Duration.ofNanos(longest);
  }

  @Override
  public void close() {
    limiter.close();
    others.forEach(LimitStore::close);
    admin.shutdown(Duration.ZERO, Duration.ofSeconds(2));
    group.close();
  }
}
