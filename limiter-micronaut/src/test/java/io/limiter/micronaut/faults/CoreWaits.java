// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.faults;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/**
 * How long threads of this JVM were ready to run and had no core, as Linux counts it; nothing
 * elsewhere. So a machine that is busy with other builds is distinguished from a service that is
 * slow.
 */
final class CoreWaits implements AutoCloseable {

  private static final Path TASKS = Path.of("/proc/self/task");
  private static final String WAITS = "schedstat";

  /** Linux knows so much of a name. */
  private static final int MAX_NAME = 15;

  /** What is known of one thread; once it has ended, that stays. */
  private static final class Waits {
    private final FileChannel file;
    private long nanos;

    private Waits(FileChannel file) {
      this.file = file;
    }
  }

  private final List<Waits> threads = new ArrayList<>();
  private final ByteBuffer buffer = ByteBuffer.allocate(128);

  private CoreWaits() {}

  /** Of the current thread. */
  static CoreWaits ofThisThread() {
    CoreWaits waits = new CoreWaits();
    waits.add(Path.of("/proc/thread-self"));
    return waits;
  }

  /**
   * Of the threads that live now.
   *
   * @param prefixes what their names begin with
   */
  static CoreWaits of(String... prefixes) {
    CoreWaits waits = new CoreWaits();
    if (Files.isDirectory(TASKS)) {
      try (Stream<Path> tasks = Files.list(TASKS)) {
        tasks.filter(task -> named(task, prefixes)).forEach(waits::add);
      } catch (IOException e) {
        waits.close();
      }
    }
    return waits;
  }

  private static boolean named(Path task, String... prefixes) {
    try {
      String name = Files.readString(task.resolve("comm"));
      return Arrays.stream(prefixes)
          .anyMatch(
              prefix -> name.startsWith(prefix.substring(0, Math.min(MAX_NAME, prefix.length()))));
    } catch (IOException ended) {
      return false;
    }
  }

  private void add(Path task) {
    try {
      // The link leads to whichever thread asks, its end always to this one.
      threads.add(new Waits(FileChannel.open(task.toRealPath().resolve(WAITS))));
    } catch (IOException unknown) {
      // its waits count as none
    }
  }

  /** Nanoseconds so far, of all the threads together. For one thread at a time. */
  long nanos() {
    long sum = 0;
    for (Waits thread : threads) {
      sum += nanos(thread);
    }
    return sum;
  }

  /** The second of three numbers. */
  private long nanos(Waits thread) {
    try {
      int size = thread.file.read(buffer.clear(), 0);
      String line = new String(buffer.array(), 0, Math.max(0, size), StandardCharsets.US_ASCII);
      thread.nanos = Long.parseLong(line.split(" ")[1]);
    } catch (IOException | RuntimeException ended) {
      // as last known
    }
    return thread.nanos;
  }

  @Override
  public void close() {
    for (Waits thread : threads) {
      try {
        thread.file.close();
      } catch (IOException ignored) {
        // it was only read
      }
    }
    threads.clear();
  }
}
