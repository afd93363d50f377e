// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/**
 * Callers with a connection and a thread each, who call as often as they are answered until the
 * server ends. No client of any library, which would have threads and logs of its own.
 */
final class RawCallers implements AutoCloseable {

  private static final int PATIENCE_MILLIS = 5_000;

  private final int port;
  private final Map<Integer, LongAdder> statuses = new ConcurrentHashMap<>();
  private final List<Thread> threads = new ArrayList<>();
  private volatile boolean closed;

  private RawCallers(int port) {
    this.port = port;
  }

  /** The paths are called in turn. */
  static RawCallers call(int port, int callers, String... paths) {
    RawCallers all = new RawCallers(port);
    for (int i = 0; i < callers; i++) {
      Thread caller = new Thread(() -> all.run(paths), "caller-" + i);
      caller.setDaemon(true);
      all.threads.add(caller);
      caller.start();
    }
    return all;
  }

  long answers(int status) {
    LongAdder counted = statuses.get(status);
    return counted == null ? 0 : counted.sum();
  }

  Set<Integer> statuses() {
    return statuses.keySet();
  }

  /** Until the server has closed all connections. */
  void awaitEnd() throws InterruptedException {
    for (Thread caller : threads) {
      caller.join(TimeUnit.SECONDS.toMillis(10));
      assertThat(caller.isAlive()).as("%s still waits", caller.getName()).isFalse();
    }
  }

  private void run(String... paths) {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(PATIENCE_MILLIS);
      socket.setTcpNoDelay(true);
      InputStream in = new BufferedInputStream(socket.getInputStream());
      for (int i = 0; !closed; i++) {
        socket.getOutputStream().write(request(paths[i % paths.length]));
        int status = answer(in);
        statuses.computeIfAbsent(status, any -> new LongAdder()).increment();
      }
    } catch (IOException theServerHasEnded) {
      // As it should.
    }
  }

  static byte[] request(String path) {
    return ("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .getBytes(StandardCharsets.US_ASCII);
  }

  /** Reads one response, which must have a Content-Length. */
  private static int answer(InputStream in) throws IOException {
    int status = Integer.parseInt(line(in).split(" ")[1]);
    int length = 0;
    for (String field = line(in); !field.isEmpty(); field = line(in)) {
      if (field.toLowerCase(java.util.Locale.ROOT).startsWith("content-length:")) {
        length = Integer.parseInt(field.substring(field.indexOf(':') + 1).strip());
      }
    }
    in.skipNBytes(length);
    return status;
  }

  private static String line(InputStream in) throws IOException {
    StringBuilder line = new StringBuilder();
    for (int next = in.read(); next != '\n'; next = in.read()) {
      if (next < 0) {
        throw new IOException("The server has closed the connection");
      }
      if (next != '\r') {
        line.append((char) next);
      }
    }
    return line.toString();
  }

  @Override
  public void close() {
    closed = true;
  }
}
