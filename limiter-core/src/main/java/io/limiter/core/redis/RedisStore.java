// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.limiter.core.Charge;
import io.limiter.core.Key;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.RuleStack;
import io.limiter.core.StoreException;
import io.limiter.core.Verdict;
import io.netty.util.HashedWheelTimer;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Decides in Redis 6.2 or later, with one EVALSHA for a call. Redis' clock is the only clock. Each
 * key expires one second after its newest unit has left the longest window; a subject takes about 8
 * bytes a unit.
 *
 * <p>After failures in a row it fails at once for about a second at a time, with the reason {@code
 * BREAKER_OPEN}. Decisions, refunds and resets are alike in that: each may meet the failure, none
 * is worth waiting for.
 *
 * <p>Stages complete on a thread of Lettuce, or on the deadline's.
 */
public final class RedisStore implements LimitStore {

  /**
   * Stacks whose encoding is remembered. A service has one or two a method; more than this are
   * encoded anew each time.
   */
  private static final int MAX_ENCODED = 4_096;

  private static final int TICK_MILLIS = 5;

  /**
   * A script too, so that a reset has the same deadline and is as little repeated as a decision.
   */
  private static final RedisScript RESET =
      RedisScript.of("return redis.call('UNLINK', unpack(KEYS))");

  private final ConnectionSource connections;
  private final RedisSettings settings;
  private final RedisScripts scripts;
  private final HashedWheelTimer timer;
  private final Breaker breaker;
  private final Map<RuleStack, EncodedStack> encoded = new ConcurrentHashMap<>();

  public RedisStore(ConnectionSource connections, RedisSettings settings) {
    this(connections, settings, RedisScripts.load());
  }

  RedisStore(ConnectionSource connections, RedisSettings settings, RedisScripts scripts) {
    this(connections, settings, scripts, new Breakers());
  }

  RedisStore(
      ConnectionSource connections,
      RedisSettings settings,
      RedisScripts scripts,
      Breakers breakers) {
    this.connections = connections;
    this.settings = settings;
    this.scripts = scripts;
    this.breaker = breakers.of(Breakers.ONLY);
    this.timer =
        new HashedWheelTimer(
            new DefaultThreadFactory("limiter-deadline", true), TICK_MILLIS, TimeUnit.MILLISECONDS);
    timer.start(); // else the first decision would, and wait for it
  }

  @Override
  public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
    List<Charge> charges = request.allCharges();
    int size = charges.size();
    EncodedStack[] stacks = new EncodedStack[size];
    byte[][] keys = new byte[size][];
    byte[][] arguments = new byte[2 * size][];
    for (int i = 0; i < size; i++) {
      Charge charge = charges.get(i);
      stacks[i] = encoded(charge.stack());
      keys[i] = settings.name(charge.key());
      arguments[2 * i] = stacks[i].argument(mode, charge.cost());
      arguments[2 * i + 1] = stacks[i].ttl();
    }
    Duration deadline = settings.deadline(request.policy());
    return this.<byte[]>run(scripts.decide(), ScriptOutputType.VALUE, keys, arguments, deadline)
        .thenApply(
            bytes -> {
              DecideReply reply = read(bytes, stacks);
              return reply.verdict(request, mode, new RedisReceipt(this, request, reply));
            });
  }

  /** A connection whose replies are not those to its calls will never be in step again. */
  private DecideReply read(byte @Nullable [] bytes, EncodedStack[] stacks) {
    try {
      return new DecideReply(bytes, stacks);
    } catch (StoreException outOfStep) {
      connections.renew();
      throw outOfStep;
    }
  }

  CompletionStage<Long> refund(List<RedisReceipt.Units> units) {
    byte[][] keys = new byte[units.size()][];
    byte[][] arguments = new byte[2 * units.size()][];
    for (int i = 0; i < units.size(); i++) {
      Charge charge = units.get(i).charge;
      keys[i] = settings.name(charge.key());
      arguments[2 * i] = units.get(i).stamp;
      arguments[2 * i + 1] = ascii(Integer.toString(charge.cost()));
    }
    return this.<Long>run(scripts.refund(), ScriptOutputType.INTEGER, keys, arguments)
        .thenApply(found -> found == null ? 0L : found);
  }

  @Override
  public CompletionStage<Void> reset(Collection<Key> keys) {
    if (keys.isEmpty()) {
      return CompletableFuture.completedFuture(null);
    }
    byte[][] names = keys.stream().map(settings::name).toArray(byte[][]::new);
    return this.<Long>run(RESET, ScriptOutputType.INTEGER, names, new byte[0][])
        .thenApply(deleted -> null);
  }

  private <T> CompletionStage<@Nullable T> run(
      RedisScript script, ScriptOutputType output, byte[][] keys, byte[][] arguments) {
    return run(script, output, keys, arguments, settings.deadline());
  }

  private <T> CompletionStage<@Nullable T> run(
      RedisScript script,
      ScriptOutputType output,
      byte[][] keys,
      byte[][] arguments,
      Duration deadline) {
    Breaker.Period period = breaker.admit();
    if (period == null) {
      return CompletableFuture.failedFuture(breaker.refusal());
    }
    RedisClusterAsyncCommands<byte[], byte[]> commands;
    try {
      commands = connections.commands();
    } catch (StoreException disconnected) {
      period.undecided();
      return CompletableFuture.failedFuture(disconnected);
    }
    return new ScriptCall<T>(
            period,
            connections::renew,
            commands,
            System::nanoTime,
            script,
            output,
            keys,
            arguments,
            deadline)
        .start(timer);
  }

  private EncodedStack encoded(RuleStack stack) {
    EncodedStack known = encoded.get(stack);
    if (known != null) {
      return known;
    }
    EncodedStack made = new EncodedStack(stack);
    if (encoded.size() < MAX_ENCODED) {
      encoded.put(stack, made);
    }
    return made;
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  @Override
  public void close() {
    timer.stop();
    connections.close();
  }
}
