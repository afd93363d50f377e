// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import redis.embedded.core.ExecutableProvider;

/** Finds a redis-server to run: the machine's own, or the one that embedded-redis contains. */
final class RedisBinary {

  private static Path extracted;

  private RedisBinary() {}

  /** The first redis-server on PATH, else the embedded one. */
  static Path installedOrEmbedded() {
    return installed().orElseGet(RedisBinary::embedded);
  }

  static Optional<Path> installed() {
    String path = Optional.ofNullable(System.getenv("PATH")).orElse("");
    return Stream.of(path.split(Pattern.quote(File.pathSeparator)))
        .filter(directory -> !directory.isEmpty())
        .map(directory -> Path.of(directory, "redis-server"))
        .filter(Files::isExecutable)
        .findFirst();
  }

  /** Extracted to a temporary directory, once for each JVM. */
  static synchronized Path embedded() {
    if (extracted == null) {
      try {
        extracted = ExecutableProvider.newJarResourceProvider().get().toPath();
      } catch (IOException | RuntimeException e) {
        throw new IllegalStateException(
            "The embedded redis-server cannot be extracted for "
                + System.getProperty("os.name")
                + " "
                + System.getProperty("os.arch")
                + ": "
                + e.getMessage(),
            e);
      }
    }
    return extracted;
  }
}
