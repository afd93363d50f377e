// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.figures;

import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.limiter.core.FadingCounter;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.RedisStore;
import io.limiter.core.redis.SharedConnection;
import io.limiter.core.redis.TestRedis;
import io.limiter.core.testing.RedisProcess;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.IntFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Prints the processor time of Redis for one decision, by Redis' own account ({@code INFO
 * commandstats}), as a ratio to an EVALSHA that does nothing, and the memory for a subject. All are
 * measured in turn, round by round, on a redis-server of its own; the least and the median of the
 * rounds count, since a busy machine only ever adds.
 *
 * <p>Arguments: rounds (7 by default) and calls in each (50,000), by 10,000 subjects in turn. All
 * calls are admitted.
 */
public final class RedisFigures {

  private static final int SUBJECTS = 10_000;
  private static final int IN_FLIGHT = 200;
  private static final int CALLS_OF_ONE = 10;
  private static final String NOTHING = "nothing";
  private static final Pattern USAGE = Pattern.compile("cmdstat_evalsha:calls=(\\d+),usec=(\\d+)");

  private final StatefulRedisConnection<byte[], byte[]> connection;
  private final LimitStore store;
  private final int calls;

  private RedisFigures(
      StatefulRedisConnection<byte[], byte[]> connection, LimitStore store, int calls) {
    this.connection = connection;
    this.store = store;
    this.calls = calls;
  }

  public static void main(String[] arguments) {
    int rounds = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 7;
    int calls = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 50_000;
    RedisSettings settings =
        new RedisSettings("limiter:", Duration.ofSeconds(10))
            .withAlgorithms(List.of(new FadingCounter()));
    try (RedisProcess redis = RedisProcess.onFreePort().start()) {
      RedisURI uri = RedisURI.create(redis.uri());
      RedisClient client = RedisClient.create(uri);
      SharedConnection shared = SharedConnection.open(uri, settings);
      await().ignoreExceptions().until(() -> shared.commands() != null);
      try (LimitStore store = new RedisStore(shared, settings)) {
        System.out.printf("%s, %d rounds of %d calls%n", redis.product(), rounds, calls);
        new RedisFigures(client.connect(ByteArrayCodec.INSTANCE), store, calls).print(rounds);
      } finally {
        client.shutdown();
      }
    }
  }

  private void print(int rounds) {
    Map<String, List<Double>> micros = new LinkedHashMap<>();
    for (int round = 0; round < rounds; round++) {
      micros.computeIfAbsent(NOTHING, name -> new ArrayList<>()).add(nothing());
      for (Policy policy : Stacks.all()) {
        micros.computeIfAbsent(policy.name(), name -> new ArrayList<>()).add(decisions(policy));
      }
    }
    System.out.printf(
        "%-26s %8s %8s %8s %8s %10s%n",
        "", "least us", "÷ nothing", "median", "÷ nothing", "bytes");
    micros.forEach(
        (name, all) ->
            System.out.printf(
                "%-26s %8.2f %8.1f %8.2f %8.1f %10s%n",
                name,
                Collections.min(all),
                Collections.min(all) / Collections.min(micros.get(NOTHING)),
                median(all),
                median(all) / median(micros.get(NOTHING)),
                bytes(name)));
  }

  /** A script that does nothing, with arguments as long as those of a decision. */
  private double nothing() {
    String sha = connection.sync().scriptLoad("return 1");
    byte[] plan = new byte[80];
    byte[] life = ascii("61000");
    return micros(
        i ->
            connection
                .async()
                .evalsha(
                    sha,
                    ScriptOutputType.INTEGER,
                    new byte[][] {ascii("limiter:{0123456789012345678901}:" + i % SUBJECTS)},
                    plan,
                    life));
  }

  private double decisions(Policy policy) {
    List<LimitRequest> requests = new ArrayList<>();
    for (int i = 0; i < SUBJECTS; i++) {
      requests.add(LimitRequest.of(policy, new Subject("user", "user-" + i)));
    }
    return micros(i -> store.decide(requests.get(i % SUBJECTS), Mode.ACQUIRE));
  }

  private double micros(IntFunction<CompletionStage<?>> call) {
    connection.sync().flushall();
    connection.sync().configResetstat();
    List<CompletableFuture<?>> sent = new ArrayList<>();
    for (int i = 0; i < calls; i++) {
      sent.add(call.apply(i).toCompletableFuture());
      if (sent.size() == IN_FLIGHT || i + 1 == calls) {
        CompletableFuture.allOf(sent.toArray(CompletableFuture[]::new)).join();
        sent.clear();
      }
    }
    Matcher usage = USAGE.matcher(connection.sync().info("commandstats"));
    if (!usage.find()) {
      throw new IllegalStateException("Redis reports nothing about EVALSHA");
    }
    return Double.parseDouble(usage.group(2)) / Double.parseDouble(usage.group(1));
  }

  /**
   * The memory of a subject after ten calls, and the part that its keys would take with a number as
   * value.
   */
  private String bytes(String name) {
    connection.sync().flushall();
    Policy policy =
        Stacks.all().stream().filter(one -> one.name().equals(name)).findFirst().orElse(null);
    if (policy == null) {
      return "";
    }
    LimitRequest call = LimitRequest.of(policy, new Subject("user", "somebody"));
    for (int i = 0; i < CALLS_OF_ONE; i++) {
      store.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
    }
    long bytes = 0;
    long own = 0;
    for (byte[] key : TestRedis.keys(connection.sync(), "*")) {
      bytes += connection.sync().memoryUsage(key);
      connection.sync().set(key, ascii("1"));
      own += connection.sync().memoryUsage(key);
    }
    return bytes - own + " + " + own;
  }

  private static double median(List<Double> values) {
    List<Double> sorted = values.stream().sorted().toList();
    return sorted.get(sorted.size() / 2);
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}
