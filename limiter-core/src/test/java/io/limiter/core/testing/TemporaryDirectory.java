// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/** Directories of servers, which leave files there. */
final class TemporaryDirectory {

  private static final Set<Path> LEFT = ConcurrentHashMap.newKeySet();

  static {
    Runtime.getRuntime()
        .addShutdownHook(new Thread(() -> LEFT.forEach(TemporaryDirectory::delete)));
  }

  private TemporaryDirectory() {}

  /** Deleted at the latest when this JVM ends. */
  static Path create(String prefix) {
    try {
      Path directory = Files.createTempDirectory(prefix);
      LEFT.add(directory);
      return directory;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Deletes it with its content, as far as possible. */
  static void delete(Path directory) {
    LEFT.remove(directory);
    try (Stream<Path> files = Files.walk(directory)) {
      List<Path> deepestFirst = files.sorted(Comparator.reverseOrder()).toList();
      for (Path file : deepestFirst) {
        Files.deleteIfExists(file);
      }
    } catch (IOException | UncheckedIOException inUse) {
      // A server that is being killed may still write; /tmp is cleared sooner or later.
    }
  }
}
