// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.testing.Ports;
import io.limiter.core.testing.RedisFixture;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The one jar that people run: what is packed into it has no manifest and no directory of its own.
 */
class PackedDemoIT {

  private static final int AT_ONCE = 64;

  private static final HttpClient CLIENT =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  @TempDir private Path directory;

  @Test
  void theJarStartsAndCountsInRedis() throws IOException {
    int port = Ports.free();
    Process process = start(port, Map.of());
    try {
      assertThat(decidedBy(answer(process, port, "/partners"))).isEqualTo("STORE");
    } finally {
      stop(List.of(process));
    }
  }

  /** One fixed window, which lasts longer than the flood. */
  @Test
  void aFloodToTwoProcessesWithLeasesIsAdmittedUpToTheCount() throws IOException {
    Map<String, String> settings =
        Map.of(
            "REDIS_URI",
            RedisFixture.uri(),
            "LIMITER_REDIS_KEY_PREFIX",
            Demo.newService(),
            "LIMITER_REDIS_DEADLINE",
            "10s", // a busy machine must not let memory decide
            "LIMITER_POLICIES_HOT_RULES_2000_PER_10S_TIME",
            "10m");
    List<Integer> ports = List.of(Ports.free(), Ports.free());
    List<Process> processes = new ArrayList<>();
    try {
      for (int port : ports) {
        processes.add(start(port, settings));
      }
      for (int i = 0; i < 2; i++) {
        assertThat(answer(processes.get(i), ports.get(i), "/health-free").statusCode())
            .isEqualTo(200);
      }

      Semaphore free = new Semaphore(AT_ONCE);
      Queue<HttpResponse<Void>> answers = new ConcurrentLinkedQueue<>();
      for (int i = 0; i < 3_000; i++) {
        free.acquireUninterruptibly();
        var unused =
            CLIENT
                .sendAsync(request(ports.get(i % 2), "/hot"), BodyHandlers.discarding())
                .whenComplete(
                    (answer, failure) -> {
                      if (answer != null) {
                        answers.add(answer);
                      }
                      free.release();
                    });
      }
      free.acquireUninterruptibly(AT_ONCE);

      assertThat(answers).hasSize(3_000);
      assertThat(answers).filteredOn(it -> it.statusCode() == 200).hasSizeBetween(1_960, 2_000);
      for (int port : ports) {
        assertThat(answers)
            .filteredOn(it -> it.uri().getPort() == port && decidedBy(it).equals("LEASE"))
            .isNotEmpty();
      }
      assertThat(answers)
          .extracting(PackedDemoIT::decidedBy)
          .containsOnly("LEASE", "STORE", "DENY_CACHE");
    } finally {
      stop(processes);
    }
  }

  private Process start(int port, Map<String, String> settings) throws IOException {
    ProcessBuilder demo =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-jar",
                Path.of("target", "demo-app.jar").toString())
            .redirectErrorStream(true)
            .redirectOutput(output(port).toFile());
    demo.environment().remove("REDIS_URI");
    demo.environment().put("MICRONAUT_SERVER_PORT", Integer.toString(port));
    demo.environment().putAll(settings);
    return demo.start();
  }

  private Path output(int port) {
    return directory.resolve("output-" + port);
  }

  private static void stop(List<Process> processes) {
    processes.forEach(Process::destroy);
    processes.forEach(process -> process.onExit().join());
  }

  /** The first answer of a process that starts. */
  private HttpResponse<Void> answer(Process process, int port, String path) {
    return await()
        .atMost(Duration.ofSeconds(30))
        .until(
            () -> {
              assertThat(process.isAlive()).as(Files.readString(output(port))).isTrue();
              return get(port, path);
            },
            answer -> answer.isPresent() && answer.get().statusCode() == 200)
        .orElseThrow();
  }

  private static Optional<HttpResponse<Void>> get(int port, String path)
      throws InterruptedException {
    try {
      return Optional.of(CLIENT.send(request(port, path), BodyHandlers.discarding()));
    } catch (IOException notYet) {
      return Optional.empty();
    }
  }

  private static HttpRequest request(int port, String path) {
    return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path)).build();
  }

  private static String decidedBy(HttpResponse<?> answer) {
    return answer.headers().firstValue("X-Decided-By").orElse("none");
  }
}
