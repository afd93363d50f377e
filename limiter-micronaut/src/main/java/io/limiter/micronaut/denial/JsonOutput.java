// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.micronaut.core.version.VersionUtils;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** JSON in UTF-8, as Jackson's generators write it without settings of the application. */
final class JsonOutput {

  private static final int TYPICAL_LENGTH = 256;

  private static final int ESCAPE_LENGTH = 6;

  private static final String HEX = "0123456789ABCDEF";

  /**
   * Whether characters beyond the first plane, such as emoji, are written as they are: by Jackson
   * 3, which is that of Micronaut 5. Jackson 2 escapes both surrogates.
   */
  private static final boolean PAIRS = VersionUtils.isAtLeastMicronautVersion("5.0.0");

  private byte[] bytes = new byte[TYPICAL_LENGTH];
  private int size;

  /** A text, a number, a boolean, null, or a list of these. */
  void value(@Nullable Object value) {
    if (value instanceof String text) {
      text(text);
    } else if (value instanceof List<?> items) {
      String before = "[";
      for (Object item : items) {
        ascii(before);
        value(item);
        before = ",";
      }
      ascii(items.isEmpty() ? "[]" : "]");
    } else {
      ascii(String.valueOf(value));
    }
  }

  void ascii(String ascii) {
    reserve(ascii.length());
    for (int i = 0; i < ascii.length(); i++) {
      bytes[size++] = (byte) ascii.charAt(i);
    }
  }

  void bytes(byte[] encoded) {
    reserve(encoded.length);
    System.arraycopy(encoded, 0, bytes, size, encoded.length);
    size += encoded.length;
  }

  void text(String text) {
    reserve(text.length() + 2);
    bytes[size++] = '"';
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c >= ' ' && c < 0x80 && c != '"' && c != '\\') {
        bytes[size++] = (byte) c;
      } else {
        reserve(text.length() - i + ESCAPE_LENGTH);
        if (PAIRS && Character.isSurrogate(c) && Character.charCount(text.codePointAt(i)) == 2) {
          pair(text.codePointAt(i));
          i++;
        } else {
          other(c);
        }
      }
    }
    bytes[size++] = '"';
  }

  private void other(char c) {
    switch (c) {
      case '"', '\\' -> escape(c);
      case '\b' -> escape('b');
      case '\t' -> escape('t');
      case '\n' -> escape('n');
      case '\f' -> escape('f');
      case '\r' -> escape('r');
      default -> {
        if (c < ' ' || Character.isSurrogate(c)) {
          escape('u');
          for (int shift = 12; shift >= 0; shift -= 4) {
            bytes[size++] = (byte) HEX.charAt((c >> shift) & 0xF);
          }
        } else if (c < 0x800) {
          bytes[size++] = (byte) (0xC0 | (c >> 6));
          bytes[size++] = (byte) (0x80 | (c & 0x3F));
        } else {
          bytes[size++] = (byte) (0xE0 | (c >> 12));
          bytes[size++] = (byte) (0x80 | ((c >> 6) & 0x3F));
          bytes[size++] = (byte) (0x80 | (c & 0x3F));
        }
      }
    }
  }

  private void pair(int character) {
    bytes[size++] = (byte) (0xF0 | (character >> 18));
    bytes[size++] = (byte) (0x80 | ((character >> 12) & 0x3F));
    bytes[size++] = (byte) (0x80 | ((character >> 6) & 0x3F));
    bytes[size++] = (byte) (0x80 | (character & 0x3F));
  }

  private void escape(char c) {
    bytes[size++] = '\\';
    bytes[size++] = (byte) c;
  }

  private void reserve(int more) {
    if (bytes.length - size < more) {
      bytes = Arrays.copyOf(bytes, Math.max(size + more, 2 * bytes.length));
    }
  }

  /** Returns what was written, and begins again. */
  byte[] copy() {
    byte[] taken = Arrays.copyOf(bytes, size);
    size = 0;
    return taken;
  }
}
