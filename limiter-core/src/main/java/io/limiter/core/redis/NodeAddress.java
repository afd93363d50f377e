// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

/** Where a node of a Redis Cluster listens. */
record NodeAddress(String host, int port) {

  /** As Redis writes it, an IPv6 address without brackets: {@code host:port}. */
  static NodeAddress parse(String text) {
    int colon = text.lastIndexOf(':');
    return new NodeAddress(text.substring(0, colon), Integer.parseInt(text.substring(colon + 1)));
  }

  /** The same port at another host, where this one is not told: it is that of who told it. */
  NodeAddress orAt(String teller) {
    return host.isEmpty() || host.equals("?") ? new NodeAddress(teller, port) : this;
  }

  @Override
  public String toString() {
    return host + ':' + port;
  }
}
