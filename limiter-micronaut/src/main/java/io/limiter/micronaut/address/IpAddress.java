// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.address;

import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * The bits of an IP address, so that all spellings of it are equal. An IPv4 address is its
 * IPv4-mapped IPv6 address (RFC 4291, 2.5.5.2): {@code ::ffff:192.0.2.1} is equal to {@code
 * 192.0.2.1}.
 *
 * @param high the first 64 bits
 * @param low the last 64 bits
 */
public record IpAddress(long high, long low) {

  private static final long IPV4 = 0xffff_0000_0000L;
  private static final long LOW_32 = 0xffff_ffffL;

  /** 64:ff9b::/96, under which translators present IPv4 clients to IPv6 services (RFC 6052). */
  private static final long TRANSLATED = 0x0064_ff9b_0000_0000L;

  /** The address of these 32 bits. */
  static IpAddress ofIpv4(long bits) {
    return new IpAddress(0, IPV4 | bits);
  }

  /** The address with the same bits, without the scope of a link-local address. */
  public static IpAddress of(InetAddress address) {
    ByteBuffer bytes = ByteBuffer.wrap(address.getAddress());
    return bytes.remaining() == Integer.BYTES
        ? ofIpv4(bytes.getInt() & LOW_32)
        : new IpAddress(bytes.getLong(), bytes.getLong());
  }

  /** The address of this literal in the syntax of {@link IpText}; null if it is not an address. */
  public static @Nullable IpAddress parse(String text) {
    return IpText.read(text, 0, text.length());
  }

  /** Whether it is an IPv4 address. */
  public boolean isIpv4() {
    return high == 0 && low >>> 32 == IPV4 >>> 32;
  }

  /**
   * The text under which this address is counted: an IPv4 address itself; for an IPv6 address its
   * network, as the digits of its first bits: {@code 20010db800120034/64}. Providers assign such a
   * network to a customer, who can use all its addresses. A translated IPv4 address counts as that
   * IPv4 address, since all of them are in one /64.
   *
   * @param ipv6Prefix length of the network's prefix in bits, 1 to 128
   */
  public String network(int ipv6Prefix) {
    if (isIpv4() || (high == TRANSLATED && low >>> 32 == 0)) {
      return (low >>> 24 & 0xff)
          + "."
          + (low >>> 16 & 0xff)
          + "."
          + (low >>> 8 & 0xff)
          + "."
          + (low & 0xff);
    }
    IpAddress network = masked(ipv6Prefix);
    HexFormat hex = HexFormat.of();
    String digits = hex.toHexDigits(network.high);
    if (ipv6Prefix > Long.SIZE) {
      digits += hex.toHexDigits(network.low);
    }
    return digits.substring(0, (ipv6Prefix + 3) / 4) + '/' + ipv6Prefix;
  }

  /** The address with all bits after the first ones set to zero. */
  IpAddress masked(int bits) {
    return new IpAddress(
        high & mask(Math.min(bits, Long.SIZE)), low & mask(Math.max(bits - Long.SIZE, 0)));
  }

  /** Java's shift by 64 bits has no effect, hence the special case. */
  private static long mask(int bits) {
    return bits == 0 ? 0 : -1L << (Long.SIZE - bits);
  }
}
