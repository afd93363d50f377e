// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Splits the bytes that a Redis sends into whole replies, RESP2 and RESP3. */
final class RespReplies {

  private byte[] pending = new byte[0];

  /** The replies that these bytes complete; the rest is kept for the next time. */
  List<byte[]> add(byte[] bytes) {
    byte[] all = Arrays.copyOf(pending, pending.length + bytes.length);
    System.arraycopy(bytes, 0, all, pending.length, bytes.length);
    pending = all;
    List<byte[]> replies = new ArrayList<>();
    int from = 0;
    for (int to = end(0); to > 0; to = end(from)) {
      replies.add(Arrays.copyOfRange(pending, from, to));
      from = to;
    }
    pending = Arrays.copyOfRange(pending, from, pending.length);
    return replies;
  }

  /** Where the reply that begins here ends; -1 if that has not come yet. */
  private int end(int from) {
    int line = lineEnd(from);
    if (line < 0) {
      return -1;
    }
    return switch (pending[from]) {
      case '$', '=', '!' -> {
        int length = number(from, line);
        int to = length < 0 ? line : line + length + 2;
        yield to <= pending.length ? to : -1;
      }
      case '*', '~', '>' -> elements(line, number(from, line));
      case '%' -> elements(line, 2 * number(from, line));
      default -> line;
    };
  }

  private int elements(int from, int count) {
    int to = from;
    for (int i = 0; i < count && to > 0; i++) {
      to = end(to);
    }
    return to;
  }

  private int number(int from, int line) {
    return Integer.parseInt(
        new String(pending, from + 1, line - from - 3, StandardCharsets.US_ASCII));
  }

  private int lineEnd(int from) {
    for (int i = from + 1; i < pending.length; i++) {
      if (pending[i] == '\n' && pending[i - 1] == '\r') {
        return i + 1;
      }
    }
    return -1;
  }
}
