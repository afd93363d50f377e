// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.Policy;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.redis.wire.DecideReply;
import io.limiter.core.redis.wire.DecisionScripts;
import io.limiter.core.redis.wire.EncodedStack;
import io.limiter.core.rule.SlidingWindowLog;
import io.limiter.core.store.Mode;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Prepares a new connection for decisions: loads the scripts, and decides once, so that no request
 * pays for first-time work such as class loading. It takes no units.
 */
public final class ConnectionWarmUp {

  private static final Charge PROBE =
      LimitRequest.of(
              Policy.of("io.limiter.warm-up", SlidingWindowLog.of(1, Duration.ofSeconds(1))),
              Subject.global())
          .charge(0);

  /** Many more than needed to find a key in one given slot. */
  private static final int MAX_TRIES = 20 * SlotHash.SLOT_COUNT;

  private final RedisSettings settings;
  private final DecisionScripts scripts;
  private final StateKey key;

  ConnectionWarmUp(RedisSettings settings, DecisionScripts scripts) {
    this(settings, scripts, PROBE.key());
  }

  private ConnectionWarmUp(RedisSettings settings, DecisionScripts scripts, StateKey key) {
    this.settings = settings;
    this.scripts = scripts;
    this.key = key;
  }

  /**
   * The warm-up of a Cluster node that has these slots: it can decide only about a key of its own.
   */
  public static ConnectionWarmUp ofNode(
      RedisSettings settings, DecisionScripts scripts, BitSet slots) {
    return new ConnectionWarmUp(settings, scripts, keyIn(settings, slots));
  }

  private static StateKey keyIn(RedisSettings settings, BitSet slots) {
    if (!slots.isEmpty()) {
      for (int i = 0; i < MAX_TRIES; i++) {
        StateKey key = new StateKey("limiter.warm-up." + i, "");
        if (slots.get(SlotHash.getSlot(settings.name(key)))) {
          return key;
        }
      }
    }
    return PROBE.key();
  }

  /**
   * Loads the scripts again, without waiting. If Redis rejects them, the next decision reports it.
   * Scripts that were only sent by EVAL may be evicted, from Redis 7.4 on.
   */
  void load(RedisClusterAsyncCommands<byte[], byte[]> commands) {
    var unusedDecide = commands.scriptLoad(scripts.decide().text());
    var unusedRefund = commands.scriptLoad(scripts.refund().text());
    var unusedRenew = commands.scriptLoad(scripts.renew().text());
  }

  CompletionStage<Void> run(RedisClusterAsyncCommands<byte[], byte[]> commands) {
    EncodedStack stack = new EncodedStack(PROBE.stack(), List.of(), () -> 0);
    return commands
        .scriptLoad(scripts.refund().text())
        .thenCompose(loaded -> commands.scriptLoad(scripts.renew().text()))
        .thenCompose(loaded -> commands.scriptLoad(scripts.decide().text()))
        .thenCompose(
            loaded ->
                commands.<byte[]>evalsha(
                    scripts.decide().sha(),
                    ScriptOutputType.VALUE,
                    new byte[][] {settings.name(key)},
                    stack.plan().argument(Mode.PEEK, PROBE),
                    stack.plan().ttl()))
        .thenAccept(
            reply ->
                new DecideReply(reply, new EncodedStack[] {stack}, new Charge[] {PROBE}, Mode.PEEK))
        .exceptionallyCompose(ConnectionWarmUp::unlessItIsAnothers);
  }

  /** A node that has no slot, or has just lost one, is warm once it has answered. */
  private static CompletionStage<Void> unlessItIsAnothers(Throwable failure) {
    Throwable cause = RedisFailures.unwrap(failure);
    return Redirection.of(cause) == null
        ? CompletableFuture.failedFuture(cause)
        : CompletableFuture.completedFuture(null);
  }
}
