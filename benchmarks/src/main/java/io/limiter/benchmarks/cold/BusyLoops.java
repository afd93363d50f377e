// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.cold;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;

/** Processes that use all processor time that they get, until this is closed. */
final class BusyLoops implements AutoCloseable {

  /** Checks now and then whether this process still exists: nothing else may be left to end it. */
  private static final String LOOP =
      "while kill -0 %s 2>/dev/null; do i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; done";

  private final List<Process> processes = new ArrayList<>();

  private BusyLoops() {}

  /**
   * @param launcher the beginning of each command line, such as {@code taskset -c 0}; may be empty
   */
  static BusyLoops start(int number, List<String> launcher) {
    List<String> command = new ArrayList<>(launcher);
    command.addAll(List.of("sh", "-c", LOOP.formatted(ProcessHandle.current().pid())));
    BusyLoops loops = new BusyLoops();
    try {
      for (int i = 0; i < number; i++) {
        loops.processes.add(new ProcessBuilder(command).inheritIO().start());
      }
      return loops;
    } catch (IOException e) {
      loops.close();
      throw new UncheckedIOException("A busy loop cannot be started: " + e.getMessage(), e);
    }
  }

  @Override
  public void close() {
    processes.forEach(Process::destroyForcibly);
  }
}
