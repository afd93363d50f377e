// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.RedisFuture;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Commands that are not sent anywhere: the test gives the replies. */
public final class FakeRedis {

  private final List<Sent> sent = new ArrayList<>();
  private Optional<RuntimeException> sendFailure = Optional.empty();
  private boolean ignoresCancelling;

  /** A script that was sent, and its reply. */
  public static final class Sent extends CompletableFuture<Object> implements RedisFuture<Object> {

    private final String command;
    private final Object[] parts;
    private final boolean ignoresCancelling;

    private Sent(String command, Object[] parts, boolean ignoresCancelling) {
      this.command = command;
      this.parts = parts;
      this.ignoresCancelling = ignoresCancelling;
    }

    String command() {
      return command;
    }

    /** The source, or the digest. */
    public String script() {
      return (String) parts[0];
    }

    public Object keys() {
      return parts[2];
    }

    public Object arguments() {
      return parts[3];
    }

    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
      return !ignoresCancelling && super.cancel(mayInterruptIfRunning);
    }

    @Override
    public String getError() {
      throw new UnsupportedOperationException();
    }

    @Override
    public boolean await(long timeout, TimeUnit unit) {
      throw new UnsupportedOperationException();
    }
  }

  @SuppressWarnings("unchecked")
  public RedisClusterAsyncCommands<byte[], byte[]> commands() {
    return (RedisClusterAsyncCommands<byte[], byte[]>)
        Proxy.newProxyInstance(
            getClass().getClassLoader(),
            new Class<?>[] {RedisClusterAsyncCommands.class},
            (proxy, method, arguments) -> send(method.getName(), arguments));
  }

  /**
   * A connection with these commands.
   *
   * @param renewed runs when it is to be replaced
   */
  public ConnectionSource source(Runnable renewed) {
    return new ConnectionSource() {
      @Override
      public RedisClusterAsyncCommands<byte[], byte[]> commands() {
        return FakeRedis.this.commands();
      }

      @Override
      public void renew() {
        renewed.run();
      }

      @Override
      public void close() {}
    };
  }

  private Sent send(String command, Object[] arguments) {
    if (sendFailure.isPresent()) {
      throw sendFailure.get();
    }
    Sent one = new Sent(command, arguments, ignoresCancelling);
    sent.add(one);
    return one;
  }

  public List<Sent> sent() {
    return sent;
  }

  public Sent sent(int index) {
    return sent.get(index);
  }

  /** From now on nothing can be sent. */
  void failToSend(RuntimeException why) {
    sendFailure = Optional.of(why);
  }

  /** As if replies were on their way already when commands are ended. */
  void ignoreCancelling() {
    ignoresCancelling = true;
  }
}
