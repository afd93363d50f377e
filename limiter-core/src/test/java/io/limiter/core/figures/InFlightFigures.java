// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.figures;

import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import io.limiter.core.Completion;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.Reservation;
import io.limiter.core.Subject;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.RedisStore;
import io.limiter.core.redis.SharedConnection;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.testing.RedisProcess;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.IntConsumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The processor time of Redis for a call in flight, by its own account: beginning, renewing and
 * ending one, while so many are in flight.
 */
public final class InFlightFigures {

  private static final Pattern USAGE = Pattern.compile("cmdstat_evalsha:calls=(\\d+),usec=(\\d+),");
  private static final int CALLS = 2_000;

  private final RedisCommands<String, String> commands;
  private final LimitStore store;

  private InFlightFigures(RedisCommands<String, String> commands, LimitStore store) {
    this.commands = commands;
    this.store = store;
  }

  public static void main(String[] arguments) {
    RedisSettings settings = new RedisSettings("limiter:", Duration.ofSeconds(10));
    try (RedisProcess redis = RedisProcess.onFreePort().start()) {
      RedisURI uri = RedisURI.create(redis.uri());
      RedisClient client = RedisClient.create(uri);
      SharedConnection shared = SharedConnection.open(uri, settings);
      await().ignoreExceptions().until(() -> shared.commands() != null);
      try (LimitStore store = new RedisStore(shared, settings)) {
        System.out.println(redis.product());
        System.out.printf("%10s %10s %10s %10s%n", "in flight", "begin us", "renew us", "end us");
        InFlightFigures figures = new InFlightFigures(client.connect().sync(), store);
        for (int held : new int[] {1, 10, 100, 1_000, 10_000}) {
          figures.print(held);
        }
      } finally {
        client.shutdown();
      }
    }
  }

  private void print(int held) {
    commands.flushall();
    LimitRequest call =
        LimitRequest.of(
            Policy.of("in-flight", ConcurrencyLimitRule.of(10_000)),
            new Subject("user", "somebody"));
    Deque<Reservation> reservations = new ArrayDeque<>();
    double[] micros = new double[3];
    for (int i = 1; i < held; i++) {
      reservations.add(begin(call));
    }
    for (int i = 0; i < CALLS; i++) { // in turn, so that the number in flight stays the same
      micros[0] += micros(one -> reservations.add(begin(call)));
      micros[1] +=
          micros(one -> reservations.getLast().renewPermits().toCompletableFuture().join());
      micros[2] +=
          micros(
              one ->
                  reservations.poll().settle(Completion.succeeded()).toCompletableFuture().join());
    }
    System.out.printf(
        "%10d %10.1f %10.1f %10.1f%n",
        held, micros[0] / CALLS, micros[1] / CALLS, micros[2] / CALLS);
  }

  private Reservation begin(LimitRequest call) {
    return store.decide(call, Mode.ACQUIRE).toCompletableFuture().join().reservation();
  }

  private double micros(IntConsumer action) {
    commands.configResetstat();
    action.accept(0);
    Matcher usage = USAGE.matcher(commands.info("commandstats"));
    if (!usage.find()) {
      throw new IllegalStateException("Redis reports nothing about EVALSHA");
    }
    return Double.parseDouble(usage.group(2)) / Double.parseDouble(usage.group(1));
  }
}
