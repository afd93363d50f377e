// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.limiter.micronaut.address.ForwardedHeader;
import io.limiter.micronaut.config.AddressConfiguration;
import io.micronaut.http.HttpRequest;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs, each once, signs that the settings do not match the proxies: all clients would otherwise
 * share their limits unnoticed. The messages contain no address.
 */
@Singleton
final class ProxyWarnings {

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
            "A request has the header {}, which is ignored, since no proxy is trusted. If one "
                + "of your proxies wrote it, all its clients are counted as one: add the "
                + "proxy's address or network to {}.trusted-proxies. If you have no proxy, a "
                + "client forged the header, and no action is needed",
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
          "A request came from a trusted proxy {}, so it is counted under the proxy's own "
              + "address. Let the proxy write {}, which {}.header names, or remove peers that "
              + "are not proxies from {}.trusted-proxies",
          missing ? "without " + header : "with no address at the end of its " + header,
          header,
          AddressConfiguration.PREFIX,
          AddressConfiguration.PREFIX);
    }
  }
}
