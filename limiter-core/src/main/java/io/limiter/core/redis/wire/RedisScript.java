// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.wire;

import io.lettuce.core.codec.Base16;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/**
 * A script and its name in Redis.
 *
 * @param text the source
 * @param sha SHA-1 of the source, in lower-case hex
 */
public record RedisScript(String text, String sha) {

  public static RedisScript of(String text) {
    return new RedisScript(text, Base16.digest(text.getBytes(StandardCharsets.UTF_8)));
  }

  /** Reads a file next to this class. */
  public static String read(String file) {
    try (InputStream source = RedisScript.class.getResourceAsStream(file)) {
      if (source == null) {
        throw new IllegalStateException("The script " + file + " is missing from the class path");
      }
      return new String(source.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException("The script " + file + " cannot be read", e);
    }
  }
}
