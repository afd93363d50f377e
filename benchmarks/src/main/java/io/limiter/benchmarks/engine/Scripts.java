// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.engine;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** The scripts that are measured beside the limiter's. */
final class Scripts {

  /** With arguments as long as the limiter's, it measures the wire and Lua themselves. */
  static final String NOTHING = "return 1";

  private Scripts() {}

  static String read(String name) {
    try (InputStream in = Scripts.class.getResourceAsStream(name)) {
      if (in == null) {
        throw new IllegalArgumentException(
            "There is no script '%s': put it beside the others".formatted(name));
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
