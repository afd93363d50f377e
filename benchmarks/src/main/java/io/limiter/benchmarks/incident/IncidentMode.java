// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.incident;

import io.limiter.benchmarks.Mode;
import io.limiter.benchmarks.Options;
import io.limiter.benchmarks.Report;
import io.limiter.benchmarks.process.DemoJar;
import io.limiter.benchmarks.process.JavaProcess;
import java.io.IOException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Runs the packed demo for some minutes: with usual traffic, in a flood, and while its Redis is
 * suspended (SIGSTOP). Its meters are read each second, and written with plots of them.
 */
public final class IncidentMode implements Mode {

  private static final Option INTO =
      new Option("into", "DIR", "where to write the recording; docs/incident unless given");

  private static final Duration PATIENCE = Duration.ofSeconds(20);

  /** Traffic is sent in each of them. */
  private static final int TICKS = 10;

  private static final int QUICK_TICKS = 1;
  private static final String KEY = "X-Api-Key";

  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  @Override
  public String name() {
    return "incident";
  }

  @Override
  public String help() {
    return "records the meters of the demo in a flood and while Redis is silent, and draws them";
  }

  @Override
  public List<Option> options() {
    return List.of(DemoJar.OPTION, INTO);
  }

  /** It measures nothing. */
  @Override
  public boolean partOfAll() {
    return false;
  }

  @Override
  public void run(Options options, Report report) throws Exception {
    Path directory = Path.of(options.text(INTO.name()).orElse("docs/incident"));
    List<String> command =
        List.of("-Dlimiter.deny-cache.enabled=true", "-jar", DemoJar.find(options).toString());
    try (JavaProcess demo = JavaProcess.start("The demo", List.of(), command, Map.of())) {
      demo.awaitOk("/redis"); // which it has only with a Redis of its own
      Recording recording = record(demo, options.quick() ? QUICK_TICKS : TICKS, report);
      recording.write(directory.resolve(IncidentPlots.FILE));
      new IncidentPlots(recording).write(directory);
    }
    report.progress("written to " + directory);
  }

  /**
   * @param ticks of a second; one that is shorter than a second only shows that this runs
   */
  private Recording record(JavaProcess demo, int ticks, Report report) throws Exception {
    Recording recording = new Recording();
    long begin = System.nanoTime();
    for (Phase phase : Phase.values()) {
      report.progress(phase.title());
      switch (phase) {
        case SILENT -> send(demo, "POST", "/redis/stop", "");
        case BACK -> send(demo, "POST", "/redis/continue", "");
        default -> {}
      }
      for (int second = phase.from(); second < phase.to(); second++) {
        for (int tick = 0; tick < ticks; tick++) {
          awaitUntil(begin + (long) ((second * ticks + tick) * 1e9 / TICKS));
          traffic(demo, phase, second, tick);
        }
        recording.add(send(demo, "GET", "/prometheus", ""));
      }
    }
    return recording;
  }

  private static void awaitUntil(long nanos) throws InterruptedException {
    TimeUnit.NANOSECONDS.sleep(nanos - System.nanoTime());
  }

  /** Usual traffic is mostly admitted, by each limit of the demo that is named. */
  private void traffic(JavaProcess demo, Phase phase, int second, int tick) {
    int number = second * TICKS + tick;
    go(demo, "GET", "/partners", KEY, "partner-" + number % 30);
    if (tick % 3 == 0) {
      go(demo, "GET", "/search", KEY, "");
    }
    if (tick == 0) {
      go(demo, "GET", "/slow", KEY, "");
      go(demo, "POST", "/sms/code?phone=555-" + number, KEY, "");
    }
    if (tick == 0 && second % 3 == 0) {
      go(demo, "POST", "/checkout", KEY, ""); // every other one is a duplicate
      go(demo, "POST", "/export", KEY, "");
      go(demo, "POST", "/export", KEY, "");
      go(demo, "POST", "/export", KEY, "");
    }
    if (phase == Phase.FLOOD) {
      for (int i = 0; i < 15; i++) {
        go(demo, "GET", "/partners", KEY, "stolen");
      }
      go(demo, "GET", "/articles", KEY, "");
    }
  }

  private void go(JavaProcess demo, String method, String path, String header, String value) {
    var unused =
        client.sendAsync(request(demo, method, path, header, value), BodyHandlers.discarding());
  }

  private String send(JavaProcess demo, String method, String path, String value)
      throws IOException, InterruptedException {
    HttpResponse<String> response =
        client.send(request(demo, method, path, KEY, value), BodyHandlers.ofString());
    if (response.statusCode() != 200) {
      throw new IllegalStateException(
          "%s %s was answered %s: %s"
              .formatted(method, path, response.statusCode(), response.body()));
    }
    return response.body();
  }

  private static HttpRequest request(
      JavaProcess demo, String method, String path, String header, String value) {
    boolean post = method.equals("POST");
    HttpRequest.Builder request =
        HttpRequest.newBuilder(demo.uri(path))
            .timeout(PATIENCE)
            .method(method, post ? BodyPublishers.ofString("{}") : BodyPublishers.noBody());
    if (post) {
      request.header("Content-Type", "application/json");
    }
    return (value.isEmpty() ? request : request.header(header, value)).build();
  }
}
