// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.limiter.core.testing.Ports;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The demo as a person starts it, with nothing but a JDK. */
class DemoApplicationTest {

  private static final Pattern REDIS = Pattern.compile("Embedded redis-server on port (\\d+)");

  @Test
  void theEmbeddedRedisAnswers() {
    EmbeddedRedis redis = EmbeddedRedis.started().orElseThrow();
    RedisClient client = RedisClient.create(redis.uri());
    try (var connection = client.connect()) {
      assertThat(connection.sync().ping()).isEqualTo("PONG");
      assertThat(connection.sync().configGet("save")).containsEntry("save", "");
      assertThat(connection.sync().configGet("bind")).containsEntry("bind", "127.0.0.1");
    } finally {
      client.shutdown();
      redis.kill();
    }
  }

  @Test
  void theDemoStartsItsOwnRedisAndStopsItAtTheEnd(@TempDir Path directory) throws Exception {
    int port = Ports.free();
    Path output = directory.resolve("output");
    ProcessBuilder demo =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                "-Dlogback.configurationFile=logback.xml", // the demo's own, not that of the tests
                DemoApplication.class.getName())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile());
    demo.environment().remove("REDIS_URI");
    demo.environment().put("MICRONAUT_SERVER_PORT", Integer.toString(port));
    Process process = demo.start();
    try {
      await()
          .atMost(Duration.ofSeconds(30))
          .until(() -> status(port, "/articles").equals(Optional.of(200)));
      int redis = redisPort(output);
      assertThat(isOpen(redis)).isTrue();

      process.destroy();

      assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
      await().atMost(Duration.ofSeconds(10)).until(() -> !isOpen(redis));
      assertThat(isOpen(port)).isFalse();
    } finally {
      process.destroyForcibly();
    }
  }

  private static int redisPort(Path output) throws IOException {
    Matcher matcher = REDIS.matcher(Files.readString(output));
    assertThat(matcher.find()).as(Files.readString(output)).isTrue();
    return Integer.parseInt(matcher.group(1));
  }

  private static boolean isOpen(int port) {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      return socket.isConnected();
    } catch (IOException unreachable) {
      return false;
    }
  }

  private static Optional<Integer> status(int port, String path) throws InterruptedException {
    try {
      HttpRequest request =
          HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path)).build();
      return Optional.of(
          HttpClient.newHttpClient().send(request, BodyHandlers.discarding()).statusCode());
    } catch (IOException notYet) {
      return Optional.empty();
    }
  }
}
