// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.address;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNoException;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The client that a trusted proxy's header reports. The proxies are 10.0.0.0/8 and fd00::/8; {@code
 * |} separates lines; a dash means that there is no client.
 */
class ForwardedHeaderTest {

  private static final TrustedProxies PROXIES =
      TrustedProxies.of(List.of("10.0.0.0/8", "fd00::/8"));

  @ParameterizedTest
  @CsvSource(
      delimiter = '>',
      quoteCharacter = '~',
      value = {
        "203.0.113.7 > 203.0.113.7",
        "6.6.6.6, 203.0.113.7 > 203.0.113.7",
        "6.6.6.6,203.0.113.7 > 203.0.113.7",
        "6.6.6.6, 203.0.113.7, 10.0.0.2 > 203.0.113.7",
        "6.6.6.6, 203.0.113.7, 10.0.0.2, 10.0.0.1 > 203.0.113.7",
        "10.0.0.9, 203.0.113.7, 10.0.0.2 > 203.0.113.7",
        "10.0.0.3, 10.0.0.2 > 10.0.0.3",
        "10.0.0.3 > 10.0.0.3",
        "6.6.6.6 | 203.0.113.7, 10.0.0.2 > 203.0.113.7",
        "6.6.6.6 | 203.0.113.7 | 10.0.0.2 > 203.0.113.7",
        "203.0.113.7 | 6.6.6.6 > 6.6.6.6",
        "203.0.113.7:4711 > 203.0.113.7",
        "203.0.113.7:0 > 203.0.113.7",
        "203.0.113.7:65535 > 203.0.113.7",
        "203.0.113.7:_port > 203.0.113.7",
        "\"203.0.113.7\" > 203.0.113.7",
        "\"203.0.113.7:4711\" > 203.0.113.7",
        "2001:db8::7 > 2001:db8::/64",
        "[2001:db8::7] > 2001:db8::/64",
        "[2001:db8::7]:4711 > 2001:db8::/64",
        "\"[2001:db8::7]:4711\" > 2001:db8::/64",
        "fe80::7%eth0 > fe80::/64",
        "[fe80::7%eth0]:80 > fe80::/64",
        "::ffff:203.0.113.7 > 203.0.113.7",
        "6.6.6.6, ::ffff:10.0.0.2 > 6.6.6.6",
        "203.0.113.7, FD12::1 > 203.0.113.7",
        "203.0.113.7, [fd12::1]:80, 10.0.0.1:80 > 203.0.113.7",
      })
  void theRightmostUntrustedAddressIsTheClient(String lines, String client) {
    assertThat(clientOf("X-Forwarded-For", lines)).isEqualTo(client);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "unknown", "_hidden", "for=6.6.6.6", "example.com",
        "unix:", "6.6.6", "06.6.6.6", "6.6.6.6:",
        "6.6.6.6:99999", "6.6.6.6:000080", "6.6.6.6:4294967376", "6.6.6.6:http",
        "6.6.6.6:-1", "6.6.6.6:+1", "6.6.6.6:_", "6.6.6.6:80:80",
        "6.6.6.6 6.6.6.6", "6.6.6.6;6.6.6.6", "6.6.6.6/32", "6.6.6.6%eth0",
        "[6.6.6.6]", "[::1", "::1]", "[]",
        "[::1]x", "[::1]80", "[::1]:", "[[::1]]",
        "[::1]]", "[::1%]", "\"6.6.6.6", "6.6.6.6\"",
        "\"\"", "\"", "\"\\6.6.6.6\"", "\"\"6.6.6.6\"\"",
        "'6.6.6.6'", "\u0000", "\u0666.6.6.6", "%eth0",
        "", "\t",
      })
  void whatIsNoAddressEndsTheWalkAtTheHopThatPassedItOn(String nonsense) {
    assertThat(clientOf("X-Forwarded-For", "6.6.6.6, " + nonsense + ", 10.0.0.2"))
        .isEqualTo("10.0.0.2");
    assertThat(clientOf("X-Forwarded-For", "6.6.6.6, " + nonsense)).isEqualTo("-");
    assertThat(clientOf("X-Forwarded-For", "6.6.6.6|" + nonsense)).isEqualTo("-");
    assertThat(clientOf("X-Forwarded-For", nonsense + ", 203.0.113.7, 10.0.0.2"))
        .isEqualTo("203.0.113.7");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '>',
      quoteCharacter = '~',
      value = {
        "for=203.0.113.7 > 203.0.113.7",
        "FOR=203.0.113.7 > 203.0.113.7",
        "For=\"203.0.113.7\" > 203.0.113.7",
        "for=203.0.113.7:4711 > 203.0.113.7",
        "for=\"203.0.113.7:4711\" > 203.0.113.7",
        "for=\"[2001:db8::7]\" > 2001:db8::/64",
        "for=\"[2001:db8::7]:_p\";proto=https > 2001:db8::/64",
        "proto=https;for=203.0.113.7;by=10.0.0.1 > 203.0.113.7",
        "proto=https ; for=203.0.113.7 ;; > 203.0.113.7",
        "for=6.6.6.6, for=203.0.113.7;by=10.0.0.2, for=10.0.0.2;by=10.0.0.1 > 203.0.113.7",
        "for=6.6.6.6 | for=203.0.113.7 > 203.0.113.7",
        "for=10.0.0.3,for=10.0.0.2 > 10.0.0.3",
        "for=203.0.113.7;host=\"a,for=6.6.6.6\" > 203.0.113.7",
        "for=203.0.113.7;host=\"a;for=6.6.6.6\" > 203.0.113.7",
        "for=203.0.113.7;host=\"a\\\",for=6.6.6.6,\\\"b\" > 203.0.113.7",
        "for=203.0.113.7;host=\"a\\\\\", for=10.0.0.2 > 203.0.113.7",
        "host=\", for=, for=203.0.113.7 > 203.0.113.7",
        "for=\", for=203.0.113.7 > 203.0.113.7",
        "for=\", for=\"[2001:db8::7]\" > 2001:db8::/64",
        "for=6.6.6.6;ext=\"\\, for=\"203.0.113.7\" > 203.0.113.7",
      })
  void forwardedIsReadTheSameWay(String lines, String client) {
    assertThat(clientOf("Forwarded", lines)).isEqualTo(client);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "203.0.113.7", "for=unknown", "for=_hidden",
        "for=\"_hidden:80\"", "for=", "for=\"",
        "for=\"\"", "for", "for = 6.6.6.6",
        "for= 6.6.6.6", "for=6.6.6.6 x", "for=6.6.6.6;for=7.7.7.7",
        "for=unknown;for=7.7.7.7", "for=6.6.6.6;host=a b", "for=6.6.6.6;host",
        "for=6.6.6.6;host=\"a\"b", "for=6.6.6.6;host=a\"b", "for=\"\\6.6.6.6\"",
        "xfor=6.6.6.6", "by=6.6.6.6", "for=[::1",
        "for='6.6.6.6'", "=6.6.6.6", "",
      })
  void anElementOfForwardedWithoutAnAddressEndsTheWalk(String nonsense) {
    assertThat(clientOf("Forwarded", "for=6.6.6.6, " + nonsense + ", for=10.0.0.2"))
        .isEqualTo("10.0.0.2");
    assertThat(clientOf("Forwarded", "for=6.6.6.6, " + nonsense)).isEqualTo("-");
  }

  @ParameterizedTest
  @CsvSource({
    "203.0.113.7, 203.0.113.7",
    "203.0.113.7:80, 203.0.113.7",
    "10.0.0.3, 10.0.0.3",
    "2001:db8::7, 2001:db8::/64",
    "unknown, -",
    "'6.6.6.6, 203.0.113.7', -",
    "6.6.6.6|203.0.113.7, -",
    "'', -",
  })
  void anotherHeaderHasOneAddressOrNone(String lines, String client) {
    assertThat(clientOf("CF-Connecting-IP", lines)).isEqualTo(client);
  }

  @Test
  void aMissingHeaderHasNoClient() {
    for (String name : List.of("X-Forwarded-For", "Forwarded", "X-Real-IP")) {
      assertThat(ForwardedHeader.named(name).client(List.of(), PROXIES)).isNull();
    }
  }

  @Test
  void thirtyTwoHopsAreWalked() {
    String hops = ", 10.0.0.2".repeat(30);

    assertThat(clientOf("X-Forwarded-For", "203.0.113.7, 10.0.0.3" + hops))
        .isEqualTo("203.0.113.7");
    assertThat(clientOf("X-Forwarded-For", "203.0.113.7, 10.0.0.4, 10.0.0.3" + hops))
        .isEqualTo("10.0.0.4");
  }

  @Test
  void fourThousandCharactersAreLookedAt() {
    String last = ", 10.0.0.2";
    String padded =
        " ".repeat(ForwardedHeader.HopWalk.MAX_CHARACTERS - last.length() - "203.0.113.7".length());

    assertThat(clientOf("X-Forwarded-For", padded + "203.0.113.7" + last)).isEqualTo("203.0.113.7");
    assertThat(clientOf("X-Forwarded-For", "6.6.6.6," + padded + "203.0.113.7" + last))
        .isEqualTo("203.0.113.7");
    assertThat(clientOf("X-Forwarded-For", padded + " 203.0.113.7" + last)).isEqualTo("10.0.0.2");
    assertThat(
            clientOf(
                "X-Real-IP", "203.0.113.7" + " ".repeat(ForwardedHeader.HopWalk.MAX_CHARACTERS)))
        .isEqualTo("-");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", " ", "X-Forwarded-For, Forwarded", "X:Y", "X\r\nY", "Ä"})
  void aNameThatNoHeaderHasIsAMistake(String name) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ForwardedHeader.named(name))
        .withMessage(
            "set it to the name of one header, of 1 to 64 letters, digits and ._-: X-Forwarded-For, Forwarded, or one that contains only the client's address");
  }

  @Test
  void aNameMayHaveUpTo64Characters() {
    assertThatNoException().isThrownBy(() -> ForwardedHeader.named("X".repeat(64)));
    assertThatIllegalArgumentException().isThrownBy(() -> ForwardedHeader.named("X".repeat(65)));
  }

  private static String clientOf(String header, String lines) {
    IpAddress client =
        ForwardedHeader.named(header).client(List.of(lines.split("\\|", -1)), PROXIES);
    return client == null ? "-" : client.network(64);
  }
}
