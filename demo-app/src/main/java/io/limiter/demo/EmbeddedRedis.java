// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.embedded.core.ExecutableProvider;

/**
 * A real redis-server from Maven Central, for as long as the demo runs. It can be stopped and
 * killed, and restarts on the same port without data.
 */
final class EmbeddedRedis {

  private static final Logger LOG = LoggerFactory.getLogger(EmbeddedRedis.class);

  private static final int START_SECONDS = 10;
  private static final int LOOK_MILLIS = 20;

  private final int port = freePort();
  private volatile @Nullable Process process;
  private volatile boolean silent;

  private EmbeddedRedis() {
    // Not synchronized: the hook must end it even if another thread waits for its start.
    Runtime.getRuntime().addShutdownHook(new Thread(this::end, "embedded-redis-stop"));
  }

  /** Starts it on a free port of this machine; empty if it cannot run here. */
  static Optional<EmbeddedRedis> started() {
    EmbeddedRedis redis = down();
    try {
      redis.start();
      return Optional.of(redis);
    } catch (IllegalStateException e) {
      LOG.warn(
          "The embedded redis-server cannot run here (on Linux it needs libssl.so.3), so limits are kept in memory. Set REDIS_URI to use your own Redis. Its message: {}",
          e.getMessage());
      return Optional.empty();
    }
  }

  /** Reserves a port without starting it. */
  static EmbeddedRedis down() {
    return new EmbeddedRedis();
  }

  String uri() {
    return "redis://127.0.0.1:" + port;
  }

  /** The state in one word. Does not wait for a start that is under way. */
  String state() {
    return running() == null ? "down" : silent ? "silent" : "running";
  }

  /**
   * Starts it and returns when it answers; at once if it runs already.
   *
   * @throws IllegalStateException with its last output, if it does not answer
   */
  synchronized void start() {
    if (running() != null) {
      return;
    }
    try {
      String binary = ExecutableProvider.newJarResourceProvider().get().toString();
      Process started =
          new ProcessBuilder(command(binary))
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start();
      process = started;
      silent = false;
      awaitAnswer(started);
      LOG.info("Embedded redis-server on port {}, process {}", port, started.pid());
    } catch (IOException | RuntimeException e) {
      end();
      throw new IllegalStateException(e.getMessage(), e);
    }
  }

  /** Suspends it: it no longer answers, but its connections stay open, as when a machine hangs. */
  synchronized void stop() {
    signal("STOP");
    silent = running() != null;
  }

  /** Continues a suspended process. */
  synchronized void resume() {
    signal("CONT");
    silent = false;
  }

  /** Kills it, with all its data. */
  synchronized void kill() {
    end();
  }

  private void end() {
    Process running = running();
    if (running != null) {
      running.destroyForcibly();
      var unused = running.onExit().join();
    }
  }

  private @Nullable Process running() {
    Process started = process;
    return started != null && started.isAlive() ? started : null;
  }

  private List<String> command(String binary) {
    return List.of(
        binary,
        "--port",
        Integer.toString(port),
        "--bind",
        "127.0.0.1",
        "--save",
        "",
        "--appendonly",
        "no");
  }

  private void awaitAnswer(Process started) throws IOException {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_SECONDS);
    while (!answers()) {
      if (ended(started)) {
        throw new IOException("redis-server ended with code " + started.exitValue());
      }
      if (System.nanoTime() - deadline > 0) {
        throw new IOException("redis-server did not answer in " + START_SECONDS + " s");
      }
    }
  }

  private boolean answers() {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(1_000);
      socket.getOutputStream().write("PING\r\n".getBytes(US_ASCII));
      return socket.getInputStream().read() == '+';
    } catch (IOException notYet) {
      return false;
    }
  }

  private static boolean ended(Process process) {
    try {
      return process.waitFor(LOOK_MILLIS, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted while redis-server started", e);
    }
  }

  /** Uses the built-in kill of a shell. */
  private void signal(String name) {
    Process running = running();
    if (running == null) {
      return;
    }
    String kill = "kill -" + name + " " + running.pid();
    try {
      if (new ProcessBuilder("sh", "-c", kill).inheritIO().start().waitFor() != 0) {
        throw new IllegalStateException(kill + " failed");
      }
    } catch (IOException e) {
      throw new IllegalStateException(
          kill + " needs a shell, as Linux and macOS have it: " + e.getMessage(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted before " + kill, e);
    }
  }

  private static int freePort() {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
