// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/** The machine of the run. */
public final class Machine {

  private static final Path PROCESSORS = Path.of("/proc/cpuinfo");

  private Machine() {}

  static Map<String, String> describe() {
    OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    Map<String, String> about = new LinkedHashMap<>();
    about.put(
        "processors", "%s, %s".formatted(Runtime.getRuntime().availableProcessors(), model()));
    about.put(
        "memory",
        String.format(Locale.ROOT, "%.1f GiB", (double) system.getTotalMemorySize() / (1L << 30)));
    about.put("load at the start", load(system));
    about.put("system", property("os.name") + ' ' + property("os.version"));
    about.put("Java", property("java.vm.name") + ' ' + property("java.vm.version"));
    return about;
  }

  private static String load(OperatingSystemMXBean system) {
    double load = system.getSystemLoadAverage();
    return load < 0 ? "unknown" : String.format(Locale.ROOT, "%.2f", load);
  }

  private static String property(String name) {
    return System.getProperty(name, "?");
  }

  /** What the processors are called, such as {@code AMD EPYC}; the architecture if unknown. */
  public static String model() {
    if (Files.isReadable(PROCESSORS)) {
      try (Stream<String> lines = Files.lines(PROCESSORS)) {
        return lines
            .filter(line -> line.startsWith("model name"))
            .map(line -> line.substring(line.indexOf(':') + 1).strip())
            .findFirst()
            .orElseGet(() -> property("os.arch"));
      } catch (IOException unreadable) {
        return property("os.arch");
      }
    }
    return property("os.arch");
  }
}
