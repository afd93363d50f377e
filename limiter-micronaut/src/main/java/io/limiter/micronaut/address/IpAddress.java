// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.address;

import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * An IP address by its bits, so that all its spellings are equal. An IPv4 address is its
 * IPv4-mapped IPv6 address (RFC 4291, 2.5.5.2): {@code ::ffff:192.0.2.1} is {@code 192.0.2.1},
 * however it came.
 *
 * @param high the first 64 bits
 * @param low the last 64 bits
 */
public record IpAddress(long high, long low) {

  private static final long IPV4 = 0xffff_0000_0000L;
  private static final long LOW_32 = 0xffff_ffffL;

  /** 64:ff9b::/96, by which translators show IPv4 callers to IPv6 services (RFC 6052). */
  private static final long TRANSLATED = 0x0064_ff9b_0000_0000L;

  /** The address of these 32 bits. */
  static IpAddress ofIpv4(long bits) {
    return new IpAddress(0, IPV4 | bits);
  }

  /** The same bits; the scope of a link-local address is not among them. */
  public static IpAddress of(InetAddress address) {
    ByteBuffer bytes = ByteBuffer.wrap(address.getAddress());
    return bytes.remaining() == Integer.BYTES
        ? ofIpv4(bytes.getInt() & LOW_32)
        : new IpAddress(bytes.getLong(), bytes.getLong());
  }

  /** The address of this literal, as {@link IpText} wants it; null if it is none. */
  public static @Nullable IpAddress parse(String text) {
    return IpText.read(text, 0, text.length());
  }

  /** Whether it is an IPv4 address. */
  public boolean isIpv4() {
    return high == 0 && low >>> 32 == IPV4 >>> 32;
  }

  /**
   * Who is counted by this address: an IPv4 address itself, of an IPv6 address its network, as the
   * digits of its first bits: {@code 20010db800120034/64}. A customer is given such a network, so
   * he has all its addresses. What a translator made of an IPv4 address is that IPv4 address: all
   * of them are in one /64.
   *
   * @param ipv6Prefix bits of the network, 1 to 128
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

  /** The first bits, and zeros. */
  IpAddress masked(int bits) {
    return new IpAddress(
        high & mask(Math.min(bits, Long.SIZE)), low & mask(Math.max(bits - Long.SIZE, 0)));
  }

  /** A shift by 64 bits would be none. */
  private static long mask(int bits) {
    return bits == 0 ? 0 : -1L << (Long.SIZE - bits);
  }
}
