// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.testing.RedisFixture;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.runtime.server.EmbeddedServer;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.jacoco.agent.rt.IAgent;
import org.jacoco.agent.rt.RT;
import org.jacoco.core.data.ExecutionDataReader;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * How many classes of ours one warm request executes, decided by Redis: what a reader who follows
 * it has to open. Interfaces and enums without code of their own do not count.
 */
@Tag("matrix")
class ClassesOfARequestTest {

  private static final int MOST_ADMITTED = 58;

  private static final int MOST_MORE_DENIED = 19;

  @Test
  void oneRequestExecutesFewOfThem() throws Exception {
    List<String> lines = run();
    Set<String> admitted = executed(lines.get(0));
    Set<String> more = executed(lines.get(1));
    more.removeAll(admitted);
    System.out.printf(
        "Classes of one request: admitted %d, denied %d more%n%s%n%s%n",
        admitted.size(), more.size(), admitted, more);

    assertThat(admitted)
        .contains("io/limiter/micronaut/http/GateFilter", "io/limiter/core/redis/RedisStore")
        .hasSizeLessThanOrEqualTo(MOST_ADMITTED);
    assertThat(more)
        .contains("io/limiter/micronaut/denial/Denial", "io/limiter/micronaut/http/DirectDenials")
        .hasSizeLessThanOrEqualTo(MOST_MORE_DENIED);
  }

  private static Set<String> executed(String line) throws IOException {
    return WarmRequests.executed(Base64.getDecoder().decode(line));
  }

  private static List<String> run() throws Exception {
    Path agent = Path.of(RT.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx256m",
                "-javaagent:" + agent + "=output=none,includes=io.limiter.*",
                "-cp",
                System.getProperty("java.class.path"),
                WarmRequests.class.getName(),
                "redis.uri=" + RedisFixture.uri(),
                "limiter.redis.key-prefix=warm:" + UUID.randomUUID().toString().substring(0, 8),
                "limiter.redis.deadline=10s",
                "limiter.deny-cache.enabled=false",
                "limiter.metrics.enabled=false") // as without Micrometer and OpenTelemetry
            .redirectError(Redirect.INHERIT)
            .start();
    try {
      String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertThat(process.waitFor(10, TimeUnit.SECONDS)).isTrue();
      List<String> lines =
          printed.lines().filter(line -> line.matches("[A-Za-z0-9+/=]{40,}")).toList();
      assertThat(lines).as(printed).hasSize(2);
      return lines;
    } finally {
      process.destroyForcibly();
    }
  }

  /**
   * A process of {@link ClassesOfARequestTest}: warms a service up, then prints which probes one
   * admitted request hits, and one denied request, each as a line of Base64.
   */
  static final class WarmRequests {

    static final String SPEC = "WarmRequests";

    private static final int WARM = 50;

    /** For so long no class of the limiter is executed once the start has ended. */
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
            setting.substring(0, setting.indexOf('=')),
            setting.substring(setting.indexOf('=') + 1));
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
     * The names of the limiter's classes with a probe that was hit, but for generated ones and
     * those of this process.
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
}
