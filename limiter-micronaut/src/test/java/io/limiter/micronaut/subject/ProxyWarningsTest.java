// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.testing.RecordedLog;
import io.limiter.micronaut.config.CallerConfiguration.AddressConfiguration;
import io.limiter.micronaut.testing.FakeRequest;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Settings that do not match the proxies are logged once, with the remedy. */
class ProxyWarningsTest {

  @AutoClose private final RecordedLog log = RecordedLog.of(CallerAddress.class);

  @ParameterizedTest
  @ValueSource(strings = {"X-Forwarded-For", "Forwarded", "X-Real-IP"})
  void aForwardedHeaderWithoutATrustedProxyIsLoggedOnce(String header) {
    CallerAddress address = address(List.of(), "X-Real-IP");
    assertThat(address.of(from("203.0.113.7"))).isEqualTo("203.0.113.7");
    assertThat(log.messages()).isEmpty();

    for (int call = 0; call < 3; call++) {
      assertThat(address.of(from("203.0.113.7").header(header, "198.51.100.1")))
          .isEqualTo("203.0.113.7");
    }

    assertThat(log.messages())
        .containsExactly(
            "A request has the header "
                + header
                + ", which is ignored, since no proxy is trusted. If one of your proxies wrote it, all its clients are counted as one: add the proxy's address or network to limiter.address.trusted-proxies. If you have no proxy, a client forged the header, and no action is needed");
  }

  @Test
  void aProxyThatSendsNoHeaderIsLoggedOnce() {
    CallerAddress address = address(List.of("10.0.0.0/8"), "X-Forwarded-For");
    assertThat(address.of(from("203.0.113.7"))).isEqualTo("203.0.113.7");
    assertThat(address.of(from("10.0.0.1").header("X-Forwarded-For", "198.51.100.1")))
        .isEqualTo("198.51.100.1");
    assertThat(log.messages()).isEmpty();

    for (int call = 0; call < 3; call++) {
      assertThat(address.of(from("10.0.0.1"))).isEqualTo("10.0.0.1");
    }

    assertThat(log.messages())
        .containsExactly(
            "A request came from a trusted proxy without X-Forwarded-For, so it is counted under the proxy's own address. Let the proxy write X-Forwarded-For, which limiter.address.header names, or remove peers that are not proxies from limiter.address.trusted-proxies");
  }

  @Test
  void aProxyThatWritesNoAddressIsLoggedOnce() {
    CallerAddress address = address(List.of("10.0.0.0/8"), "Forwarded");

    for (int call = 0; call < 3; call++) {
      assertThat(address.of(from("10.0.0.1").header("Forwarded", "for=_hidden")))
          .isEqualTo("10.0.0.1");
    }

    assertThat(log.messages())
        .singleElement()
        .asString()
        .startsWith(
            "A request came from a trusted proxy with no address at the end of its Forwarded, so it is counted under the proxy's own address");
  }

  @Test
  void nonsenseOfAClientBehindATrustedProxyIsNotLogged() {
    CallerAddress address = address(List.of("10.0.0.0/8"), "X-Forwarded-For");

    assertThat(address.of(from("10.0.0.1").header("X-Forwarded-For", "x, 198.51.100.1")))
        .isEqualTo("198.51.100.1");
    assertThat(log.messages()).isEmpty();
  }

  private static CallerAddress address(List<String> proxies, String header) {
    return new CallerAddress(Optional.empty(), new AddressConfiguration(proxies, header, 64));
  }

  private static FakeRequest from(String peer) {
    return new FakeRequest() {
      @Override
      public InetSocketAddress getRemoteAddress() {
        return new InetSocketAddress(peer, 1);
      }
    };
  }
}
