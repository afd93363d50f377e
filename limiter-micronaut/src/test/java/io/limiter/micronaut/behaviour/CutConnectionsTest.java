// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.Duplicate;
import io.limiter.micronaut.annotation.DuplicateBy;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.http.GateFilter;
import io.limiter.micronaut.testing.HttpService;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Order;
import io.micronaut.http.MediaType;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.RequestFilter;
import io.micronaut.http.annotation.ServerFilter;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A connection of HTTP/2 is closed, without a word, before the bodies of its requests are there:
 * their methods never begin, so they hold nothing.
 */
class CutConnectionsTest {

  private static final String SPEC = "CutConnectionsTest";

  @Controller(value = "/cut", consumes = MediaType.ALL)
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Post("/places")
    @RateRule(count = 2, time = 3_600, algorithm = Algorithm.CONCURRENCY_LIMIT)
    String places(@Body String body) {
      return body;
    }

    @Post("/submissions")
    @RateLimiter(
        header = "X-Order",
        preventDuplicate = true,
        preventDuplicateRule = @RateRule(time = 3_600),
        duplicate = @Duplicate(by = DuplicateBy.CALLER))
    String submissions(@Body String body) {
      return body;
    }
  }

  /** Behind the gate. */
  @ServerFilter("/cut/**")
  @Requires(property = "spec.name", value = SPEC)
  static class Behind {

    final AtomicInteger admitted = new AtomicInteger();

    @RequestFilter
    @Order(GateFilter.ORDER + 100)
    void note() {
      admitted.incrementAndGet();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"places", "submissions"})
  void anIncompleteRequestHoldsNothing(String route) throws Exception {
    try (TestServer server =
        TestServer.start(SPEC, Map.of("micronaut.server.http-version", "2.0"))) {
      AtomicInteger admitted = server.bean(Behind.class).admitted;
      int streams = route.equals("places") ? 2 : 1;
      try (Socket client = new Socket(InetAddress.getLoopbackAddress(), server.port())) {
        OutputStream out = client.getOutputStream();
        out.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
        out.write(frame(0x4, 0, 0, new byte[0])); // SETTINGS
        for (int i = 0; i < streams; i++) {
          out.write(frame(0x1, 0x4, 2 * i + 1, head("/cut/" + route))); // HEADERS, END_HEADERS
          out.write(frame(0x0, 0, 2 * i + 1, new byte[50])); // DATA, half of it
        }
        out.flush();
        await().until(() -> admitted.get() == streams);
        assertThat(send(server, route)).isIn(409, 429);
      }

      await().untilAsserted(() -> assertThat(send(server, route)).isEqualTo(200));
    }
  }

  private static int send(TestServer server, String route) {
    return server.exchange("POST", "/cut/" + route, "whole", "X-Order", "k").statusCode();
  }

  private static byte[] frame(int type, int flags, int stream, byte[] payload) throws IOException {
    ByteArrayOutputStream frame = new ByteArrayOutputStream();
    frame.write(new byte[] {0, (byte) (payload.length >> 8), (byte) payload.length});
    frame.write(new byte[] {(byte) type, (byte) flags, 0, 0, 0, (byte) stream});
    frame.write(payload);
    return frame.toByteArray();
  }

  /** HPACK without a table: literal names and values. */
  private static byte[] head(String path) throws IOException {
    ByteArrayOutputStream fields = new ByteArrayOutputStream();
    String[] each = {
      ":method",
      "POST",
      ":scheme",
      "http",
      ":path",
      HttpService.path(path),
      ":authority",
      "localhost",
      "content-type",
      "application/json",
      "content-length",
      "100",
      "x-order",
      "k"
    };
    for (int i = 0; i < each.length; i += 2) {
      fields.write(0);
      for (int j = i; j < i + 2; j++) {
        fields.write(each[j].length());
        fields.write(each[j].getBytes(StandardCharsets.US_ASCII));
      }
    }
    return fields.toByteArray();
  }
}
