// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import static org.assertj.core.api.Assertions.assertThat;

import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpRequestWrapper;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnixDomainSocketAddress;
import java.net.UnknownHostException;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** By which address a request is counted. */
class PeerAddressTest {

  private final PeerAddress address = new PeerAddress();

  @ParameterizedTest
  @CsvSource({
    "203.0.113.7, 203.0.113.7",
    "127.0.0.1, 127.0.0.1",
    "2001:db8:12:34:56:78:9a:bc, 20010db800120034/64",
    "2001:db8:12:34::1, 20010db800120034/64",
    "2001:db8:12:35::1, 20010db800120035/64",
    "::1, 0000000000000000/64",
    "::ffff:203.0.113.7, 203.0.113.7",
  })
  void isThatOfThePeer(String peer, String counted) throws UnknownHostException {
    InetSocketAddress socket = new InetSocketAddress(InetAddress.getByName(peer), 40_123);

    assertThat(address.of(from(() -> socket))).isEqualTo(counted);
  }

  @Test
  void aScopeDoesNotMakeItAnother() throws UnknownHostException {
    byte[] linkLocal = InetAddress.getByName("fe80::1").getAddress();
    InetAddress scoped = Inet6Address.getByAddress(null, linkLocal, 3);

    assertThat(address.of(from(() -> new InetSocketAddress(scoped, 1))))
        .isEqualTo("fe80000000000000/64");
  }

  @Test
  void callersWithoutAnAddressAreLocal() {
    assertThat(address.of(from(() -> null))).isEqualTo("local");
    assertThat(address.of(from(() -> InetSocketAddress.createUnresolved("host", 1))))
        .isEqualTo("local");
  }

  @Test
  void callersOfAUnixSocketAreLocal() {
    Object unix = UnixDomainSocketAddress.of("/run/service.sock");

    assertThat(address.of(from(() -> (InetSocketAddress) unix))).isEqualTo("local");
  }

  @Test
  void forwardedHeadersAreNotBelieved() {
    HttpRequest<?> forged =
        HttpRequest.GET("/")
            .header("X-Forwarded-For", "198.51.100.1")
            .header("X-Real-IP", "198.51.100.1")
            .header("Forwarded", "for=198.51.100.1");
    HttpRequest<?> request = wrapped(forged, () -> new InetSocketAddress("203.0.113.7", 1));

    assertThat(address.of(request)).isEqualTo("203.0.113.7");
  }

  private static HttpRequest<?> from(Supplier<InetSocketAddress> peer) {
    return wrapped(HttpRequest.GET("/"), peer);
  }

  private static <B> HttpRequest<B> wrapped(
      HttpRequest<B> request, Supplier<InetSocketAddress> peer) {
    return new HttpRequestWrapper<>(request) {
      @Override
      public InetSocketAddress getRemoteAddress() {
        return peer.get();
      }
    };
  }
}
