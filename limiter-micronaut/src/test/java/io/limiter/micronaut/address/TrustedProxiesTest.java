// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.address;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The peers that a list of proxies trusts. */
class TrustedProxiesTest {

  @ParameterizedTest
  @CsvSource({
    "192.0.2.1, 192.0.2.1, true",
    "192.0.2.1, 192.0.2.2, false",
    "192.0.2.1, ::ffff:192.0.2.1, true",
    "192.0.2.1/32, 192.0.2.1, true",
    "10.0.0.0/8, 10.255.255.255, true",
    "10.0.0.0/8, 11.0.0.0, false",
    "10.0.0.0/8, 9.255.255.255, false",
    "172.16.0.0/12, 172.31.255.255, true",
    "172.16.0.0/12, 172.32.0.0, false",
    "192.0.2.128/25, 192.0.2.128, true",
    "192.0.2.128/25, 192.0.2.127, false",
    "::ffff:10.0.0.0/104, 10.1.2.3, true",
    "::ffff:10.0.0.0/104, 11.1.2.3, false",
    "::ffff:10.0.0.1, 10.0.0.1, true",
    "10.0.0.0/8, 64:ff9b::10.0.0.1, false",
    "10.0.0.0/8, ::10.0.0.1, false",
    "2001:db8::1, 2001:db8:0::1, true",
    "2001:db8::1, 2001:db8::2, false",
    "2001:db8::/32, 2001:db8:ffff::, true",
    "2001:db8::/32, 2001:db9::, false",
    "2001:db8::/65, 2001:db8::7fff:ffff:ffff:ffff, true",
    "2001:db8::/65, 2001:db8::8000:0:0:0, false",
    "fc00::/7, fdff::1, true",
    "fc00::/7, fe00::1, false",
    "::1, ::1, true",
  })
  void networksAreComparedByBits(String network, String address, boolean trusted) {
    assertThat(TrustedProxies.of(List.of(network)).trust(IpAddress.parse(address)))
        .isEqualTo(trusted);
  }

  @ParameterizedTest
  @ValueSource(strings = {"::/7", "::/8", "::/64", "::/80", "::/95"})
  void aNetworkOfIpv6HoldsNoAddressOfIpv4(String network) {
    TrustedProxies proxies = TrustedProxies.of(List.of(network));

    assertThat(proxies.trust(IpAddress.parse("203.0.113.7"))).isFalse();
    assertThat(proxies.trust(IpAddress.parse("::ffff:203.0.113.7"))).isFalse();
    assertThat(proxies.trust(IpAddress.parse("::1"))).isTrue();
  }

  @Test
  void anyOfThemIsEnough() {
    TrustedProxies proxies = TrustedProxies.of(List.of("10.0.0.0/8", "unix", "2001:db8::/32"));

    assertThat(proxies.trust(IpAddress.parse("10.0.0.1"))).isTrue();
    assertThat(proxies.trust(IpAddress.parse("2001:db8::1"))).isTrue();
    assertThat(proxies.trust(IpAddress.parse("192.0.2.1"))).isFalse();
    assertThat(proxies.trustUnixSockets()).isTrue();
  }

  @Test
  void unixSocketsAreTrustedOnlyIfTheyAreNamed() {
    assertThat(TrustedProxies.of(List.of("10.0.0.0/8")).trustUnixSockets()).isFalse();
    assertThat(TrustedProxies.of(List.of("Unix")).trustUnixSockets()).isTrue();
    assertThat(TrustedProxies.of(List.of("unix")).isEmpty()).isFalse();
    assertThat(TrustedProxies.of(List.of()).isEmpty()).isTrue();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "localhost", "proxy.example.com", "10.0.0.0/", "10.0.0.0/33",
        "10.0.0.0/08", "10.0.0.0/-8", "10.0.0.0/ 8", "10.0.0.0/255.0.0.0",
        "10.0.0.0/99999999999", "10.0.0/8", "010.0.0.0/8", "10.*",
        "10.0.0.0-10.0.0.9", "/8", "2001:db8::/129", "2001:db8::/0032",
        "[::1]", "fe80::1%eth0", "fe80::%eth0/64", "10.0.0.1:8080",
        "unix:/run/proxy.sock",
      })
  void whatIsNoNetworkIsAMistake(String entry) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TrustedProxies.of(List.of("10.0.0.0/8", entry)))
        .withMessage(
            entry
                + ": it is neither an address nor a network: write, for example, 192.0.2.1, 10.0.0.0/8, 2001:db8::/32, or unix");
  }

  @ParameterizedTest
  @CsvSource({
    "0.0.0.0/0, 8",
    "0.0.0.0/1, 8",
    "10.0.0.0/7, 8",
    "::ffff:0:0/96, 8",
    "::ffff:0:0/103, 8",
    "::/0, 7",
    "2000::/3, 7",
  })
  void trustingAllAddressesIsAMistake(String entry, int widest) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TrustedProxies.of(List.of(entry)))
        .withMessage(
            entry + ": this network is too wide: write narrower ones, none wider than /" + widest);
  }

  @ParameterizedTest
  @CsvSource({"10.0.0.1/8, 8", "2001:db8::1/64, 64", "::ffff:10.0.0.0/90, 90"})
  void anAddressInANetworkIsNotTheNetwork(String entry, int bits) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TrustedProxies.of(List.of(entry)))
        .withMessage(
            "%s: the address has bits set after its first %s bits: write that address without /%s, or the network's first one"
                .formatted(entry, bits, bits));
  }

  @Test
  void thereIsABound() {
    assertThat(TrustedProxies.of(Collections.nCopies(1_024, "10.0.0.1")).isEmpty()).isFalse();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> TrustedProxies.of(Collections.nCopies(1_025, "10.0.0.1")))
        .withMessage(
            "1025 entries: specify at most 1024, with wider networks in place of single addresses");
  }

  /** Each request looks up its client on an event loop. */
  @Test
  void aLookUpDoesNotGrowWithTheNetworks() {
    TrustedProxies one = TrustedProxies.of(List.of("10.0.0.0/24"));
    TrustedProxies all =
        TrustedProxies.of(
            IntStream.range(0, TrustedProxies.MAX)
                .mapToObj(i -> "10.%s.%s.0/24".formatted(i / 256, i % 256))
                .toList());
    assertThat(all.trust(IpAddress.parse("10.3.255.255"))).isTrue();
    long least = nanos(one); // the least of several, since others use the processor, too
    long most = nanos(all);
    assertThat((double) most / least).isLessThan(20); // 300 and more if it compares them all
  }

  private static long nanos(TrustedProxies networks) {
    IpAddress client = IpAddress.parse("203.0.113.7");
    long least = Long.MAX_VALUE;
    for (int round = 0; round < 20; round++) {
      long begin = System.nanoTime();
      for (int i = 0; i < 2_000; i++) {
        if (networks.trust(client)) {
          throw new AssertionError(client);
        }
      }
      least = Math.min(least, System.nanoTime() - begin);
    }
    return least;
  }
}
