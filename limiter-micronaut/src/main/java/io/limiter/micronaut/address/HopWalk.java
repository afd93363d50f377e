// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.address;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Walks from the proxy that is the peer towards the client, from the right of a header to its left:
 * each hop has written down the one before it. So an element is believed only if all to its right,
 * who passed it on, are trusted, and the first who is not is the client; if all are, the leftmost
 * is. An element that is no address ends the walk at the one to its right: nobody tells who sent
 * it, and he may have made up everything further left.
 */
final class HopWalk {

  /** Most elements that are looked at. */
  static final int MAX_HOPS = 32;

  /** Most characters that are looked at, from the right. */
  static final int MAX_CHARACTERS = 4_096;

  private HopWalk() {}

  /** Null if the rightmost element is no address. */
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
