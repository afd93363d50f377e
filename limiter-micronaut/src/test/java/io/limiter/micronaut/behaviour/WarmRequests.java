// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.awaitility.Awaitility.await;

import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.runtime.server.EmbeddedServer;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jacoco.agent.rt.IAgent;
import org.jacoco.agent.rt.RT;
import org.jacoco.core.data.ExecutionDataReader;

/**
 * A process of {@link ClassesOfARequestTest}: warms a service up, then prints which probes one
 * admitted request hits, and one denied request, each as a line of Base64.
 */
final class WarmRequests {

  static final String SPEC = "WarmRequests";

  private static final int WARM = 50;

  /** For so long no class of the limiter is executed once the warm-up has ended. */
  private static final Duration QUIET = Duration.ofMillis(500);

  /** It looks at each connection twice a second, whether there are requests or not. */
  private static final String WATCH = "io/limiter/core/redis/connection/SilenceWatch";

  private WarmRequests() {}

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
    IAgent probes = RT.getAgent();
    try (EmbeddedServer server = ApplicationContext.run(EmbeddedServer.class, settings)) {
      HttpClient client = HttpClient.newHttpClient();
      URI much = server.getURI().resolve("/warm/much");
      URI little = server.getURI().resolve("/warm/little");
      for (int i = 0; i < WARM; i++) {
        require(200, client, much);
        require(i == 0 ? 200 : 429, client, little);
      }
      awaitRest(probes);
      print(probes, 200, client, much);
      print(probes, 429, client, little);
    }
  }

  private static void print(IAgent probes, int status, HttpClient client, URI uri)
      throws Exception {
    probes.reset();
    require(status, client, uri);
    System.out.println(Base64.getEncoder().encodeToString(probes.getExecutionData(true)));
  }

  /** Waits until the check of the start, connections, timers and renewals have ended. */
  private static void awaitRest(IAgent probes) {
    await()
        .until(
            () ->
                Thread.getAllStackTraces().keySet().stream()
                    .noneMatch(thread -> thread.getName().equals("limiter-start-check")));
    probes.reset();
    await()
        .pollDelay(QUIET)
        .pollInterval(QUIET)
        .until(() -> executed(probes.getExecutionData(true)).isEmpty());
  }

  /**
   * The names of the limiter's classes with a probe that was hit, but for generated ones and those
   * of this process.
   */
  static Set<String> executed(byte[] data) throws IOException {
    Set<String> classes = new TreeSet<>();
    ExecutionDataReader reader = new ExecutionDataReader(new ByteArrayInputStream(data));
    reader.setSessionInfoVisitor(session -> {});
    reader.setExecutionDataVisitor(
        found -> {
          if (found.hasHits()
              && found.getName().startsWith("io/limiter/")
              && !found.getName().contains("/$") // generated
              && !found.getName().equals(WATCH)
              && !found.getName().contains("WarmRequests")) {
            classes.add(found.getName());
          }
        });
    reader.read();
    return classes;
  }

  private static void require(int status, HttpClient client, URI uri) throws Exception {
    int found =
        client.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString()).statusCode();
    if (found != status) {
      throw new IllegalStateException(uri + " was answered with " + found);
    }
  }

  @Controller("/warm")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get(value = "/much", produces = "text/plain")
    @RateRule(count = 1_000, time = 60)
    String much() {
      return "much";
    }

    @Get(value = "/little", produces = "text/plain")
    @RateRule(count = 1, time = 3_600)
    String little() {
      return "little";
    }
  }
}
