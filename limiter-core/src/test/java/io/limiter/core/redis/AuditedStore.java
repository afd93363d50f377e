// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.limiter.core.Key;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Verdict;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.Queue;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;

/**
 * A Redis store whose every call has a nonce, also when it is sent again, and whose copy of the
 * script writes the nonce down in Redis before it decides: so it can be told what ran, and how
 * often.
 */
public final class AuditedStore implements LimitStore {

  /** Names the list of nonces in Redis. */
  public static final String AUDIT = "audit";

  private final RedisStore store;
  private final AtomicLong nonces = new AtomicLong();
  private final ThreadLocal<String> nonce = new ThreadLocal<>();
  private final Queue<Call> calls = new ConcurrentLinkedQueue<>();

  /** What a call came to, as the caller knows it: no answer may mean that it ran all the same. */
  public record Call(String nonce, boolean answered) {}

  public AuditedStore(ConnectionSource connections, Duration deadline) {
    this(connections, deadline, script -> script);
  }

  /**
   * @param change made to its copy of the script
   */
  public AuditedStore(
      ConnectionSource connections, Duration deadline, UnaryOperator<String> change) {
    RedisScripts scripts = RedisScripts.load();
    this.store =
        new RedisStore(
            new ConnectionSource() {
              @Override
              public RedisClusterAsyncCommands<byte[], byte[]> commands() {
                return signed(connections.commands(), nonce.get());
              }

              @Override
              public void renew() {
                connections.renew();
              }

              @Override
              public void close() {
                connections.close();
              }
            },
            new RedisSettings(RedisSettings.DEFAULT_PREFIX, deadline),
            new RedisScripts(
                RedisScript.of(
                    "redis.call('RPUSH', '%s', ARGV[#ARGV])\n".formatted(AUDIT)
                        + change.apply(scripts.decide().text())),
                scripts.refund()));
  }

  /** The name of a key in Redis. */
  public static byte[] name(Key key) {
    return RedisSettings.defaults().name(key);
  }

  @Override
  public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
    String mine = Long.toString(nonces.incrementAndGet());
    nonce.set(mine);
    try {
      return store
          .decide(request, mode)
          .whenComplete((verdict, failure) -> calls.add(new Call(mine, failure == null)));
    } finally {
      nonce.remove();
    }
  }

  /** All calls that have ended, in the order in which they did. */
  public Collection<Call> calls() {
    return calls;
  }

  /** Begins a new account of {@link #calls}. */
  public void forgetCalls() {
    calls.clear();
  }

  @Override
  public CompletionStage<Void> reset(Collection<Key> keys) {
    return store.reset(keys);
  }

  @Override
  public void close() {
    store.close();
  }

  /** The same commands, with the nonce as one argument more. */
  @SuppressWarnings("unchecked")
  private static RedisClusterAsyncCommands<byte[], byte[]> signed(
      RedisClusterAsyncCommands<byte[], byte[]> commands, String nonce) {
    return (RedisClusterAsyncCommands<byte[], byte[]>)
        Proxy.newProxyInstance(
            AuditedStore.class.getClassLoader(),
            new Class<?>[] {RedisClusterAsyncCommands.class},
            (proxy, method, parts) -> {
              if (nonce != null && method.getName().startsWith("eval")) {
                byte[][] arguments = (byte[][]) parts[3];
                byte[][] more = Arrays.copyOf(arguments, arguments.length + 1);
                more[arguments.length] = nonce.getBytes(StandardCharsets.US_ASCII);
                parts[3] = more;
              }
              try {
                return method.invoke(commands, parts);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }
}
