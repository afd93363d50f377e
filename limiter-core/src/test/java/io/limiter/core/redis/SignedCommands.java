// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.limiter.core.redis.ClusterSource.Redirection;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;

/** Connections on which every script gets one more argument, the last one, for use by the test. */
public final class SignedCommands {

  private SignedCommands() {}

  /**
   * @param argument supplied on the thread that sends; null for none
   */
  public static ConnectionSource on(ConnectionSource connections, Supplier<String> argument) {
    return connections instanceof ClusterSource cluster
        ? new Cluster(cluster, argument)
        : new Source(connections, argument);
  }

  /** The same on connections that many tests share: closing it does not close them. */
  public static ConnectionSource unclosed(ClusterSource cluster, Supplier<String> argument) {
    return new Cluster(cluster, argument) {
      @Override
      public void close() {}
    };
  }

  private static class Source implements ConnectionSource {

    private final ConnectionSource connections;
    private final Supplier<String> argument;

    Source(ConnectionSource connections, Supplier<String> argument) {
      this.connections = connections;
      this.argument = argument;
    }

    @Override
    public RedisClusterAsyncCommands<byte[], byte[]> commands() {
      return sign(connections.commands());
    }

    RedisClusterAsyncCommands<byte[], byte[]> sign(
        RedisClusterAsyncCommands<byte[], byte[]> commands) {
      return signed(commands, argument.get());
    }

    @Override
    public CompletionStage<Boolean> firstAttempt() {
      return connections.firstAttempt();
    }

    @Override
    public void renew() {
      connections.renew();
    }

    @Override
    public void close() {
      connections.close();
    }
  }

  private static class Cluster extends Source implements ClusterSource {

    private final ClusterSource cluster;
    private final Supplier<String> argument;

    Cluster(ClusterSource cluster, Supplier<String> argument) {
      super(cluster, argument);
      this.cluster = cluster;
      this.argument = argument;
    }

    /** A redirected command keeps the argument of the first one. */
    @Override
    public Primary node(int slot) {
      String first = argument.get();
      return new SignedNode(cluster.node(slot), () -> first);
    }

    @Override
    public CompletionStage<Primary> node(Redirection redirection, Primary from) {
      SignedNode signed = (SignedNode) from;
      return cluster
          .node(redirection, signed.node)
          .thenApply(node -> new SignedNode(node, signed.argument));
    }
  }

  private static final class SignedNode extends Source implements ClusterSource.Primary {

    private final ClusterSource.Primary node;
    private final Supplier<String> argument;

    SignedNode(ClusterSource.Primary node, Supplier<String> argument) {
      super(node, argument);
      this.node = node;
      this.argument = argument;
    }

    @Override
    public String name() {
      return node.name();
    }

    @Override
    public RedisClusterAsyncCommands<byte[], byte[]> asking() {
      return sign(node.asking());
    }

    @Override
    public void failed() {
      node.failed();
    }
  }

  @SuppressWarnings("unchecked")
  private static RedisClusterAsyncCommands<byte[], byte[]> signed(
      RedisClusterAsyncCommands<byte[], byte[]> commands, String argument) {
    return (RedisClusterAsyncCommands<byte[], byte[]>)
        Proxy.newProxyInstance(
            SignedCommands.class.getClassLoader(),
            new Class<?>[] {RedisClusterAsyncCommands.class},
            (proxy, method, parts) -> {
              if (argument != null && method.getName().startsWith("eval")) {
                byte[][] arguments = (byte[][]) parts[3];
                byte[][] more = Arrays.copyOf(arguments, arguments.length + 1);
                more[arguments.length] = argument.getBytes(StandardCharsets.US_ASCII);
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
