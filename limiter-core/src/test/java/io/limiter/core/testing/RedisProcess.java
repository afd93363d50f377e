// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A private redis-server for tests of faults: it may be stopped, killed and suspended without
 * harming the server that other tests share. It listens on loopback, keeps nothing on disk, and can
 * be started again on the same port. Signals go only to the process started here.
 */
public final class RedisProcess implements AutoCloseable {

  private static final Duration START = Duration.ofSeconds(10);
  private static final Duration BETWEEN_LOOKS = Duration.ofMillis(10);
  private static final Duration STOP = Duration.ofSeconds(5);
  private static final Pattern PID = Pattern.compile("process_id:(\\d+)");
  private static final Pattern VERSION = Pattern.compile("redis_version:(\\S+)");

  private static final Set<Process> RUNNING = ConcurrentHashMap.newKeySet();

  static {
    Runtime.getRuntime()
        .addShutdownHook(new Thread(() -> RUNNING.forEach(Process::destroyForcibly)));
  }

  private final Path binary;
  private final int port;
  private final List<String> settings;
  private Process process;
  private String version = "";

  RedisProcess(Path binary, int port, String... settings) {
    this.binary = binary;
    this.port = port;
    this.settings = List.of(settings);
  }

  /**
   * Not started yet.
   *
   * @param settings more of redis-server's command line, such as {@code "--maxmemory", "1mb"}
   */
  public static RedisProcess onFreePort(String... settings) {
    return onPort(freePort(), settings);
  }

  /** Not started yet; settings as for {@link #onFreePort}. */
  public static RedisProcess onPort(int port, String... settings) {
    return new RedisProcess(RedisBinary.installedOrEmbedded(), port, settings);
  }

  /** A port that was free a moment ago. */
  public static int freePort() {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Returns when the server answers.
   *
   * @throws IllegalStateException with the server's last words, if it does not
   */
  public synchronized RedisProcess start() {
    if (isRunning()) {
      throw new IllegalStateException("The redis-server on port " + port + " runs already");
    }
    try {
      Path directory = Files.createTempDirectory("limiter-redis-");
      Path log = directory.resolve("redis.log");
      directory.toFile().deleteOnExit();
      log.toFile().deleteOnExit();
      process =
          new ProcessBuilder(command(directory))
              .directory(directory.toFile())
              .redirectErrorStream(true)
              .redirectOutput(log.toFile())
              .start();
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
      awaitEnd(process);
    }
  }

  /** Ends the server at once, as a crash would: the kernel closes its connections. */
  public synchronized void kill() {
    if (isRunning()) {
      process.destroyForcibly();
      awaitEnd(process);
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

  /** As the server told when it was last started, {@code 7.0.15} for example; empty before. */
  public synchronized String version() {
    return version;
  }

  /** The same as {@link #kill()}: quick, and nothing here is worth saving. */
  @Override
  public void close() {
    kill();
  }

  private List<String> command(Path directory) {
    List<String> command = new ArrayList<>();
    command.add(binary.toString());
    command.addAll(List.of("--port", Integer.toString(port), "--bind", "127.0.0.1"));
    command.addAll(List.of("--save", "", "--appendonly", "no", "--dir", directory.toString()));
    command.addAll(settings);
    return command;
  }

  /** Another server may own the port and answer in our place, so the answer must carry our pid. */
  private void awaitAnswer(Path log) throws IOException {
    long deadline = System.nanoTime() + START.toNanos();
    while (System.nanoTime() < deadline && !endsWithin(process, BETWEEN_LOOKS)) {
      Optional<String> info = info();
      if (info.isPresent() && pidIn(info.get()) == process.pid()) {
        Matcher matcher = VERSION.matcher(info.get());
        version = matcher.find() ? matcher.group(1) : "?";
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
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 500);
      socket.setSoTimeout(500);
      socket.getOutputStream().write("INFO server\r\n".getBytes(StandardCharsets.US_ASCII));
      StringBuilder text = new StringBuilder();
      byte[] buffer = new byte[4096];
      InputStream in = socket.getInputStream();
      while (!PID.matcher(text).find()) {
        int read = in.read(buffer);
        if (read < 0) {
          return Optional.empty();
        }
        text.append(new String(buffer, 0, read, StandardCharsets.US_ASCII));
      }
      return Optional.of(text.toString());
    } catch (IOException notYet) {
      return Optional.empty();
    }
  }

  private static long pidIn(String info) {
    Matcher matcher = PID.matcher(info);
    return matcher.find() ? Long.parseLong(matcher.group(1)) : -1;
  }

  /** Through a shell, whose kill is built in: a bare machine may have no other. */
  private void signal(String name) {
    if (!isRunning()) {
      throw new IllegalStateException("No redis-server of this test runs on port " + port);
    }
    try {
      Process kill =
          new ProcessBuilder("sh", "-c", "kill -" + name + " " + process.pid()).inheritIO().start();
      if (kill.waitFor() != 0) {
        throw new IllegalStateException("kill -" + name + " " + process.pid() + " failed");
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  private static void awaitEnd(Process process) {
    if (!endsWithin(process, STOP)) {
      process.destroyForcibly();
    }
  }

  private static boolean endsWithin(Process process, Duration time) {
    try {
      return process.waitFor(time.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
      return true;
    }
  }
}
