// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.engine;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.limiter.benchmarks.BenchRedis;
import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.RedisStore;
import io.limiter.core.redis.SharedConnection;
import io.limiter.core.rule.ConcurrencyLimitRule;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** This project, as application code uses it, and measurements on its own connection. */
final class OurEngine implements AutoCloseable {

  static final String PING = "PING";
  static final String NOTHING = "EVALSHA that does nothing";
  static final String SORTED_SET = "sorted set, 2 rules, one bit";
  static final String SORTED_SET_FULL = "sorted set, 2 rules, full";
  static final String IN_FLIGHT = "in flight, 1 rule: taken and given back, two commands";

  /** The sizes of a decision on two rules of the log: its plan, and the time to live. */
  private static final byte[] PLAN = new byte[97];

  private static final byte[] LIFE = "3601000".getBytes(US_ASCII);
  private static final Duration DEADLINE = Duration.ofSeconds(10);

  private final BenchRedis redis;
  private final SharedConnection connection;
  private final RedisStore store;
  private final Limiter limiter;
  private final int subjects;
  private final AtomicLong members = new AtomicLong();

  private OurEngine(
      BenchRedis redis, SharedConnection connection, RedisSettings settings, int subjects) {
    this.redis = redis;
    this.connection = connection;
    this.store = new RedisStore(connection, settings);
    this.limiter = new Limiter(store);
    this.subjects = subjects;
  }

  static OurEngine open(BenchRedis redis, int subjects) throws Exception {
    RedisSettings settings =
        new RedisSettings(redis.prefix(), DEADLINE).withAlgorithms(List.of(new OwnWindow()));
    SharedConnection connection = SharedConnection.open(RedisURI.create(redis.uri()), settings);
    if (!connection.firstAttempt().toCompletableFuture().get(10, TimeUnit.SECONDS)) {
      connection.close();
      throw new IllegalStateException("Redis does not answer at " + RedisURI.create(redis.uri()));
    }
    return new OurEngine(redis, connection, settings, subjects);
  }

  Limiter limiter() {
    return limiter;
  }

  RedisStore store() {
    return store;
  }

  /** Whether a contender of this name is the limiter. */
  static boolean isOurs(String name) {
    return name.equals(IN_FLIGHT)
        || Stacks.all().stream().anyMatch(policy -> policy.name().equals(name));
  }

  List<Contender> contenders() {
    List<Contender> all = new ArrayList<>();
    RedisClusterAsyncCommands<byte[], byte[]> commands = connection.commands();
    all.add(ping());
    all.add(nothing(commands));
    for (Policy policy : Stacks.all()) {
      LimitRequest[] requests = requests(policy);
      all.add(Contender.of(policy.name(), subject -> admitted(requests[subject])));
    }
    LimitRequest[] held = requests(Policy.of("in-flight", ConcurrencyLimitRule.of(1_000)));
    all.add(
        Contender.of(
            IN_FLIGHT,
            subject ->
                limiter
                    .acquire(held[subject])
                    .thenCompose(verdict -> verdict.reservation().refund())));
    all.add(
        sortedSet(SORTED_SET, "sorted-set-one-bit.lua", ScriptOutputType.INTEGER, commands, true));
    all.add(
        sortedSet(SORTED_SET_FULL, "sorted-set-full.lua", ScriptOutputType.MULTI, commands, false));
    return all;
  }

  Contender ping() {
    return Contender.of(PING, subject -> connection.commands().ping()).withPlain("ping");
  }

  /** Checks that Redis decided and admitted the call: measuring denied calls would be useless. */
  private CompletionStage<Verdict> admitted(LimitRequest request) {
    return limiter
        .acquire(request)
        .thenApply(
            verdict -> {
              if (!verdict.allowed()) {
                throw new IllegalStateException(
                    "The policy '%s' denied a call: measure for a shorter time"
                        .formatted(request.policy().name()));
              }
              return verdict;
            });
  }

  private Contender nothing(RedisClusterAsyncCommands<byte[], byte[]> commands) {
    byte[][] keys = keys("nothing");
    String sha = redis.commands().scriptLoad(Scripts.NOTHING);
    return Contender.of(
        NOTHING,
        subject ->
            commands.evalsha(
                sha, ScriptOutputType.INTEGER, new byte[][] {keys[subject]}, PLAN, LIFE));
  }

  private Contender sortedSet(
      String name,
      String script,
      ScriptOutputType output,
      RedisClusterAsyncCommands<byte[], byte[]> commands,
      boolean ownClock) {
    byte[][] keys = keys("set");
    String sha = redis.commands().scriptLoad(Scripts.read(script));
    return Contender.of(
        name,
        subject -> {
          List<byte[]> arguments = new ArrayList<>();
          arguments.add(text("0123456789abcdef-" + members.incrementAndGet()));
          if (ownClock) {
            arguments.add(text(Long.toString(System.currentTimeMillis())));
          }
          for (String number : List.of("1000", "60000", "10000", "3600000")) {
            arguments.add(text(number));
          }
          return commands.evalsha(
              sha, output, new byte[][] {keys[subject]}, arguments.toArray(byte[][]::new));
        });
  }

  /** As long as those of the limiter. */
  private byte[][] keys(String name) {
    byte[][] keys = new byte[subjects][];
    for (int i = 0; i < subjects; i++) {
      keys[i] = redis.key("{%s:%012d}:r.abc123".formatted(name, i));
    }
    return keys;
  }

  private LimitRequest[] requests(Policy policy) {
    LimitRequest[] requests = new LimitRequest[subjects];
    for (int i = 0; i < subjects; i++) {
      requests[i] = LimitRequest.of(policy, new Subject("user", "user-" + i));
    }
    return requests;
  }

  private static byte[] text(String text) {
    return text.getBytes(US_ASCII);
  }

  @Override
  public void close() {
    store.close();
  }
}
