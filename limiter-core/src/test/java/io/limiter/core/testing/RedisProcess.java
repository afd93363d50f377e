// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A private redis-server, or sentinel, for tests of faults: it may be stopped, killed and suspended
 * without affecting the server that other tests share. It listens on loopback, and can be started
 * again on the same port. A server keeps nothing on disk. Signals go only to the process started
 * here.
 */
public final class RedisProcess implements AutoCloseable {

  private static final Duration START = Duration.ofSeconds(10);
  private static final Duration LOOK = Duration.ofMillis(500);
  private static final Duration BETWEEN_LOOKS = Duration.ofMillis(10);
  private static final Pattern PID = Pattern.compile("process_id:(\\d+)");

  /** Valkey reports the version of Redis that it stands for as well. */
  private static final Pattern VERSION = Pattern.compile("(valkey|redis)_version:(\\S+)");

  private static final Set<Process> RUNNING = ConcurrentHashMap.newKeySet();

  static {
    Runtime.getRuntime()
        .addShutdownHook(new Thread(() -> RUNNING.forEach(Process::destroyForcibly)));
  }

  private final Path binary;
  private final int port;
  private final List<String> arguments;
  private final Map<String, String> environment = new HashMap<>();
  private Process process;
  private Path directory;
  private String product = "";

  RedisProcess(Path binary, int port, String... settings) {
    this(binary, port, server(port, settings));
  }

  private RedisProcess(Path binary, int port, List<String> arguments) {
    this.binary = binary;
    this.port = port;
    this.arguments = arguments;
  }

  private static List<String> server(int port, String... settings) {
    List<String> arguments =
        new ArrayList<>(List.of("--port", Integer.toString(port), "--bind", "127.0.0.1"));
    arguments.addAll(List.of("--save", "", "--appendonly", "no"));
    arguments.addAll(List.of(settings));
    return arguments;
  }

  /**
   * Not started yet.
   *
   * @param settings further arguments of redis-server's command line, such as {@code "--maxmemory",
   *     "1mb"}
   */
  public static RedisProcess onFreePort(String... settings) {
    return onPort(Ports.free(), settings);
  }

  /** Not started yet; settings as for {@link #onFreePort}. */
  public static RedisProcess onPort(int port, String... settings) {
    return new RedisProcess(RedisBinary.installedOrEmbedded(), port, settings);
  }

  /**
   * Not started yet.
   *
   * @param configuration names the port; the sentinel writes its state there
   */
  static RedisProcess sentinel(int port, Path configuration) {
    return new RedisProcess(
        RedisBinary.installedOrEmbedded(), port, List.of(configuration.toString(), "--sentinel"));
  }

  /** Sets a variable of the environment that the server is started in. */
  public RedisProcess environment(String name, String value) {
    environment.put(name, value);
    return this;
  }

  /**
   * Returns when the server answers.
   *
   * @throws IllegalStateException with the end of the server's log, if it does not
   */
  public synchronized RedisProcess start() {
    if (isRunning()) {
      throw new IllegalStateException("The redis-server on port " + port + " runs already");
    }
    deleteDirectory();
    directory = TemporaryDirectory.create("limiter-redis-");
    Path log = directory.resolve("redis.log");
    try {
      ProcessBuilder builder =
          new ProcessBuilder(command())
              .directory(directory.toFile())
              .redirectErrorStream(true)
              .redirectOutput(log.toFile());
      builder.environment().putAll(environment);
      process = builder.start();
      RUNNING.add(process);
      process.onExit().thenAccept(RUNNING::remove);
      awaitAnswer(log);
    } catch (IOException e) {
      throw new IllegalStateException("Cannot run " + binary + ": " + e.getMessage(), e);
    }
    return this;
  }

  /** Asks the server to end, as an administrator would. */
  public synchronized void stop() {
    if (isRunning()) {
      resume();
      process.destroy();
      ProcessSignals.awaitEnd(process);
    }
  }

  /** Ends the server at once, as a crash would: the kernel closes its connections. */
  public synchronized void kill() {
    if (isRunning()) {
      process.destroyForcibly();
      ProcessSignals.awaitEnd(process);
    }
  }

  /** The server falls silent while its connections stay open, as when the network is lost. */
  public synchronized void suspend() {
    signal("STOP");
  }

  public synchronized void resume() {
    signal("CONT");
  }

  public synchronized boolean isRunning() {
    return process != null && process.isAlive();
  }

  public int port() {
    return port;
  }

  public String uri() {
    return "redis://127.0.0.1:" + port;
  }

  /** As the server reported at its last start, {@code Redis 7.0.15} for example; empty before. */
  public synchronized String product() {
    return product;
  }

  /** The name and the version of a server by its {@code INFO server}. */
  public static String product(String info) {
    Matcher version = VERSION.matcher(info);
    Map<String, String> versions = new HashMap<>();
    while (version.find()) {
      versions.put(version.group(1), version.group(2));
    }
    String valkey = versions.get("valkey");
    return valkey == null
        ? "Redis " + versions.getOrDefault("redis", "of unknown version")
        : "Valkey " + valkey;
  }

  /** Kills it and deletes its files. */
  @Override
  public synchronized void close() {
    kill();
    deleteDirectory();
  }

  private void deleteDirectory() {
    if (directory != null) {
      TemporaryDirectory.delete(directory);
      directory = null;
    }
  }

  private List<String> command() {
    List<String> command = new ArrayList<>();
    command.add(binary.toString());
    command.addAll(arguments);
    return command;
  }

  /** Another server may own the port and answer in our place, so the answer must carry our pid. */
  private void awaitAnswer(Path log) throws IOException {
    long deadline = System.nanoTime() + START.toNanos();
    while (System.nanoTime() < deadline && !ProcessSignals.endsWithin(process, BETWEEN_LOOKS)) {
      Optional<String> info = info();
      if (info.isPresent() && pidIn(info.get()) == process.pid()) {
        product = product(info.get());
        return;
      }
    }
    String lastWords = Files.exists(log) ? Files.readString(log).strip() : "";
    boolean ended = !process.isAlive();
    kill();
    throw new IllegalStateException(
        binary
            + " on port "
            + port
            + (ended ? " ended with code " + process.exitValue() : " did not answer in " + START)
            + (lastWords.isEmpty() ? "" : ": " + lastWords));
  }

  private Optional<String> info() {
    try {
      return Optional.of(TypedCommand.reply(port, "INFO server", LOOK));
    } catch (IOException notYet) {
      return Optional.empty();
    }
  }

  private static long pidIn(String info) {
    Matcher matcher = PID.matcher(info);
    return matcher.find() ? Long.parseLong(matcher.group(1)) : -1;
  }

  private void signal(String name) {
    if (!isRunning()) {
      throw new IllegalStateException("No redis-server of this test runs on port " + port);
    }
    ProcessSignals.send(process, name);
  }
}
