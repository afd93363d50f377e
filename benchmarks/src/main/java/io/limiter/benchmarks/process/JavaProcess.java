// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.process;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.regex.Pattern;

/**
 * A service that listens on a port of this machine, in a JVM of its own. It ends when this is
 * closed.
 */
public final class JavaProcess implements AutoCloseable {

  /** Later JDKs warn about Netty's Unsafe and native access; 17 ignores the options. */
  private static final List<String> QUIET =
      List.of(
          "-XX:+IgnoreUnrecognizedVMOptions",
          "--enable-native-access=ALL-UNNAMED",
          "--sun-misc-unsafe-memory-access=allow");

  private static final Duration LONGEST_START = Duration.ofMinutes(5);
  private static final long LOOK_NANOS = 2_000_000;
  private static final int LAST_WORDS = 4_000;
  private static final int END_SECONDS = 60;

  private static final int KIB = 1_024;

  private static final Pattern LOADED =
      Pattern.compile("java\\.cls\\.(?:sharedLoaded|loaded)Classes=(\\d+)");

  private final String name;
  private final Process process;
  private final long began;
  private final int port;
  private final Path output;

  private JavaProcess(String name, Process process, long began, int port, Path output) {
    this.name = name;
    this.process = process;
    this.began = began;
    this.port = port;
    this.output = output;
  }

  /**
   * Starts it, and does not wait until it listens.
   *
   * @param name its name in messages
   * @param launcher the beginning of the command line, such as {@code taskset -c 0}; may be empty
   * @param command the arguments of {@code java}: options, then what to run
   * @param environment added to that of this process; the service listens on the port that {@code
   *     MICRONAUT_SERVER_PORT} gives, which is added too
   */
  public static JavaProcess start(
      String name, List<String> launcher, List<String> command, Map<String, String> environment) {
    List<String> whole = new ArrayList<>(launcher);
    whole.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    whole.addAll(QUIET);
    whole.addAll(command);
    try {
      int port = LocalHttp.freePort();
      Path output = Files.createTempFile("benchmark-", ".log");
      ProcessBuilder builder =
          new ProcessBuilder(whole).redirectErrorStream(true).redirectOutput(output.toFile());
      builder.environment().putAll(environment);
      builder.environment().put("MICRONAUT_SERVER_PORT", Integer.toString(port));
      long began = System.nanoTime();
      Process process = builder.start();
      // A run that is ended by Ctrl-C leaves no service behind.
      Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly, "service-stop"));
      return new JavaProcess(name, process, began, port, output);
    } catch (IOException e) {
      throw new UncheckedIOException(name + " cannot be started: " + e.getMessage(), e);
    }
  }

  /** The URI of this path. */
  public URI uri(String path) {
    return URI.create("http://127.0.0.1:" + port + path);
  }

  /**
   * Returns at the first 200.
   *
   * @return the time since the start of the process
   * @throws IllegalStateException with its output, if it ends before, or takes more than five
   *     minutes
   */
  public Duration awaitOk(String path) {
    URI uri = uri(path);
    return await("answered " + path, () -> LocalHttp.status(uri) == 200);
  }

  /**
   * Returns as soon as its port accepts a connection: unlike {@link #awaitOk(String)}, it leaves
   * the first request to others.
   *
   * @throws IllegalStateException with its output, if it ends before, or takes more than five
   *     minutes
   */
  public void awaitListens() {
    var unused = await("listened", () -> LocalHttp.listens(port));
  }

  private Duration await(String what, BooleanSupplier done) {
    while (!done.getAsBoolean()) {
      if (ended(LOOK_NANOS, TimeUnit.NANOSECONDS)) {
        throw new IllegalStateException(
            "%s ended with %s before it %s. Its output:%n%s"
                .formatted(name, process.exitValue(), what, lastWords()));
      }
      if (System.nanoTime() - began > LONGEST_START.toNanos()) {
        throw new IllegalStateException(
            "%s had not %s within %s s. Its output:%n%s"
                .formatted(name, what, LONGEST_START.toSeconds(), lastWords()));
      }
    }
    return Duration.ofNanos(System.nanoTime() - began);
  }

  /** The processor time that it has used so far; empty if the system does not report it. */
  public Optional<Duration> processorTime() {
    return process.info().totalCpuDuration();
  }

  /** The status of the response to one request; 0 if there is none. */
  public int status(String path) {
    return LocalHttp.status(uri(path));
  }

  /**
   * The memory that it has of the machine after a collection of garbage, in bytes; empty if the
   * system is not Linux.
   */
  public Optional<Long> residentAfterCollection() {
    String unused = ask("GC.run");
    try {
      return Files.readAllLines(Path.of("/proc", Long.toString(process.pid()), "status")).stream()
          .filter(line -> line.startsWith("VmRSS:"))
          .map(line -> Long.parseLong(line.replaceAll("\\D", "")) * KIB)
          .findFirst();
    } catch (IOException notLinux) {
      return Optional.empty();
    }
  }

  /** How many classes it has loaded, from archives too. */
  public long loadedClasses() {
    return LOADED
        .matcher(ask("PerfCounter.print"))
        .results()
        .mapToLong(found -> Long.parseLong(found.group(1)))
        .sum();
  }

  /** What the JVM answers to a command of jcmd. */
  private String ask(String command) {
    try {
      Process asked =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "jcmd").toString(),
                  Long.toString(process.pid()),
                  command)
              .redirectErrorStream(true)
              .start();
      return new String(asked.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Its output so far. */
  public String output() {
    try {
      return Files.readString(output, StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private String lastWords() {
    String output = output();
    return output.substring(Math.max(0, output.length() - LAST_WORDS));
  }

  private boolean ended(long time, TimeUnit unit) {
    try {
      return process.waitFor(time, unit);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted while " + name + " was awaited", e);
    }
  }

  @Override
  public void close() {
    process.destroy();
    try {
      if (!ended(END_SECONDS, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
      Files.deleteIfExists(output);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      process.destroyForcibly();
    }
  }
}
