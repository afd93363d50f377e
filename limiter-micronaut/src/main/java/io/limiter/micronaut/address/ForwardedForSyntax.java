// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.address;

import org.jspecify.annotations.Nullable;

/** {@code X-Forwarded-For: client, proxy, proxy}. */
final class ForwardedForSyntax implements HopSyntax {

  @Override
  public int start(String line, int floor, int end) {
    int start = end;
    while (start > floor && line.charAt(start - 1) != ',') {
      start--;
    }
    return start;
  }

  @Override
  public @Nullable IpAddress read(String line, int from, int to) {
    int begin = HopSyntax.skipBlanks(line, from, to);
    return ForwardedNode.readQuoted(line, begin, HopSyntax.dropBlanks(line, begin, to));
  }
}
