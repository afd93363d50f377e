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
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
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

  private static final Logger LOG = LoggerFactory.getLogger(CallerAddress.class);

  private final Optional<UnixSockets> unixSockets;
  private final TrustedProxies proxies;
  private final boolean trustsProxies;
  private final ForwardedHeader header;
  private final List<String> forwardedHeaders;
  private final int ipv6Prefix;
  private final AtomicBoolean noProxyIsTrusted = new AtomicBoolean();
  private final AtomicBoolean proxyReportsNoClient = new AtomicBoolean();

  CallerAddress(Optional<UnixSockets> unixSockets, AddressConfiguration configuration) {
    this.unixSockets = unixSockets;
    this.proxies = configuration.proxies();
    this.trustsProxies = !proxies.isEmpty();
    this.header = configuration.header();
    this.forwardedHeaders =
        Stream.of(ForwardedHeader.FORWARDED_FOR, ForwardedHeader.FORWARDED, header.name())
            .distinct()
            .toList();
    this.ipv6Prefix = configuration.ipv6Prefix();
  }

  @Override
  public String of(HttpRequest<?> request) {
    if (!trustsProxies && peer(request) instanceof Inet4Address peer) {
      warnIfForwarded(request);
      return peer.getHostAddress(); // IPv4 addresses are counted by themselves
    }
    return text(client(request));
  }

  /** The client's address; null if it has none, such as on a Unix domain socket. */
  @Nullable IpAddress client(HttpRequest<?> request) {
    InetAddress peer = peer(request);
    IpAddress address = peer == null ? null : IpAddress.of(peer);
    if (!trustsProxies) {
      warnIfForwarded(request);
    } else if (isProxy(address, request)) {
      List<String> lines = request.getHeaders().getAll(header.name());
      IpAddress client = header.client(lines, proxies);
      if (client == null) {
        warnOfNoClient(lines.isEmpty());
      } else {
        address = client;
      }
    }
    return address;
  }

  /** The peer of the connection; null if it has no address, or the connection has ended. */
  private static @Nullable InetAddress peer(HttpRequest<?> request) {
    try {
      InetSocketAddress socket = request.getRemoteAddress();
      return socket == null ? null : socket.getAddress();
    } catch (
        ClassCastException noInternetSocket) { // Netty's request casts any address to this type.
      return null;
    }
  }

  private boolean isProxy(@Nullable IpAddress peer, HttpRequest<?> request) {
    return peer == null
        ? proxies.trustUnixSockets()
            && unixSockets.filter(sockets -> sockets.serve(request)).isPresent()
        : proxies.trust(peer);
  }

  @Override
  public String counted(String address) {
    if (address.equals(LOCAL)) {
      return address;
    }
    String network = "/" + ipv6Prefix; // an operator may name what was shown
    IpAddress parsed =
        IpAddress.parse(
            address.endsWith(network) && address.indexOf(':') >= 0
                ? address.substring(0, address.length() - network.length())
                : address);
    if (parsed == null) {
      throw new IllegalArgumentException(
          "The text is not an IP address: use one such as 192.0.2.1 or 2001:db8::1; names are not looked up");
    }
    return text(parsed);
  }

  private String text(@Nullable IpAddress address) {
    return address == null ? LOCAL : address.network(ipv6Prefix);
  }

  // Signs that the settings do not match the proxies, each logged once, without an address: all
  // clients would otherwise share their limits unnoticed.

  /** Checks a request while no proxy is trusted: it may have come from one nevertheless. */
  private void warnIfForwarded(HttpRequest<?> request) {
    if (noProxyIsTrusted.getPlain()) {
      return;
    }
    for (String name : forwardedHeaders) {
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
  private void warnOfNoClient(boolean missing) {
    if (!proxyReportsNoClient.getPlain() && proxyReportsNoClient.compareAndSet(false, true)) {
      LOG.warn(
          "A request came from a trusted proxy {}, so it is counted under the proxy's own address. Let the proxy write {}, which {}.header names, or remove peers that are not proxies from {}.trusted-proxies",
          missing
              ? "without " + header.name()
              : "with no address at the end of its " + header.name(),
          header.name(),
          AddressConfiguration.PREFIX,
          AddressConfiguration.PREFIX);
    }
  }

  /** Detects requests over a Unix domain socket, which HTTP requests do not expose. */
  @FunctionalInterface
  interface UnixSockets {

    /** Whether this request does. Other connections without an address do not count. */
    boolean serve(HttpRequest<?> request);
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
}
