// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.limiter.micronaut.address.ForwardedHeader;
import io.limiter.micronaut.address.IpAddress;
import io.limiter.micronaut.address.TrustedProxies;
import io.limiter.micronaut.config.CallerConfiguration.AddressConfiguration;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpRequestWrapper;
import io.micronaut.http.server.netty.NettyHttpRequest;
import jakarta.inject.Singleton;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The peer of the connection or, if that is a trusted proxy, the client that it reports. IPv6
 * addresses are counted by network. Headers of other peers are ignored.
 */
@Singleton
@Requires(missingBeans = ClientAddress.class)
final class CallerAddress implements ClientAddress {

  /**
   * Clients without a known address, such as those of a Unix socket, are counted as one subject.
   */
  private static final String LOCAL = "local";

  private final PeerAddresses peers;
  private final TrustedProxies proxies;
  private final ForwardedHeader header;
  private final int ipv6Prefix;
  private final ProxyWarnings warnings;

  CallerAddress(PeerAddresses peers, AddressConfiguration configuration, ProxyWarnings warnings) {
    this.peers = peers;
    this.proxies = configuration.proxies();
    this.header = configuration.header();
    this.ipv6Prefix = configuration.getIpv6Prefix();
    this.warnings = warnings;
  }

  @Override
  public String of(HttpRequest<?> request) {
    return text(client(request));
  }

  /** The client's address; null if it has none, such as on a Unix domain socket. */
  @Nullable IpAddress client(HttpRequest<?> request) {
    PeerAddresses.Peer peer = peers.of(request);
    IpAddress address = peer.address();
    if (proxies.isEmpty()) {
      warnings.noProxyIsTrusted(request);
    } else if (isProxy(peer)) {
      List<String> lines = request.getHeaders().getAll(header.name());
      IpAddress client = header.client(lines, proxies);
      if (client == null) {
        warnings.proxyReportsNoClient(lines.isEmpty());
      } else {
        address = client;
      }
    }
    return address;
  }

  @Override
  public String counted(String address) {
    if (address.equals(LOCAL) || isNetwork(address)) {
      return address;
    }
    IpAddress parsed = IpAddress.parse(address);
    if (parsed == null) {
      throw new IllegalArgumentException(
          "The text is not an IP address: give it one, such as 192.0.2.1 or 2001:db8::1; names are not looked up");
    }
    return text(parsed);
  }

  /** Whether this is the text of an IPv6 network, as {@link IpAddress#network} gives it. */
  private boolean isNetwork(String text) {
    int digits = (ipv6Prefix + 3) / 4;
    return text.length() > digits
        && text.substring(digits).equals("/" + ipv6Prefix)
        && text.chars()
            .limit(digits)
            .allMatch(c -> HexFormat.isHexDigit(c) && !Character.isUpperCase(c));
  }

  private boolean isProxy(PeerAddresses.Peer peer) {
    IpAddress address = peer.address();
    return address == null
        ? peer.unixSocket() && proxies.trustUnixSockets()
        : proxies.trust(address);
  }

  private String text(@Nullable IpAddress address) {
    return address == null ? LOCAL : address.network(ipv6Prefix);
  }

  /**
   * Logs, each once, signs that the settings do not match the proxies: all clients would otherwise
   * share their limits unnoticed. The messages contain no address.
   */
  @Singleton
  static final class ProxyWarnings {

    private static final Logger LOG = LoggerFactory.getLogger(ProxyWarnings.class);

    private final String header;
    private final List<String> headers;
    private final AtomicBoolean noProxyIsTrusted = new AtomicBoolean();
    private final AtomicBoolean proxyReportsNoClient = new AtomicBoolean();

    ProxyWarnings(AddressConfiguration configuration) {
      header = configuration.header().name();
      headers =
          Stream.of(ForwardedHeader.FORWARDED_FOR, ForwardedHeader.FORWARDED, header)
              .distinct()
              .toList();
    }

    /** Checks a request while no proxy is trusted: it may have come from one nevertheless. */
    void noProxyIsTrusted(HttpRequest<?> request) {
      if (noProxyIsTrusted.getPlain()) {
        return;
      }
      for (String name : headers) {
        if (request.getHeaders().get(name) != null && noProxyIsTrusted.compareAndSet(false, true)) {
          LOG.warn(
              "A request has the header {}, which is ignored, since no proxy is trusted. If one of your proxies wrote it, all its clients are counted as one: add the proxy's address or network to {}.trusted-proxies. If you have no proxy, a client forged the header, and no action is needed",
              name,
              AddressConfiguration.PREFIX);
          return;
        }
      }
    }

    /**
     * A trusted proxy does not report the client of a request.
     *
     * @param missing whether the header is missing; else its last element could not be read
     */
    void proxyReportsNoClient(boolean missing) {
      if (!proxyReportsNoClient.getPlain() && proxyReportsNoClient.compareAndSet(false, true)) {
        LOG.warn(
            "A request came from a trusted proxy {}, so it is counted under the proxy's own address. Let the proxy write {}, which {}.header names, or remove peers that are not proxies from {}.trusted-proxies",
            missing ? "without " + header : "with no address at the end of its " + header,
            header,
            AddressConfiguration.PREFIX,
            AddressConfiguration.PREFIX);
      }
    }
  }

  /** Finds the peer of a request's connection. */
  @Singleton
  static final class PeerAddresses {

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

    /** Detects Unix domain sockets of Netty, with any transport. */
    @Singleton
    @Requires(classes = NettyHttpRequest.class)
    static final class NettyUnixSockets implements UnixSockets {

      /** The channel type of epoll and kqueue, which may be absent. */
      private static final String NATIVE = "io.netty.channel.unix.DomainSocketAddress";

      @Override
      public boolean serve(HttpRequest<?> request) {
        HttpRequest<?> innermost = request;
        while (innermost instanceof HttpRequestWrapper<?> wrapper) {
          innermost = wrapper.getDelegate();
        }
        if (!(innermost instanceof NettyHttpRequest<?> netty)) {
          return false;
        }
        SocketAddress peer = netty.getChannelHandlerContext().channel().remoteAddress();
        return peer instanceof UnixDomainSocketAddress
            || (peer != null && peer.getClass().getName().equals(NATIVE));
      }
    }

    /** Detects requests over a Unix domain socket, which HTTP requests do not expose. */
    @FunctionalInterface
    interface UnixSockets {

      /** Whether this request does. Other connections without an address do not count. */
      boolean serve(HttpRequest<?> request);
    }
  }
}
