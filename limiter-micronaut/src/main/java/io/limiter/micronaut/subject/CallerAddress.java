// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.limiter.micronaut.address.ForwardedHeader;
import io.limiter.micronaut.address.IpAddress;
import io.limiter.micronaut.address.TrustedProxies;
import io.limiter.micronaut.config.AddressConfiguration;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import jakarta.inject.Singleton;
import java.util.List;
import org.jspecify.annotations.Nullable;

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
    return text(address);
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
}
