// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.TimeUnit;
import redis.embedded.core.ExecutableProvider;

/** A redis-server from Maven Central, which keeps nothing on disk, for the duration of the run. */
final class EmbeddedServer implements AutoCloseable {

  private static final long START_NANOS = TimeUnit.SECONDS.toNanos(10);
  private static final int LOOK_MILLIS = 20;

  private final int port;
  private final Process process;

  private EmbeddedServer(int port, Process process) {
    this.port = port;
    this.process = process;
    // A run that is ended by Ctrl-C leaves no server behind.
    Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly, "redis-stop"));
  }

  /**
   * Returns when it answers.
   *
   * @throws IOException if it cannot run here
   */
  static EmbeddedServer start() throws IOException, InterruptedException {
    int port = freePort();
    Process process =
        new ProcessBuilder(
                ExecutableProvider.newJarResourceProvider().get().toString(),
                "--port",
                Integer.toString(port),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--appendonly",
                "no")
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    EmbeddedServer server = new EmbeddedServer(port, process);
    long begin = System.nanoTime();
    while (!server.listens()) {
      if (process.waitFor(LOOK_MILLIS, TimeUnit.MILLISECONDS)
          || System.nanoTime() - begin > START_NANOS) {
        server.close();
        throw new IOException(
            "The embedded redis-server does not run here (on Linux it needs libssl.so.3): give --redis or REDIS_URI a server of yours");
      }
    }
    return server;
  }

  String uri() {
    return "redis://127.0.0.1:" + port;
  }

  private boolean listens() {
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
      return true;
    } catch (IOException notYet) {
      return false;
    }
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  @Override
  public void close() {
    process.destroyForcibly();
    var unused = process.onExit().join();
  }
}
