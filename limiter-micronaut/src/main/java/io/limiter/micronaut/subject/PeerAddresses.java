// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.limiter.micronaut.address.IpAddress;
import io.micronaut.http.HttpRequest;
import jakarta.inject.Singleton;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Finds the peer of a request's connection. */
@Singleton
final class PeerAddresses {

  private static final Peer NO_ADDRESS = new Peer(null, false);
  private static final Peer UNIX_SOCKET = new Peer(null, true);

  private final Optional<UnixSockets> unixSockets;

  PeerAddresses(Optional<UnixSockets> unixSockets) {
    this.unixSockets = unixSockets;
  }

  /**
   * The peer of a connection.
   *
   * @param address null if it has none, or the connection has ended
   * @param unixSocket whether it is a process of this machine, on a Unix domain socket
   */
  record Peer(@Nullable IpAddress address, boolean unixSocket) {}

  Peer of(HttpRequest<?> request) {
    InetSocketAddress socket;
    try {
      socket = request.getRemoteAddress();
    } catch (
        ClassCastException noInternetSocket) { // Netty's request casts any address to this type.
      return unixSockets.filter(sockets -> sockets.serve(request)).isPresent()
          ? UNIX_SOCKET
          : NO_ADDRESS;
    }
    InetAddress address = socket == null ? null : socket.getAddress();
    return address == null ? NO_ADDRESS : new Peer(IpAddress.of(address), false);
  }
}
