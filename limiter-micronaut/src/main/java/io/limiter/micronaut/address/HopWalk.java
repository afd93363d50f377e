// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.address;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Walks from the proxy that is the peer towards the client, from the right of a header to its left:
 * each hop appends the address of its own peer. An element is trusted only if all hops to its
 * right, which forwarded it, are trusted. The first hop that is not trusted is the client; if all
 * are trusted, it is the leftmost one. An element that is not an address ends the walk at the hop
 * to its right: its sender is unknown and may have forged everything further left.
 */
final class HopWalk {

  /** Maximum number of elements that are read. */
  static final int MAX_HOPS = 32;

  /** Maximum number of characters that are read, from the right. */
  static final int MAX_CHARACTERS = 4_096;

  private HopWalk() {}

  /** Returns null if the rightmost element is not an address. */
  static @Nullable IpAddress client(HopSyntax syntax, List<String> lines, TrustedProxies proxies) {
    IpAddress client = null;
    int characters = MAX_CHARACTERS;
    int hops = MAX_HOPS;
    for (int i = lines.size() - 1; i >= 0; i--) {
      String line = lines.get(i);
      for (int end = line.length(); end >= 0; hops--) {
        if (hops == 0) {
          return client;
        }
        int start = syntax.start(line, Math.max(0, end - characters - 1), end);
        boolean cutOff = end - start > characters;
        IpAddress hop = cutOff ? null : syntax.read(line, start, end);
        if (hop == null) {
          return client;
        }
        client = hop;
        if (!proxies.trust(hop)) {
          return client;
        }
        characters -= end - start + 1;
        end = start - 1; // before the comma; -1 at the beginning of the line
      }
    }
    return client;
  }
}
