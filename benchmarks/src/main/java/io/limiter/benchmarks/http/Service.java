// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

import io.limiter.benchmarks.Benchmarks;
import io.limiter.benchmarks.process.JavaProcess;
import io.limiter.benchmarks.server.BenchmarkService.Script;
import io.limiter.benchmarks.server.ServerMode;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The service in a process of its own, and occasional checks of its answers. */
final class Service implements AutoCloseable {

  /** The same heap on every machine; far more than the service needs. */
  private static final List<String> HEAP = List.of("-Xms512m", "-Xmx512m");

  private static final Duration PATIENCE = Duration.ofSeconds(10);

  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
  private final JavaProcess process;

  private Service(JavaProcess process) {
    this.process = process;
  }

  /** Starts it; {@link #awaitReady()} returns when it listens. */
  static Service start(String redis, String keyPrefix, Script script) {
    List<String> command = new ArrayList<>(HEAP);
    command.addAll(
        List.of("-cp", System.getProperty("java.class.path"), Benchmarks.class.getName()));
    command.addAll(ServerMode.commandLine(keyPrefix, script));
    // Not as an option: all users of this machine can read those, and it may have a password.
    return new Service(
        JavaProcess.start("The service", List.of(), command, Map.of("REDIS_URI", redis)));
  }

  void awaitReady() {
    var unused = process.awaitOk(Route.PLAIN.path());
  }

  URI uri(String path) {
    return process.uri(path);
  }

  /**
   * Checks one answer: the second, if the route admits the first.
   *
   * @throws IllegalStateException if the answer is not that of the route
   */
  void look(Route route) {
    HttpResponse<String> answer = get(route.path());
    if (route.expected() == Expected.DENIED && answer.statusCode() == 200) {
      answer = get(route.path());
    }
    route.expected().check(answer);
  }

  /** Decisions that memory has taken since the start because Redis was too late. */
  long fallbacks() {
    return Long.parseLong(get("/fallbacks").body());
  }

  /**
   * The processor time that its process has used so far, user and system.
   *
   * @throws IllegalStateException if this system does not report it
   */
  Duration processorTime() {
    return process
        .processorTime()
        .orElseThrow(
            () ->
                new IllegalStateException(
                    "This system does not report the processor time of a process: measure on Linux, which has it in /proc"));
  }

  private HttpResponse<String> get(String path) {
    URI uri = process.uri(path);
    try {
      return client.send(
          HttpRequest.newBuilder(uri).timeout(PATIENCE).build(), BodyHandlers.ofString());
    } catch (IOException e) {
      throw new IllegalStateException(uri + " does not answer: " + e.getMessage(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted while " + uri + " was asked", e);
    }
  }

  @Override
  public void close() {
    process.close();
  }
}
