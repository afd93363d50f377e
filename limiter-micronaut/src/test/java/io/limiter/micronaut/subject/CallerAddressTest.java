// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.config.CallerConfiguration.AddressConfiguration;
import io.limiter.micronaut.testing.FakeRequest;
import io.micronaut.http.HttpRequest;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnixDomainSocketAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** By which address a request is counted. */
class CallerAddressTest {

  private static final Object UNIX = UnixDomainSocketAddress.of("/run/service.sock");

  private List<String> proxies = List.of();
  private String header = "X-Forwarded-For";
  private int ipv6Prefix = 64;

  @ParameterizedTest
  @CsvSource({
    "203.0.113.7, 203.0.113.7",
    "127.0.0.1, 127.0.0.1",
    "2001:db8:12:34:56:78:9a:bc, 2001:db8:12:34::/64",
    "2001:db8:12:34::1, 2001:db8:12:34::/64",
    "2001:db8:12:35::1, 2001:db8:12:35::/64",
    "::1, ::/64",
    "::ffff:203.0.113.7, 203.0.113.7",
  })
  void isThatOfThePeer(String peer, String counted) throws UnknownHostException {
    InetSocketAddress socket = new InetSocketAddress(InetAddress.getByName(peer), 40_123);

    assertThat(of(new Call(() -> socket))).isEqualTo(counted);
  }

  @Test
  void theNetworkOfAnIpv6PeerMayBeWiderOrNarrower() throws UnknownHostException {
    ipv6Prefix = 48;

    assertThat(of(peer("2001:db8:12:34::1"))).isEqualTo("2001:db8:12::/48");
    assertThat(of(peer("203.0.113.7"))).isEqualTo("203.0.113.7");
  }

  @Test
  void callersWithoutAnAddressAreLocal() {
    assertThat(of(new Call(() -> null))).isEqualTo("local");
    assertThat(of(new Call(() -> InetSocketAddress.createUnresolved("host", 1))))
        .isEqualTo("local");
  }

  @Test
  void callersOfAUnixSocketAreLocal() {
    assertThat(of(new Call(() -> (InetSocketAddress) UNIX))).isEqualTo("local");
  }

  @Test
  void headersAreNotBelievedWhereNoProxyIsTrusted() throws UnknownHostException {
    assertThat(of(forging(peer("203.0.113.7")))).isEqualTo("203.0.113.7");
  }

  @Test
  void headersAreNotBelievedFromAPeerWhoIsNoProxy() throws UnknownHostException {
    proxies = List.of("10.0.0.0/8", "unix");

    assertThat(of(forging(peer("203.0.113.7")))).isEqualTo("203.0.113.7");
    assertThat(of(forging(new Call(() -> null)))).isEqualTo("local");
  }

  @ParameterizedTest
  @CsvSource({
    "X-Forwarded-For, 198.51.100.1",
    "Forwarded, 198.51.100.2",
    "x-forwarded-FOR, 198.51.100.1",
    "X-Real-IP, 198.51.100.3",
    "CF-Connecting-IP, 198.51.100.4",
    "True-Client-IP, 10.0.0.1",
  })
  void onlyTheConfiguredHeaderOfAProxyIsTrusted(String name, String counted)
      throws UnknownHostException {
    proxies = List.of("10.0.0.0/8");
    header = name;

    assertThat(of(forging(peer("10.0.0.1")))).isEqualTo(counted);
    assertThat(of(forging(peer("::ffff:10.0.0.1")))).isEqualTo(counted);
  }

  @Test
  void aProxyThatReportsNoClientIsCountedItself() throws UnknownHostException {
    proxies = List.of("10.0.0.0/8");

    assertThat(of(peer("10.0.0.1"))).isEqualTo("10.0.0.1");
    assertThat(of(peer("10.0.0.1").header("X-Forwarded-For", ""))).isEqualTo("10.0.0.1");
    assertThat(of(peer("10.0.0.1").header("X-Forwarded-For", "unknown"))).isEqualTo("10.0.0.1");
  }

  @Test
  void linesAreOneListInTheirOrder() throws UnknownHostException {
    proxies = List.of("10.0.0.0/8");
    FakeRequest request =
        peer("10.0.0.1")
            .header("X-Forwarded-For", "6.6.6.6")
            .header("x-forwarded-for", "198.51.100.1, 10.0.0.3")
            .header("X-Forwarded-For", "10.0.0.2");

    assertThat(of(request)).isEqualTo("198.51.100.1");
  }

  /** Also a request of HTTP/3, whose connection has no address that Netty would give. */
  @Test
  void whoHasNoAddressIsNoUnixSocketForThat() {
    proxies = List.of("unix");
    FakeRequest request =
        new Call(() -> (InetSocketAddress) UNIX).header("X-Forwarded-For", "198.51.100.1");

    assertThat(of(request, Optional.of(any -> true))).isEqualTo("198.51.100.1");
    assertThat(of(request, Optional.of(any -> false))).isEqualTo("local");
    assertThat(of(request, Optional.empty())).isEqualTo("local");
  }

  @Test
  void aUnixSocketIsTrustedOnlyIfItIsConfigured() {
    proxies = List.of("127.0.0.0/8", "::1");
    FakeRequest request =
        new Call(() -> (InetSocketAddress) UNIX).header("X-Forwarded-For", "198.51.100.1");

    assertThat(of(request, Optional.of(any -> true))).isEqualTo("local");
  }

  private String of(HttpRequest<?> request) {
    return of(request, Optional.empty());
  }

  private String of(HttpRequest<?> request, Optional<CallerAddress.UnixSockets> sockets) {
    return new CallerAddress(sockets, new AddressConfiguration(proxies, header, ipv6Prefix))
        .of(request);
  }

  private static FakeRequest forging(FakeRequest request) {
    return request
        .header("X-Forwarded-For", "198.51.100.1")
        .header("Forwarded", "for=198.51.100.2")
        .header("X-Real-IP", "198.51.100.3")
        .header("CF-Connecting-IP", "198.51.100.4")
        .header("X_Forwarded_For", "198.51.100.5");
  }

  private static FakeRequest peer(String address) throws UnknownHostException {
    InetSocketAddress socket = new InetSocketAddress(InetAddress.getByName(address), 1);
    return new Call(() -> socket);
  }

  private static final class Call extends FakeRequest {

    private final Supplier<InetSocketAddress> peer;

    Call(Supplier<InetSocketAddress> peer) {
      this.peer = peer;
    }

    @Override
    public InetSocketAddress getRemoteAddress() {
      return peer.get();
    }
  }
}
