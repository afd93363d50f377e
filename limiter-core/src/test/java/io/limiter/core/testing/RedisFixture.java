// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.testing;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import com.github.dockerjava.api.model.ContainerNetwork;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.slf4j.LoggerFactory;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

/**
 * The Redis that tests share: one for each JVM, started at first use, ended with the JVM. So that
 * the tests run on any machine, it is the first of these that is available:
 *
 * <ol>
 *   <li>the server that the environment variable {@code LIMITER_TEST_REDIS_URI} names;
 *   <li>a container, where a Docker engine answers; its image is {@code redis:7.0} unless {@code
 *       LIMITER_TEST_REDIS_IMAGE} (or the system property {@code limiter.test.redis.image}) names
 *       another;
 *   <li>the redis-server that embedded-redis contains.
 * </ol>
 *
 * With {@code LIMITER_TEST_REDIS=embedded} it is the last of them at once, and with {@code
 * LIMITER_TEST_REDIS=installed} the first redis-server on the PATH. One line on stdout reports the
 * choice. Tests must not flush the server, which others may use: each uses keys of its own.
 */
public final class RedisFixture {

  static final String KIND_VARIABLE = "LIMITER_TEST_REDIS";
  static final String EMBEDDED = "embedded";
  static final String INSTALLED = "installed";
  static final String URI_VARIABLE = "LIMITER_TEST_REDIS_URI";
  static final String IMAGE_VARIABLE = "LIMITER_TEST_REDIS_IMAGE";
  static final String IMAGE_PROPERTY = "limiter.test.redis.image";
  static final String DEFAULT_IMAGE = "redis:7.0";

  private static final int REDIS_PORT = 6379;
  private static final String[] COMMAND = {
    "redis-server", "--save", "", "--appendonly", "no", "--protected-mode", "no"
  };

  /** An engine without access to its registry would try for seven minutes. */
  private static final Duration CONTAINER_START = Duration.ofMinutes(2);

  /** On a machine that has a way to a container this takes no time. */
  private static final int CONNECT_MILLIS = 1_000;

  private static Supplier<String> outcome;

  private RedisFixture() {}

  /**
   * @return where the shared server listens, {@code redis://127.0.0.1:40123} for example
   * @throws IllegalStateException if none is available, with the attempts and the reasons of their
   *     failures
   */
  public static synchronized String uri() {
    if (outcome == null) {
      outcome = findOnce();
    }
    return outcome.get();
  }

  /** A failure is cached too: five hundred tests should not try in vain one by one. */
  private static Supplier<String> findOnce() {
    try {
      Found found = find(System.getenv());
      System.out.println(
          "Redis for tests: " + found.what() + " at " + RedisURI.create(found.uri()));
      return found::uri;
    } catch (IllegalStateException e) {
      return () -> {
        throw new IllegalStateException(e.getMessage(), e);
      };
    }
  }

  /** A server that answers, what it is and where it listens. */
  record Found(String what, String uri) {}

  static Found find(Map<String, String> environment) {
    List<String> failures = new ArrayList<>();
    try {
      Optional<String> kind = value(environment, KIND_VARIABLE);
      if (kind.isPresent()) {
        return ofKind(kind.get());
      }
      Optional<String> given = value(environment, URI_VARIABLE);
      if (given.isPresent()) {
        String uri = given.get();
        return new Found(product(uri) + " given by " + URI_VARIABLE, uri);
      }
      if (!mayHaveDocker(environment)) {
        failures.add("Docker: no engine's socket here and no DOCKER_HOST");
        return embedded("");
      }
      return container(image(environment), failures)
          .orElseGet(() -> embedded(" (" + failures.get(0) + ")"));
    } catch (RuntimeException e) {
      failures.add(e.getMessage());
      throw new IllegalStateException("No Redis for tests: " + String.join("; ", failures), e);
    }
  }

  private static Found ofKind(String kind) {
    return switch (kind) {
      case EMBEDDED -> embedded(" (as " + KIND_VARIABLE + " demands)");
      case INSTALLED -> {
        RedisProcess server =
            new RedisProcess(
                    RedisBinary.installed()
                        .orElseThrow(
                            () -> new IllegalStateException("no redis-server is on the PATH")),
                    Ports.free())
                .start();
        yield new Found("installed " + server.product(), server.uri());
      }
      default ->
          throw new IllegalStateException(
              "%s is '%s', and can only be '%s', '%s' or not set"
                  .formatted(KIND_VARIABLE, kind, EMBEDDED, INSTALLED));
    };
  }

  private static Optional<String> value(Map<String, String> environment, String variable) {
    return Optional.ofNullable(environment.get(variable)).filter(value -> !value.isBlank());
  }

  private static Found embedded(String why) {
    try {
      RedisProcess server = new RedisProcess(RedisBinary.embedded(), Ports.free()).start();
      return new Found("embedded " + server.product() + why, server.uri());
    } catch (IllegalStateException e) {
      throw new IllegalStateException(
          "embedded redis-server: "
              + e.getMessage()
              + " (on Linux it needs libssl.so.3, Debian's package libssl3; or set "
              + URI_VARIABLE
              + ")",
          e);
    }
  }

  private static Optional<Found> container(String image, List<String> failures) {
    List<Logger> loggers =
        Stream.of("org.testcontainers", "com.github.dockerjava", "tc")
            .map(name -> (Logger) LoggerFactory.getLogger(name))
            .toList();
    loggers.forEach(logger -> logger.setLevel(Level.OFF));
    CompletableFuture<String> started = CompletableFuture.supplyAsync(() -> start(image));
    try {
      String uri = started.get(CONTAINER_START.toSeconds(), TimeUnit.SECONDS);
      return Optional.of(new Found("container " + image + ", " + product(uri), uri));
    } catch (TimeoutException e) {
      failures.add("Docker: no container of " + image + " within " + CONTAINER_START);
    } catch (ExecutionException e) {
      failures.add("Docker: " + e.getCause().getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      failures.add("Docker: interrupted");
    } finally {
      // An attempt given up continues until it fails, and would fill the console with its retries.
      if (started.isDone()) {
        loggers.forEach(logger -> logger.setLevel(null));
      }
    }
    return Optional.empty();
  }

  /** Command and port are named because an imported image may have lost its own. */
  @SuppressWarnings("resource") // Testcontainers removes it when the JVM ends
  private static String start(String image) {
    if (!DockerClientFactory.instance().isDockerAvailable()) {
      throw new IllegalStateException("no engine answers");
    }
    GenericContainer<?> container =
        new GenericContainer<>(DockerImageName.parse(image))
            .withCommand(COMMAND)
            .withExposedPorts(REDIS_PORT)
            .waitingFor(Wait.forLogMessage(".*Ready to accept connections.*\\n", 1));
    container.start();
    String mapped = "redis://" + container.getHost() + ":" + container.getMappedPort(REDIS_PORT);
    return address(container)
        .map(own -> "redis://" + own + ":" + REDIS_PORT)
        .filter(direct -> runId(direct).equals(runId(mapped))) // and no other Redis of that address
        .orElse(mapped);
  }

  /**
   * The container's own address, where this machine has a way to it, as on Linux: the process that
   * maps a port to this machine would take a part of a core.
   */
  private static Optional<String> address(GenericContainer<?> container) {
    return container.getContainerInfo().getNetworkSettings().getNetworks().values().stream()
        .map(ContainerNetwork::getIpAddress)
        .filter(address -> address != null && !address.isEmpty())
        .filter(RedisFixture::accepts)
        .findFirst();
  }

  private static boolean accepts(String address) {
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(address, REDIS_PORT), CONNECT_MILLIS);
      return true;
    } catch (IOException none) {
      return false;
    }
  }

  private static String image(Map<String, String> environment) {
    return Optional.ofNullable(System.getProperty(IMAGE_PROPERTY))
        .filter(name -> !name.isBlank())
        .or(() -> value(environment, IMAGE_VARIABLE))
        .orElse(DEFAULT_IMAGE);
  }

  /** Testcontainers needs seconds to detect that there is no engine; checking the disk is free. */
  private static boolean mayHaveDocker(Map<String, String> environment) {
    if (environment.containsKey("DOCKER_HOST") || File.separatorChar == '\\') {
      return true;
    }
    String home = System.getProperty("user.home");
    String runtime = value(environment, "XDG_RUNTIME_DIR").orElse("/run");
    return Stream.of(
            Path.of("/var/run/docker.sock"),
            Path.of(runtime, "docker.sock"),
            Path.of(home, ".docker", "run", "docker.sock"),
            Path.of(home, ".docker", "desktop", "docker.sock"),
            Path.of(home, ".testcontainers.properties"))
        .anyMatch(Files::exists);
  }

  private static String product(String uri) {
    return RedisProcess.product(info(uri));
  }

  private static String runId(String uri) {
    return info(uri).lines().filter(line -> line.startsWith("run_id:")).findFirst().orElseThrow();
  }

  private static String info(String uri) {
    RedisURI target = RedisURI.create(uri);
    target.setTimeout(Duration.ofSeconds(10));
    RedisClient client = RedisClient.create(target);
    try (StatefulRedisConnection<String, String> connection = client.connect()) {
      return connection.sync().info("server");
    } catch (RuntimeException e) {
      throw new IllegalStateException(
          RedisURI.create(uri) + " does not answer: " + e.getMessage(), e);
    } finally {
      client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
    }
  }
}
