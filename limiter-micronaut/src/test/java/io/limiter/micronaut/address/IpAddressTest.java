// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.address;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which texts are addresses, and who is counted by them. */
class IpAddressTest {

  @ParameterizedTest
  @ValueSource(
      strings = {
        "0.0.0.0",
        "255.255.255.255",
        "192.0.2.10",
        "::",
        "::1",
        "1::",
        "2001:db8::1",
        "2001:DB8::aBcD",
        "2001:0db8:0000:0000:0000:0000:0000:0001",
        "1:2:3:4:5:6:7:8",
        "::2:3:4:5:6:7:8",
        "1:2:3:4:5:6:7::",
        "1::3:4:5:6:7:8",
        "1:2::5:6:7:8",
        "1:2:3::5:6:7:8",
        "1:2:3:4::8",
        "1:2:3:4:5::8",
        "1:2:3:4:5:6::8",
        "1::8",
        "::1.2.3.4",
        "64:ff9b::192.0.2.1",
        "1:2:3:4:5:6:1.2.3.4",
        "1::5:1.2.3.4",
      })
  void aLiteralIsReadAsByTheJdk(String literal) throws UnknownHostException {
    // The JDK asks no name server for any of these.
    assertThat(IpAddress.parse(literal)).isEqualTo(IpAddress.of(InetAddress.getByName(literal)));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "", " ", "1",
        "1.2.3", "1.2.3.4.5", "1.2.3.",
        ".1.2.3", "1..2.3", "1.2.3.256",
        "1.2.3.1000", "01.2.3.4", "1.2.3.00",
        "0x7f.0.0.1", "0x7f000001", "2130706433",
        "1.2.3.4 ", "+1.2.3.4", "1.2.3.-4",
        "\u0661.2.3.4", "\uff11.2.3.4", "1\u30022\u30023\u30024",
        "localhost", "example.com", ":",
        ":::", "1:", ":1",
        "1:2", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:",
        ":2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8:9::",
        "1::2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "::1:2:3:4:5:6:7:8",
        "1::2::3", "::12345", "::g",
        "::\u0661", "1.2.3.4::", "::1.2.3",
        "::1.2.3.4:5", "::01.2.3.4", "1:2:3:4:5:6:7:1.2.3.4",
        "::1/64", "[::1]", "::1%",
        "::1%eth 0", "%eth0", "1.2.3.4%eth0",
      })
  void nothingElseIsOne(String text) {
    assertThat(IpAddress.parse(text)).isNull();
  }

  @ParameterizedTest
  @CsvSource({
    "1.2.3.4, 1.2.3.4",
    "::ffff:1.2.3.4, 1.2.3.4",
    "::ffff:102:304, 1.2.3.4",
    "::FFFF:102:304, 1.2.3.4",
    "0:0:0:0:0:ffff:1.2.3.4, 1.2.3.4",
    "0000:0000:0000:0000:0000:ffff:0102:0304, 1.2.3.4",
    "64:ff9b::1.2.3.4, 1.2.3.4",
    "64:ff9b::102:304, 1.2.3.4",
    "64:ff9b:0:0:1::102:304, 64:ff9b::/64",
    "::1.2.3.4, ::/64",
    "::fffe:1.2.3.4, ::/64",
    "::1:ffff:1.2.3.4, ::/64",
    "2001:db8:12:34:56:78:9a:bc, 2001:db8:12:34::/64",
    "2001:DB8:0012:34::, 2001:db8:12:34::/64",
    "2001:db8:12:34::1%eth0, 2001:db8:12:34::/64",
    "2001:db8:12:35::1, 2001:db8:12:35::/64",
  })
  void allSpellingsOfAnAddressAreCountedAsOne(String spelling, String counted) {
    assertThat(IpAddress.parse(spelling).network(64)).isEqualTo(counted);
  }

  @ParameterizedTest
  @CsvSource({
    "32, 2001:db8::/32",
    "33, 2001:db8:8000::/33",
    "48, 2001:db8:ffff::/48",
    "56, 2001:db8:ffff:ff00::/56",
    "64, 2001:db8:ffff:ffff::/64",
    "65, 2001:db8:ffff:ffff:8000::/65",
    "127, 2001:db8:ffff:ffff:ffff:ffff:ffff:fffe/127",
    "128, 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff/128",
  })
  void anIpv6AddressIsCutToItsNetwork(int prefix, String counted) {
    IpAddress all = IpAddress.parse("2001:db8:ffff:ffff:ffff:ffff:ffff:ffff");

    assertThat(all.network(prefix)).isEqualTo(counted);
    assertThat(IpAddress.parse("1.2.3.4").network(prefix)).isEqualTo("1.2.3.4");
  }

  /** RFC 5952, 4.2. */
  @ParameterizedTest
  @CsvSource({
    "2001:db8:0:1:1:1:1:1",
    "1:0:0:2::3",
    "1::2:3:0:0:4",
    "2001:db8::1:0:0:1",
    "1:2:3:4:5:6::",
    "::2:3:4:5:6:7",
    "::1",
    "::",
  })
  void anIpv6AddressIsWrittenInItsShortestForm(String shortest) {
    assertThat(IpAddress.parse(shortest).network(128)).isEqualTo(shortest + "/128");
  }

  @Test
  void aScopeIsNoPartOfIt() throws UnknownHostException {
    byte[] linkLocal = InetAddress.getByName("fe80::1").getAddress();

    assertThat(IpAddress.of(Inet6Address.getByAddress(null, linkLocal, 3)))
        .isEqualTo(IpAddress.parse("fe80::1"));
  }
}
