// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import io.limiter.core.memory.MemoryStore;
import io.limiter.core.redis.ConnectionSource;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.config.RedisConfiguration;
import io.limiter.micronaut.thread.WarmUpStep;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.runtime.server.EmbeddedServer;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedClass;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordingFile;

/**
 * A process of {@link FirstCallsTest}: starts a service, makes its first calls, and reports which
 * classes its event loops load meanwhile, one a line: call, class, and the innermost method of ours
 * that it is loaded for.
 */
final class FirstCallsProcess {

  static final String SPEC = "FirstCalls";

  /** Whether its Redis is meant to be down. */
  static final String DOWN = "first-calls.down";

  static final String NOT_CONNECTED = "Not connected";
  static final String DONE = "Done";

  private static final String CLASS_LOAD = "jdk.ClassLoad";
  private static final String OURS = "io.limiter.";
  private static final String HERE = FirstCallsProcess.class.getName();

  private FirstCallsProcess() {}

  /** How a call is made, and the status of its answer. */
  private record Call(String name, String request, int status) {}

  private static final List<Call> CALLS =
      List.of(
          new Call("admitted", "GET /first", 200),
          new Call("denied", "GET /first", 429),
          new Call("submitted", "POST /first", 200),
          new Call("duplicate", "POST /first", 409),
          new Call("staged", "GET /first/staged", 200));

  /**
   * @param arguments settings, as {@code name=value}
   */
  public static void main(String[] arguments) throws Exception {
    Map<String, Object> settings = new HashMap<>();
    settings.put("spec.name", SPEC);
    settings.put("micronaut.server.port", -1);
    for (String setting : arguments) {
      settings.put(
          setting.substring(0, setting.indexOf('=')), setting.substring(setting.indexOf('=') + 1));
    }
    try (EmbeddedServer server = ApplicationContext.run(EmbeddedServer.class, settings)) {
      if (!connected(server.getApplicationContext())) {
        System.out.println(NOT_CONNECTED);
        return;
      }
      if (!server.getApplicationContext().getBean(RedisConfiguration.class).warmUp().isZero()) {
        respond(server.getApplicationContext()); // instead of waiting until the service does
      }
      try (Recording recording = new Recording()) {
        recording.enable(CLASS_LOAD).withoutThreshold().withStackTrace();
        recording.start();
        List<Instant> ends = new ArrayList<>();
        for (Call call : CALLS) {
          make(call, server.getPort());
          ends.add(Instant.now());
        }
        recording.stop();
        print(recording, ends);
      }
    }
    System.out.println(DONE);
  }

  private static boolean connected(ApplicationContext context) {
    return context.getProperty(DOWN, Boolean.class).orElse(false)
        || context
            .findBean(ConnectionSource.class)
            .map(connections -> connections.firstAttempt().toCompletableFuture().join())
            .orElse(true);
  }

  private static void respond(ApplicationContext context) {
    for (WarmUpStep step : context.getBeansOfType(WarmUpStep.class)) {
      step.respond(new MemoryStore()).toCompletableFuture().join();
    }
  }

  /** Each over a connection of its own, so that all event loops have some. */
  private static void make(Call call, int port) throws IOException {
    try (Socket socket = new Socket("localhost", port)) {
      String request =
          call.request()
              + " HTTP/1.1\r\nHost: localhost\r\nAccept-Language: zh\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
      socket.getOutputStream().write(request.getBytes(StandardCharsets.US_ASCII));
      String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      if (!answer.startsWith("HTTP/1.1 " + call.status() + " ")) {
        throw new IllegalStateException(call + " was answered: " + answer);
      }
    }
  }

  private static void print(Recording recording, List<Instant> ends) throws IOException {
    Path file = Files.createTempFile("first-calls", ".jfr");
    try {
      recording.dump(file);
      for (RecordedEvent event : RecordingFile.readAllEvents(file)) {
        if (!event.getEventType().getName().equals(CLASS_LOAD)) {
          continue; // the recorder's own
        }
        String thread = event.getThread() == null ? "" : event.getThread().getJavaName();
        RecordedClass loaded = event.getClass("loadedClass");
        if (thread == null
            || !thread.toLowerCase(Locale.ROOT).contains("eventloop")
            || loaded.getName().startsWith(HERE)) {
          continue;
        }
        int call = 0;
        while (call < ends.size() - 1 && event.getStartTime().isAfter(ends.get(call))) {
          call++;
        }
        System.out.println(
            CALLS.get(call).name() + '\t' + loaded.getName() + '\t' + innermost(event));
      }
    } finally {
      Files.delete(file);
    }
  }

  private static String innermost(RecordedEvent event) {
    if (event.getStackTrace() == null) {
      return "";
    }
    for (RecordedFrame frame : event.getStackTrace().getFrames()) {
      String type = frame.getMethod().getType().getName();
      if (type.startsWith("io.micronaut.")) {
        return ""; // not relevant here
      }
      if (type.startsWith(OURS)) {
        return type + '.' + frame.getMethod().getName() + ':' + frame.getLineNumber();
      }
    }
    return "";
  }

  /** What is limited. */
  @Controller("/first")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get(produces = "text/plain")
    @RateRule(count = 1, time = 60)
    String get() {
      return "first";
    }

    @Post(produces = "text/plain")
    @RateLimiter(preventDuplicate = true)
    String post() {
      return "first";
    }

    @Get(value = "/staged", produces = "text/plain")
    @RateRule(count = 1, time = 60)
    CompletionStage<String> staged() {
      return CompletableFuture.completedFuture("first");
    }
  }
}
