// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class RedisProcessTest {

  @Test
  void isSilentWhileSuspendedAndAnswersWhenResumed() throws IOException {
    try (RedisProcess redis = RedisProcess.onFreePort().start();
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), redis.port())) {
      assertThat(ping(socket, 5_000)).isEqualTo("+PONG\r\n");

      redis.suspend();
      assertThatThrownBy(() -> ping(socket, 100)).isInstanceOf(SocketTimeoutException.class);

      redis.resume();
      assertThat(read(socket, 5_000)).isEqualTo("+PONG\r\n");
    }
  }

  @Test
  void startsAgainOnItsPortWithNothingLeft() throws IOException {
    try (RedisProcess redis = RedisProcess.onFreePort().start()) {
      assertThat(ask(redis, "SET left over\r\n")).isEqualTo("+OK\r\n");

      redis.kill();
      assertThat(redis.isRunning()).isFalse();
      redis.start();
      assertThat(ask(redis, "EXISTS left\r\n")).isEqualTo(":0\r\n");

      redis.stop();
      assertThat(redis.isRunning()).isFalse();
    }
  }

  @Test
  void stopsEvenWhileSuspended() {
    try (RedisProcess redis = RedisProcess.onFreePort().start()) {
      redis.suspend();
      redis.stop();
      assertThat(redis.isRunning()).isFalse();
    }
  }

  @Test
  void reportsWhyItCannotStart() {
    try (RedisProcess first = RedisProcess.onFreePort().start();
        RedisProcess second = RedisProcess.onPort(first.port())) {
      assertThatThrownBy(second::start)
          .isInstanceOf(IllegalStateException.class)
          .hasMessageContaining("on port " + first.port())
          .hasMessageContaining("Address already in use");
      assertThat(first.isRunning()).isTrue();
    }
  }

  private static String ask(RedisProcess redis, String command) throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), redis.port())) {
      return ask(socket, command, 5_000);
    }
  }

  private static String ping(Socket socket, int timeoutMillis) throws IOException {
    return ask(socket, "PING\r\n", timeoutMillis);
  }

  private static String ask(Socket socket, String command, int timeoutMillis) throws IOException {
    socket.getOutputStream().write(command.getBytes(StandardCharsets.US_ASCII));
    return read(socket, timeoutMillis);
  }

  private static String read(Socket socket, int timeoutMillis) throws IOException {
    socket.setSoTimeout(timeoutMillis);
    byte[] answer = new byte[64];
    return new String(answer, 0, socket.getInputStream().read(answer), StandardCharsets.US_ASCII);
  }
}
