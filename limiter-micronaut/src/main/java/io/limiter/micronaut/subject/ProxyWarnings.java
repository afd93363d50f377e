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
 * Says, each once, what looks like settings that do not fit the proxies: all callers would share
 * their limits, and nothing else would tell. It names nobody's address.
 */
@Singleton
final class ProxyWarnings {

  private static final Logger LOG = LoggerFactory.getLogger(ProxyWarnings.class);

  private final String header;
  private final List<String> headers;
  private final AtomicBoolean nobodyIsTrusted = new AtomicBoolean();
  private final AtomicBoolean proxyTellsNobody = new AtomicBoolean();

  ProxyWarnings(AddressConfiguration configuration) {
    header = configuration.header().name();
    headers =
        Stream.of(ForwardedHeader.FORWARDED_FOR, ForwardedHeader.FORWARDED, header)
            .distinct()
            .toList();
  }

  /** A request came while no proxy is trusted: it may tell of one nevertheless. */
  void nobodyIsTrusted(HttpRequest<?> request) {
    if (nobodyIsTrusted.getPlain()) {
      return;
    }
    for (String name : headers) {
      if (request.getHeaders().get(name) != null && nobodyIsTrusted.compareAndSet(false, true)) {
        LOG.warn(
            "A request came with {}, which is not believed, since no proxy is trusted. If a proxy of yours wrote it, all its clients are counted as one: name the proxy's address or network in {}.trusted-proxies. If there is none, a caller made it up, and nothing is to be done",
            name,
            AddressConfiguration.PREFIX);
        return;
      }
    }
  }

  /**
   * A trusted proxy does not tell whose request it passes on.
   *
   * @param missing the header was not there; else the last of it could not be read
   */
  void proxyTellsNobody(boolean missing) {
    if (!proxyTellsNobody.getPlain() && proxyTellsNobody.compareAndSet(false, true)) {
      LOG.warn(
          "A request came from a trusted proxy {}, so it is counted as the proxy's own, with all such. Let the proxy write {} as {}.header says, or take whoever is no proxy out of {}.trusted-proxies",
          missing ? "without " + header : "with no address at the end of its " + header,
          header,
          AddressConfiguration.PREFIX,
          AddressConfiguration.PREFIX);
    }
  }
}
