// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.faults;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** A {@link PausedService}. Signals go only to the process started here. */
final class ServiceProcess implements AutoCloseable {

  private final Process process;
  private final int port;

  private ServiceProcess(Process process, int port) {
    this.process = process;
    this.port = port;
  }

  /** Returns when it listens. */
  static ServiceProcess start(String redis, String connections) throws IOException {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx256m",
                "-XX:TieredStopAtLevel=1", // soon as fast as it gets
                "-XX:+IgnoreUnrecognizedVMOptions",
                "--enable-native-access=ALL-UNNAMED",
                "--sun-misc-unsafe-memory-access=allow",
                "-cp",
                System.getProperty("java.class.path"),
                PausedService.class.getName(),
                redis,
                connections)
            .redirectError(Redirect.INHERIT)
            .start();
    try {
      return new ServiceProcess(process, port(process));
    } catch (IOException | RuntimeException failed) {
      process.destroyForcibly();
      throw failed;
    }
  }

  private static int port(Process process) throws IOException {
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    StringBuilder output = new StringBuilder();
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      if (line.startsWith(PausedService.READY)) {
        return Integer.parseInt(line.substring(PausedService.READY.length()));
      }
      output.append(line).append('\n');
    }
    throw new IllegalStateException("The service ended before it listened: " + output);
  }

  int port() {
    return port;
  }

  /** The whole JVM stands still, as in a long collection or on a machine that is moved. */
  void suspend() {
    signal("STOP");
  }

  void resume() {
    signal("CONT");
  }

  /** How often calls ended in each way. */
  Map<String, Long> endings() {
    return lines("/paused/endings").stream()
        .map(line -> line.split("="))
        .collect(Collectors.toMap(parts -> parts[0], parts -> Long.valueOf(parts[1])));
  }

  /** The nonces of the calls that Redis has answered, or has not, as far as the service knows. */
  List<String> nonces(boolean answered) {
    return lines("/paused/nonces/" + answered);
  }

  private List<String> lines(String path) {
    try {
      URI uri = URI.create("http://localhost:" + port + path);
      String body =
          HttpClient.newHttpClient()
              .send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString())
              .body();
      return Arrays.stream(body.split("\n")).filter(line -> !line.isEmpty()).toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  /** Through a shell, whose kill is built in: a bare machine may have no other. */
  private void signal(String name) {
    try {
      String command = "kill -" + name + " " + process.pid();
      if (new ProcessBuilder("sh", "-c", command).inheritIO().start().waitFor() != 0) {
        throw new IllegalStateException(command + " failed");
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
