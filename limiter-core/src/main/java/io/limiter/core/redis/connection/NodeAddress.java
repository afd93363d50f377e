// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.lettuce.core.RedisURI;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/** The address on which Redis listens. */
public record NodeAddress(String host, int port) {

  /** Parses the notation of Redis, with IPv6 addresses without brackets: {@code host:port}. */
  public static NodeAddress parse(String text) {
    int colon = text.lastIndexOf(':');
    return new NodeAddress(text.substring(0, colon), Integer.parseInt(text.substring(colon + 1)));
  }

  /** Returns this address; if it has no host, the same port at the host that reported it. */
  public NodeAddress orAt(String reporter) {
    return host.isEmpty() || host.equals("?") ? new NodeAddress(reporter, port) : this;
  }

  /** Host and port of a URI, for messages. */
  public static String text(RedisURI uri) {
    return new NodeAddress(uri.getHost(), uri.getPort()).toString();
  }

  /** The remote address of a channel, for messages. */
  static @Nullable String text(@Nullable SocketAddress address) {
    return address instanceof InetSocketAddress known
        ? new NodeAddress(known.getHostString(), known.getPort()).toString()
        : null;
  }

  /** For messages: {@code host:port}, an IPv6 address in brackets. */
  @Override
  public String toString() {
    boolean bare = host.indexOf(':') >= 0 && !host.startsWith("[");
    return (bare ? '[' + host + ']' : host) + ':' + port;
  }
}
