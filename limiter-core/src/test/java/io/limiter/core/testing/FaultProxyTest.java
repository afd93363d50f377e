// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class FaultProxyTest {

  private static final String PONG = "+PONG\r\n";

  private static RedisProcess redis;
  private final FaultProxy proxy = new FaultProxy(redis.port());

  @BeforeAll
  static void start() {
    redis = RedisProcess.onFreePort().start();
  }

  @AfterAll
  static void stop() {
    redis.close();
  }

  @AfterEach
  void close() {
    proxy.close();
  }

  @Test
  void dripsByteByByteAndKeepsTheOrder() throws IOException {
    try (Socket socket = connect()) {
      proxy.drip(Duration.ofMillis(5));
      long before = System.nanoTime();
      assertThat(ask(socket, "PING\r\nECHO x\r\n", 14)).isEqualTo(PONG + "$1\r\nx\r\n");
      assertThat(millisSince(before)).isBetween(70L, 1_000L);
    }
  }

  @Test
  void losesRepeatsAndReplacesReplies() throws IOException {
    try (Socket socket = connect()) {
      proxy.swallowReplyAfter(1);
      assertThat(ask(socket, "ECHO 1\r\nECHO 2\r\nECHO 3\r\n", 14))
          .isEqualTo("$1\r\n1\r\n$1\r\n3\r\n");
      proxy.duplicateReplyAfter(0);
      assertThat(ask(socket, "ECHO 4\r\n", 14)).isEqualTo("$1\r\n4\r\n$1\r\n4\r\n");
      proxy.replaceReplyAfter(0, "garbage");
      assertThat(ask(socket, "ECHO 5\r\nECHO 6\r\n", 14)).isEqualTo("garbage$1\r\n6\r\n");
    }
  }

  @Test
  void seesNestedRepliesAsOne() throws IOException {
    try (Socket socket = connect()) {
      proxy.swallowReplyAfter(0);
      assertThat(ask(socket, "HELLO 3\r\nCOMMAND INFO get\r\nPING\r\n", 5)).startsWith("*1\r\n");
      String rest = "";
      while (!rest.endsWith(PONG)) {
        rest += ask(socket, "", 1);
      }
    }
  }

  @Test
  void flaps() {
    proxy.flap(Duration.ofMillis(50));
    for (int i = 0; i < 2; i++) {
      await().pollInterval(Duration.ofMillis(5)).until(() -> !connects());
      await().pollInterval(Duration.ofMillis(5)).until(this::connects);
    }
  }

  private boolean connects() {
    try (Socket socket = connect()) {
      return ask(socket, "PING\r\n", 7).equals(PONG);
    } catch (IOException expected) {
      return false;
    }
  }

  private Socket connect() throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), proxy.port());
    socket.setSoTimeout(1_000);
    return socket;
  }

  /** Sends this, and reads so many bytes of what comes back. */
  private static String ask(Socket socket, String commands, int length) throws IOException {
    socket.getOutputStream().write(commands.getBytes(StandardCharsets.US_ASCII));
    byte[] read = socket.getInputStream().readNBytes(length);
    if (read.length < length) {
      throw new SocketException("closed after " + read.length + " bytes");
    }
    return new String(read, StandardCharsets.US_ASCII);
  }

  private static long millisSince(long nanos) {
    return (System.nanoTime() - nanos) / 1_000_000;
  }
}
