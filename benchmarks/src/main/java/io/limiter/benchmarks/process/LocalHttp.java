// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.process;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;

/**
 * A minimal check whether a service answers: an HTTP client would take part of the startup time.
 */
final class LocalHttp {

  private static final int PATIENCE_MILLIS = 5_000;
  private static final String REQUEST = "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n";

  /** {@code HTTP/1.1 200}. */
  private static final int STATUS_END = 12;

  private LocalHttp() {}

  /** The status of the answer; 0 if there is none. */
  static int status(URI uri) {
    try (Socket socket = new Socket()) {
      socket.setSoTimeout(PATIENCE_MILLIS);
      socket.connect(new InetSocketAddress(uri.getHost(), uri.getPort()), PATIENCE_MILLIS);
      socket
          .getOutputStream()
          .write(REQUEST.formatted(uri.getPath(), uri.getAuthority()).getBytes(US_ASCII));
      byte[] head = socket.getInputStream().readNBytes(STATUS_END);
      return head.length < STATUS_END
          ? 0
          : Integer.parseInt(new String(head, STATUS_END - 3, 3, US_ASCII));
    } catch (IOException notYet) {
      return 0;
    }
  }

  /** Whether something takes connections there. */
  static boolean listens(int port) {
    try (Socket socket = new Socket()) {
      socket.connect(
          new InetSocketAddress(InetAddress.getLoopbackAddress(), port), PATIENCE_MILLIS);
      return true;
    } catch (IOException notYet) {
      return false;
    }
  }

  /** A port that is free at the moment. */
  static int freePort() {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
