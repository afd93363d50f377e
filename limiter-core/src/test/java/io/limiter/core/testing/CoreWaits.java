// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * How long threads of this JVM were ready to run and had no core, as Linux counts it; nothing
 * elsewhere. So a machine that is busy with other builds is distinguished from a service that is
 * slow.
 */
public final class CoreWaits implements AutoCloseable {

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

  private final String[] prefixes;
  private final Map<Path, Waits> threads = new HashMap<>();

  /** Of other names. */
  private final Set<Path> others = new HashSet<>();

  private final ByteBuffer buffer = ByteBuffer.allocate(128);

  private CoreWaits(String... prefixes) {
    this.prefixes = prefixes;
  }

  /** Of the current thread. */
  public static CoreWaits ofThisThread() {
    CoreWaits waits = new CoreWaits();
    try {
      // The link leads to whichever thread asks, its end always to this one.
      waits.add(Path.of("/proc/thread-self").toRealPath());
    } catch (IOException unknown) {
      // its waits count as none
    }
    return waits;
  }

  /**
   * Of the threads that live now.
   *
   * @param prefixes what their names begin with
   */
  public static CoreWaits of(String... prefixes) {
    CoreWaits waits = new CoreWaits(prefixes);
    waits.look();
    return waits;
  }

  /** Finds threads that have started since, and lets go of those that have ended. */
  void look() {
    if (!Files.isDirectory(TASKS)) {
      return;
    }
    try (Stream<Path> tasks = Files.list(TASKS)) {
      Set<Path> alive = tasks.collect(Collectors.toSet());
      others.retainAll(alive);
      threads.entrySet().removeIf(thread -> !alive.contains(thread.getKey()) && end(thread));
      for (Path task : alive) {
        if (!threads.containsKey(task) && !others.contains(task)) {
          if (isNamed(task)) {
            add(task);
          } else {
            others.add(task);
          }
        }
      }
    } catch (IOException | RuntimeException unknown) {
      // as last known
    }
  }

  private boolean end(Map.Entry<Path, Waits> thread) {
    close(thread.getValue());
    return true;
  }

  private boolean isNamed(Path task) {
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
      Waits thread = new Waits(FileChannel.open(task.resolve(WAITS)));
      nanos(thread); // what it has waited before is no part of what is longest
      threads.put(task, thread);
    } catch (IOException unknown) {
      // its waits count as none
    }
  }

  /** Nanoseconds so far, of all the threads together. For one thread at a time. */
  public long nanos() {
    long sum = 0;
    for (Waits thread : threads.values()) {
      sum += nanos(thread);
    }
    return sum;
  }

  /** Nanoseconds since this was asked last, of the thread that waited longest. */
  long longest() {
    long longest = 0;
    for (Waits thread : threads.values()) {
      long before = thread.nanos;
      longest = Math.max(longest, nanos(thread) - before);
    }
    return longest;
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
    threads.values().forEach(CoreWaits::close);
    threads.clear();
  }

  private static void close(Waits thread) {
    try {
      thread.file.close();
    } catch (IOException ignored) {
      // it was only read
    }
  }
}
