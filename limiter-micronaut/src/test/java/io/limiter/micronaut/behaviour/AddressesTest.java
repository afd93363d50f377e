// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Which address a call counts for, where the peer is the caller itself and where it is a proxy. The
 * tests call from this machine, which is the proxy that two of the services trust.
 */
class AddressesTest extends WithAndWithoutGate {

  private static final String XFF = "X-Forwarded-For";
  private static final String PROXIES = "127.0.0.0/8, ::1, 10.0.0.0/8";

  private TestServer proxied;
  private TestServer forwarded;

  AddressesTest() {
    super(AddressRoutes.SPEC);
  }

  @BeforeParameterizedClassInvocation
  void startBehindProxies() {
    proxied = start(Map.of("limiter.address.trusted-proxies", PROXIES));
    forwarded =
        start(
            Map.of(
                "limiter.address.trusted-proxies",
                PROXIES,
                "limiter.address.header",
                "Forwarded",
                "limiter.address.ipv6-prefix",
                56));
  }

  @AfterParameterizedClassInvocation
  void stopBehindProxies() {
    proxied.close();
    forwarded.close();
  }

  @BeforeEach
  void forgetBehindProxies() {
    proxied.clear();
    forwarded.clear();
  }

  @ParameterizedTest
  @ValueSource(strings = {XFF, "Forwarded", "X-Real-IP", "CF-Connecting-IP"})
  void aForgedHeaderGivesNoOtherLimit(String header) {
    SplittableRandom random = new SplittableRandom(header.length());
    int admitted = 0;
    for (int call = 0; call < 250; call++) {
      String forged = random.nextInt(1, 224) + ".0.0." + random.nextInt(256);
      String value = header.equals("Forwarded") ? "for=" + forged : forged;
      admitted += call(server, "ip", header, value) == 200 ? 1 : 0;
    }

    assertThat(admitted).isEqualTo(2);
    assertThat(server.keys().all()).hasSize(1);
  }

  @ParameterizedTest
  @ValueSource(strings = {"ip", "ip-mono"})
  void eachClientOfATrustedProxyHasItsOwnLimit(String route) {
    assertTwoAdmitted(route, XFF, "203.0.113.7");
    assertTwoAdmitted(route, XFF, "203.0.113.8");
    assertThat(call(proxied, route, XFF, "203.0.113.7, 10.0.0.2")).isEqualTo(429);
    assertThat(proxied.keys().all()).hasSize(2);
  }

  @Test
  void whatAClientPutsInFrontOfItGivesNoOtherLimit() {
    SplittableRandom random = new SplittableRandom(7);
    int admitted = 0;
    for (int call = 0; call < 250; call++) {
      String forged = random.nextInt(1, 224) + ".0.0." + random.nextInt(256);
      String front = random.nextInt(2) == 0 ? forged : forged + ", 10.0.0." + random.nextInt(256);
      admitted += call(proxied, "ip", XFF, front + ", 203.0.113.7, 10.0.0.2") == 200 ? 1 : 0;
    }

    assertThat(admitted).isEqualTo(2);
    assertThat(proxied.keys().all()).hasSize(1);
  }

  @Test
  void severalLinesAreOneList() {
    assertTwoAdmitted("ip", XFF, "203.0.113.7");

    assertThat(call(proxied, "ip", XFF, "6.6.6.6", XFF, "203.0.113.7")).isEqualTo(429);
    assertThat(call(proxied, "ip", XFF, "6.6.6.6", XFF, "203.0.113.7", XFF, "10.0.0.2"))
        .isEqualTo(429);
    assertThat(call(proxied, "ip", XFF, "203.0.113.7", XFF, "203.0.113.8")).isEqualTo(200);
  }

  @Test
  void ofIpv6TheNetworkIsCounted() {
    assertThat(call(proxied, "ip", XFF, "2001:db8:12:34::1")).isEqualTo(200);
    assertThat(call(proxied, "ip", XFF, "2001:DB8:12:34:ffff::2")).isEqualTo(200);
    for (int host = 0; host < 100; host++) {
      String address = "2001:db8:12:34:" + Integer.toHexString(host) + "::1";
      assertThat(call(proxied, "ip", XFF, address)).isEqualTo(429);
    }

    assertThat(call(proxied, "ip", XFF, "2001:db8:12:35::1")).isEqualTo(200);
    assertThat(proxied.keys().all()).hasSize(2);
  }

  @Test
  void allSpellingsOfAnAddressHaveOneLimit() {
    assertThat(call(proxied, "ip", XFF, "203.0.113.7:4711")).isEqualTo(200);
    assertThat(call(proxied, "ip", XFF, "::ffff:203.0.113.7")).isEqualTo(200);

    assertThat(call(proxied, "ip", XFF, "::ffff:cb00:7107")).isEqualTo(429);
    assertThat(call(proxied, "ip", XFF, "\"[::FFFF:203.0.113.7]:80\"")).isEqualTo(429);
    assertThat(proxied.keys().all()).hasSize(1);
  }

  @Test
  void callsWithoutAClientAreCountedAsTheProxy() {
    assertThat(call(proxied, "ip")).isEqualTo(200);
    assertThat(call(proxied, "ip", XFF, "6.6.6.6, unknown")).isEqualTo(200);

    for (String unreadable :
        new String[] {"", "6.6.6.6,", "_a", "[::1", "6.6.6.6:99999", "06.6.6.6"}) {
      assertThat(call(proxied, "ip", XFF, "6.6.6.6", XFF, unreadable))
          .as(unreadable)
          .isEqualTo(429);
    }
    assertThat(call(proxied, "ip", XFF, "x".repeat(7_000))).isEqualTo(429);
    assertThat(call(proxied, "ip", XFF, ",".repeat(7_000))).isEqualTo(429);
    assertThat(proxied.keys().all()).hasSize(1);
  }

  @Test
  void onlyTheHeaderThatIsNamedIsBelieved() {
    assertThat(call(proxied, "ip", "Forwarded", "for=6.6.6.6")).isEqualTo(200);
    assertThat(call(proxied, "ip", "X-Real-IP", "7.7.7.7")).isEqualTo(200);
    assertThat(call(proxied, "ip", "Forwarded", "for=8.8.8.8")).isEqualTo(429);

    assertThat(call(forwarded, "ip", XFF, "6.6.6.6")).isEqualTo(200);
    assertThat(call(forwarded, "ip", XFF, "7.7.7.7")).isEqualTo(200);
    assertThat(call(forwarded, "ip", XFF, "8.8.8.8")).isEqualTo(429);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '>',
      quoteCharacter = '~',
      value = {
        "for=\"[2001:db8:12:3400::1]\" > for=6.6.6.6, for=\"[2001:db8:12:34ff::2]:80\";proto=https",
        "for=203.0.113.7 > for=\", For=\"203.0.113.7:80\";host=\"a, for=6.6.6.6\", for=10.0.0.2",
      })
  void forwardedIsReadWithItsQuotes(String one, String same) {
    assertThat(call(forwarded, "ip", "Forwarded", one)).isEqualTo(200);
    assertThat(call(forwarded, "ip", "Forwarded", same)).isEqualTo(200);

    assertThat(call(forwarded, "ip", "Forwarded", one)).isEqualTo(429);
    assertThat(call(forwarded, "ip", "Forwarded", same)).isEqualTo(429);
    assertThat(call(forwarded, "ip", "Forwarded", "for=6.6.6.6")).isEqualTo(200);
  }

  private void assertTwoAdmitted(String route, String... headers) {
    assertThat(call(proxied, route, headers)).isEqualTo(200);
    assertThat(call(proxied, route, headers)).isEqualTo(200);
    assertThat(call(proxied, route, headers)).isEqualTo(429);
  }

  private static int call(TestServer server, String route, String... headers) {
    return server.get("/addresses/" + route, headers).statusCode();
  }
}
