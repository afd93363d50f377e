// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import io.limiter.core.redis.wire.DecisionScripts;
import io.limiter.core.redis.wire.DecisionScripts.RedisScript;
import java.time.Duration;
import java.util.Collection;
import java.util.Queue;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/**
 * A Redis store that gives every call a nonce, which it keeps if it is sent again. Its copy of the
 * script stores the nonce in Redis before it decides, which shows what ran, and how often.
 */
public final class AuditedStore implements LimitStore {

  /** Names the list of nonces in Redis. */
  public static final String AUDIT = "audit";

  private final RedisStore store;
  private final AtomicLong nonces = new AtomicLong();
  private final ThreadLocal<String> nonce = new ThreadLocal<>();
  private final Queue<Call> calls = new ConcurrentLinkedQueue<>();

  /**
   * The result of a call as seen by the caller; a call without an answer may have run all the same.
   */
  public record Call(String nonce, boolean answered) {}

  public AuditedStore(ConnectionSource connections, Duration deadline) {
    this(connections, deadline, script -> script);
  }

  /**
   * @param change applied to its copy of the script
   */
  public AuditedStore(
      ConnectionSource connections, Duration deadline, UnaryOperator<String> change) {
    this(connections, deadline, change, "'%s'".formatted(AUDIT));
  }

  /**
   * On a Cluster, with a list for each subject, in its slot: {@link #AUDIT} and the part in braces
   * of its keys.
   */
  public static AuditedStore ofCluster(ConnectionSource connections, Duration deadline) {
    return new AuditedStore(
        connections,
        deadline,
        script -> script,
        "'%s' .. string.match(KEYS[1], '{.*}')".formatted(AUDIT));
  }

  /** A script that records units of memory has their age as its last argument; it is no call. */
  private AuditedStore(
      ConnectionSource connections, Duration deadline, UnaryOperator<String> change, String list) {
    DecisionScripts scripts = DecisionScripts.load();
    this.store =
        new RedisStore(
            SignedCommands.on(connections, this::signature),
            new RedisSettings(RedisSettings.DEFAULT_PREFIX, deadline),
            TestRedis.scripts(
                scripts,
                RedisScript.of(
                    """
                    local nonce = table.remove(ARGV)
                    if #ARGV %% 2 == 0 or tonumber(ARGV[#ARGV]) < 0 then redis.call('RPUSH', %s, nonce) end
                    """
                            .formatted(list)
                        + change.apply(scripts.decide().text())),
                scripts.refund(),
                scripts.renew()));
  }

  /** The later parts of a divided call are sent on other threads, each with a nonce of its own. */
  private String signature() {
    String mine = nonce.get();
    return mine == null ? "part-" + nonces.incrementAndGet() : mine;
  }

  /** The name of a key in Redis. */
  public static byte[] name(StateKey key) {
    return RedisSettings.defaults().name(key);
  }

  @Override
  public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
    return audited(() -> store.decide(request, mode));
  }

  @Override
  public CompletionStage<Grant> lease(LimitRequest units, Duration time) {
    return audited(() -> store.lease(units, time));
  }

  private <T> CompletionStage<T> audited(Supplier<CompletionStage<T>> call) {
    String mine = Long.toString(nonces.incrementAndGet());
    nonce.set(mine);
    try {
      return call.get()
          .whenComplete((reply, failure) -> calls.add(new Call(mine, failure == null)));
    } finally {
      nonce.remove();
    }
  }

  /** All calls that have ended, in the order in which they ended. */
  public Collection<Call> calls() {
    return calls;
  }

  /** Clears {@link #calls}. */
  public void forgetCalls() {
    calls.clear();
  }

  @Override
  public CompletionStage<Void> reset(Collection<StateKey> keys) {
    return store.reset(keys);
  }

  @Override
  public void close() {
    store.close();
  }
}
