// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.testing.HttpService;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Scanner;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A proxy on the same machine may come over a Unix domain socket, and has no address then. */
class UnixSocketAddressTest {

  @TempDir Path directory;

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void callersHaveOneLimitWhereItIsNotTrusted(boolean gate) throws IOException {
    try (TestServer server = start(gate, "127.0.0.1")) {
      assertThat(call("X-Forwarded-For: 203.0.113.7")).isEqualTo(200);
      assertThat(call("X-Forwarded-For: 203.0.113.8")).isEqualTo(200);

      assertThat(call("X-Forwarded-For: 203.0.113.9")).isEqualTo(429);
      assertThat(server.keys().all()).hasSize(1);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void clientsHaveTheirOwnWhereItIs(boolean gate) throws IOException {
    try (TestServer server = start(gate, "unix")) {
      for (int client = 7; client < 9; client++) {
        assertThat(call("X-Forwarded-For: 6.6.6.6, 203.0.113." + client)).isEqualTo(200);
        assertThat(call("X-Forwarded-For: 203.0.113." + client)).isEqualTo(200);
        assertThat(call("X-Forwarded-For: 6.6.6.7, 203.0.113." + client)).isEqualTo(429);
      }
      assertThat(call("X-Other: 1")).isEqualTo(200);
      assertThat(server.keys().all()).hasSize(3);
    }
  }

  @Test
  void aPeerOverTheNetworkIsNotTrustedAsAUnixSocket() throws IOException {
    try (TestServer server = start(true, "unix")) {
      for (int call = 0; call < 2; call++) {
        assertThat(tcp(server, "6.6.6." + call)).isEqualTo(200);
      }
      assertThat(tcp(server, "7.7.7.7")).isEqualTo(429);
    }
  }

  private static int tcp(TestServer server, String forged) {
    return server.get("/addresses/ip", "X-Forwarded-For", forged).statusCode();
  }

  private TestServer start(boolean gate, String trusted) {
    Map<String, Object> settings = new LinkedHashMap<>();
    // Where endpoints have a port, Micronaut answers 500 to all requests over a Unix socket.
    settings.put(HttpService.AT_ROOT, true);
    settings.put("limiter.gate.enabled", gate);
    settings.put("limiter.address.trusted-proxies", trusted);
    settings.put("micronaut.server.netty.listeners.tcp.port", -1);
    settings.put("micronaut.server.netty.listeners.socket.family", "UNIX");
    settings.put("micronaut.server.netty.listeners.socket.path", socket().toString());
    return TestServer.start(AddressRoutes.SPEC, settings);
  }

  private Path socket() {
    return directory.resolve("limiter.sock");
  }

  private int call(String field) throws IOException {
    try (SocketChannel channel = SocketChannel.open(UnixDomainSocketAddress.of(socket()))) {
      String request =
          "GET /addresses/ip HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
              + field
              + "\r\n\r\n";
      channel.write(StandardCharsets.US_ASCII.encode(request));
      Scanner answer = new Scanner(Channels.newInputStream(channel), StandardCharsets.US_ASCII);
      assertThat(answer.next()).isEqualTo("HTTP/1.1");
      return answer.nextInt();
    }
  }
}
