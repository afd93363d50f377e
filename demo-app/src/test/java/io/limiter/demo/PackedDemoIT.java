// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.testing.Ports;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The one jar that people run: what is packed into it has no manifest and no directory of its own.
 */
class PackedDemoIT {

  @Test
  void theJarStartsAndCountsInRedis(@TempDir Path directory) throws IOException {
    int port = Ports.free();
    Path output = directory.resolve("output");
    ProcessBuilder demo =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-jar",
                Path.of("target", "demo-app.jar").toString())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile());
    demo.environment().remove("REDIS_URI");
    demo.environment().put("MICRONAUT_SERVER_PORT", Integer.toString(port));
    Process process = demo.start();
    try {
      await()
          .atMost(Duration.ofSeconds(30))
          .untilAsserted(
              () -> {
                assertThat(process.isAlive()).as(Files.readString(output)).isTrue();
                HttpResponse<Void> answer = get(port, "/partners");
                assertThat(answer.statusCode()).isEqualTo(200);
                assertThat(answer.headers().firstValue("X-Decided-By")).hasValue("STORE");
              });
    } finally {
      process.destroy();
      process.onExit().join();
    }
  }

  private static HttpResponse<Void> get(int port, String path) throws Exception {
    try {
      return HttpClient.newHttpClient()
          .send(
              HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path)).build(),
              BodyHandlers.discarding());
    } catch (IOException notYet) {
      throw new AssertionError("No answer yet", notYet);
    }
  }
}
