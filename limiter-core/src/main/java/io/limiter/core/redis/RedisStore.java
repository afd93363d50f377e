// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.ScriptOutputType;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Verdict;
import io.limiter.core.redis.connection.ConnectionSource;
import io.limiter.core.redis.connection.NodeBreakers;
import io.limiter.core.redis.connection.RedisFailures;
import io.limiter.core.redis.connection.RedisSettings;
import io.limiter.core.redis.wire.DecideReply;
import io.limiter.core.redis.wire.DecisionScripts;
import io.limiter.core.redis.wire.EncodedCall;
import io.limiter.core.redis.wire.EncodedStack;
import io.limiter.core.redis.wire.RedisScript;
import io.limiter.core.redis.wire.StoredDecision;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.Mode;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Decides in Redis 6.2 or later, with one EVALSHA for a call; in a Redis Cluster with one for each
 * slot that the call has keys in, which is one for each subject: there a call of several subjects
 * that is refused gives back what it has taken from some of them. Redis' clock is the only clock.
 * Each key expires one second after its newest unit has left the longest window; a subject takes
 * about 8 bytes a unit.
 *
 * <p>After failures in a row it fails at once for about a second at a time, with the reason {@code
 * BREAKER_OPEN}. Decisions, refunds and resets are alike in that: each may meet the failure, none
 * is worth waiting for.
 *
 * <p>Stages complete on the event loop of the connection, which a server may share, and at the hard
 * deadline on a thread of the store's own.
 */
public final class RedisStore implements LimitStore {

  /**
   * Stacks whose encoding is remembered. A service has one or two a method; more than this are
   * encoded anew each time.
   */
  private static final int MAX_ENCODED = 4_096;

  /**
   * A script too, so that a reset has the same deadline and is as little repeated as a decision.
   */
  private static final RedisScript RESET =
      RedisScript.of("return redis.call('UNLINK', unpack(KEYS))");

  private final RedisSettings settings;
  private final DecisionScripts scripts;
  private final ScriptRunner runner;
  private final UnitScripts units;
  private final RedisHealth health;
  private final LongSupplier wallMicros;
  private final Map<RuleStack, EncodedStack> encoded = new ConcurrentHashMap<>();

  public RedisStore(ConnectionSource connections, RedisSettings settings) {
    this(connections, settings, DecisionScripts.load(settings.algorithms()));
  }

  public RedisStore(ConnectionSource connections, RedisSettings settings, DecisionScripts scripts) {
    this(connections, settings, scripts, new NodeBreakers());
  }

  public RedisStore(
      ConnectionSource connections,
      RedisSettings settings,
      DecisionScripts scripts,
      NodeBreakers breakers) {
    this(connections, settings, scripts, breakers, RedisStore::wallMicros);
  }

  /**
   * @param wallMicros this process' clock; only the changes of the clocks of time zones are looked
   *     up by it
   */
  public RedisStore(
      ConnectionSource connections,
      RedisSettings settings,
      DecisionScripts scripts,
      NodeBreakers breakers,
      LongSupplier wallMicros) {
    this.wallMicros = wallMicros;
    this.settings = settings;
    this.scripts = scripts;
    this.runner = new ScriptRunner(connections, breakers);
    this.units = new UnitScripts(runner, scripts, settings);
    this.health =
        new RedisHealth(connections, settings, breakers, key -> resetTogether(List.of(key)));
  }

  @Override
  public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
    EncodedCall call = EncodedCall.of(request, settings::name, this::encoded);
    DecisionTime time = DecisionTime.of(settings.deadline(request.policy()), settings);
    if (runner.isCluster() && call.size() > 1) {
      // In as many scripts as the call has slots: one, for all rules and the guard of one subject.
      return MultiSlotDecision.decide(this, call, SlotGroups.bySlot(call), mode, time)
          .thenApply(found -> verdict(request, mode, found));
    }
    LateReply late = new LateReply(request, call, mode);
    return run(call, mode, time, late)
        .handle(
            (bytes, failure) -> {
              if (failure != null) {
                throw late.following(failure);
              }
              return verdict(request, mode, read(bytes, call, mode));
            });
  }

  private Verdict verdict(LimitRequest request, Mode mode, StoredDecision found) {
    return found.verdict(request, mode, new RedisReservation(this, request, found));
  }

  /** In one script. */
  CompletionStage<DecideReply> decide(EncodedCall call, Mode mode, DecisionTime time) {
    return run(call, mode, time, late -> {}).thenApply(bytes -> read(bytes, call, mode));
  }

  private CompletionStage<byte @Nullable []> run(
      EncodedCall call, Mode mode, DecisionTime time, Consumer<byte @Nullable []> late) {
    return runner.run(
        scripts.decide(), ScriptOutputType.VALUE, call.keys(), call.arguments(mode), time, late);
  }

  /** What becomes of a reply that comes when the call has failed: it is still a verdict. */
  private final class LateReply implements Consumer<byte @Nullable []> {

    private final LimitRequest request;
    private final EncodedCall call;
    private final Mode mode;
    private @Nullable CompletableFuture<Verdict> verdict;

    LateReply(LimitRequest request, EncodedCall call, Mode mode) {
      this.request = request;
      this.call = call;
      this.mode = mode;
    }

    @Override
    public void accept(byte @Nullable [] bytes) {
      try {
        verdict().complete(RedisStore.this.verdict(request, mode, read(bytes, call, mode)));
      } catch (StoreException strange) {
        verdict().completeExceptionally(strange);
      }
    }

    /** The failure, which says that the verdict may follow. */
    RuntimeException following(Throwable failure) {
      Throwable cause = RedisFailures.unwrap(failure);
      if (cause instanceof StoreException known
          && (known.reason() == FailureReason.TIMEOUT
              || known.reason() == FailureReason.PROCESS_LATE)) {
        return known.withLate(verdict());
      }
      return cause instanceof RuntimeException thrown ? thrown : new CompletionException(cause);
    }

    private synchronized CompletableFuture<Verdict> verdict() {
      if (verdict == null) {
        verdict = new CompletableFuture<>();
      }
      return verdict;
    }
  }

  private DecideReply read(byte @Nullable [] bytes, EncodedCall call, Mode mode) {
    try {
      return call.read(bytes, mode);
    } catch (StoreException strange) {
      // Numbers that cannot be may be what lies under this key, and no affair of other calls.
      if (!call.fits(bytes)) {
        runner.renew(call.keys()[0]);
      }
      throw strange;
    } catch (RuntimeException strange) { // or no fallback would decide
      throw new StoreException(
          FailureReason.ERROR, "Redis answered a decision with what cannot be read", strange);
    }
  }

  /** What is done with units that calls took. */
  public UnitScripts units() {
    return units;
  }

  @Override
  public CompletionStage<Void> reset(Collection<StateKey> keys) {
    if (keys.isEmpty()) {
      return CompletableFuture.completedFuture(null);
    }
    List<byte[]> names = keys.stream().map(settings::name).toList();
    CompletionStage<Long> deleted =
        runner.isCluster()
            ? PerSlotCalls.sum(names, name -> name, this::resetTogether)
            : resetTogether(names);
    return deleted.thenApply(count -> null);
  }

  private CompletionStage<Long> resetTogether(List<byte[]> names) {
    return units.count(RESET, names.toArray(byte[][]::new), new byte[0][]);
  }

  /** Tells whether Redis would answer now, over the connections of this store. */
  public RedisHealth health() {
    return health;
  }

  private EncodedStack encoded(RuleStack stack) {
    EncodedStack known = encoded.get(stack);
    if (known != null) {
      return known;
    }
    EncodedStack made = new EncodedStack(stack, scripts.algorithms(), wallMicros);
    if (encoded.size() < MAX_ENCODED) {
      encoded.put(stack, made);
    }
    return made;
  }

  private static long wallMicros() {
    return System.currentTimeMillis() * 1_000;
  }

  @Override
  public void close() {
    runner.close();
  }
}
