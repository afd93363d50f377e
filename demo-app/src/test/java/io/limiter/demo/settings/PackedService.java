// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo.settings;

import static java.nio.file.StandardCopyOption.REPLACE_EXISTING;
import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.testing.Ports;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;
import org.yaml.snakeyaml.Yaml;

/**
 * A process as users run it: the packed demo with real environment variables and a real file, and
 * beside it the beans of {@link ServiceBeans}.
 */
final class PackedService implements AutoCloseable {

  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final Path TARGET = Path.of("target");
  private static final Path DEMO = TARGET.resolve("demo-app.jar");
  private static final Path BEANS = TARGET.resolve("service-beans.jar");

  /** Classes as the JVM has them in memory, so that a start takes half the time. */
  private static final Path ARCHIVE = TARGET.resolve("demo-app.jsa");

  private static final HttpClient CLIENT =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  private final int port = Ports.free();
  private final Path file;
  private final Path output;
  private final Process process;
  private int callers;

  /** An answer, as far as settings change it. */
  record Answer(int status, String body, Map<String, List<String>> fields) {

    /** A header field, empty if there is none. */
    String field(String name) {
      return fields.entrySet().stream()
          .filter(field -> field.getKey().equalsIgnoreCase(name))
          .map(field -> field.getValue().get(0))
          .findFirst()
          .orElse("");
    }
  }

  private PackedService(String yaml, Map<String, String> variables, String archive) {
    try {
      Path directory = Files.createTempDirectory("limiter-settings");
      file = directory.resolve("application.yml");
      output = directory.resolve("output");
      Files.writeString(file, yaml);
      ProcessBuilder builder =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "-XX:TieredStopAtLevel=1",
                  "-XX:+UseSerialGC",
                  archive + ARCHIVE,
                  "-Dmicronaut.config.files=" + file,
                  "-cp",
                  DEMO + ":" + BEANS,
                  "io.limiter.demo.DemoApplication")
              .redirectErrorStream(true)
              .redirectOutput(output.toFile());
      Map<String, String> environment = builder.environment();
      environment.keySet().removeIf(name -> name.matches("(LIMITER|MICRONAUT|REDIS)_.*"));
      environment.put("MICRONAUT_SERVER_PORT", Integer.toString(port));
      environment.putAll(variables);
      process = builder.start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Starts it, and waits until it answers. */
  static PackedService start(String yaml, Map<String, String> variables) {
    prepare();
    return started(new PackedService(yaml, variables, "-XX:SharedArchiveFile="));
  }

  private static PackedService started(PackedService service) {
    try {
      await()
          .atMost(PATIENCE)
          .pollInterval(Duration.ofMillis(50))
          .until(() -> service.ended() || service.answers());
      assertThat(service.ended()).as("it ended: %s", service.log()).isFalse();
      return service;
    } catch (Throwable failure) {
      service.close();
      throw failure;
    }
  }

  /** The log of a start that a mistake stops. Fails if it does not. */
  static String stopped(String yaml, Map<String, String> variables) {
    prepare();
    try (PackedService service = new PackedService(yaml, variables, "-XX:SharedArchiveFile=")) {
      await()
          .atMost(PATIENCE)
          .pollInterval(Duration.ofMillis(50))
          .until(() -> service.ended() || service.log().contains("Server Running"));
      assertThat(service.ended()).as("the start was stopped: %s", service.log()).isTrue();
      return service.log();
    }
  }

  private boolean ended() {
    return !process.isAlive();
  }

  private boolean answers() {
    return log().contains("Server Running");
  }

  /** Once for all JVMs with tests. */
  private static synchronized void prepare() {
    try (FileChannel file = FileChannel.open(TARGET.resolve("settings.lock"), CREATE, WRITE);
        FileLock held = file.lock()) {
      if (!Files.exists(ARCHIVE) || modified(ARCHIVE) < Math.max(modified(DEMO), packBeans())) {
        Files.deleteIfExists(ARCHIVE);
        started(new PackedService("", Map.of(), "-XX:ArchiveClassesAtExit=")).close();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static long modified(Path file) throws IOException {
    return Files.getLastModifiedTime(file).toMillis();
  }

  /** The classes alone that a service would have; other tests have beans as well. */
  private static long packBeans() throws IOException {
    Path classes = TARGET.resolve("test-classes");
    List<Path> some;
    try (Stream<Path> all = Files.walk(classes)) {
      some =
          all.filter(Files::isRegularFile)
              .filter(path -> path.toString().contains("ServiceBeans"))
              .toList();
    }
    long newest = 0;
    for (Path path : some) {
      newest = Math.max(newest, modified(path));
    }
    if (!Files.exists(BEANS) || modified(BEANS) < newest) {
      Path beans = TARGET.resolve("service-beans");
      for (Path path : some) {
        Path copy = beans.resolve(classes.relativize(path));
        Files.createDirectories(copy.getParent());
        Files.copy(path, copy, REPLACE_EXISTING);
      }
      // With its directories, in which Micronaut looks for beans.
      int status =
          ToolProvider.findFirst("jar")
              .orElseThrow()
              .run(System.out, System.err, "cf0M", BEANS.toString(), "-C", beans.toString(), ".");
      assertThat(status).isZero();
    }
    return modified(BEANS);
  }

  String log() {
    try {
      return Files.readString(output);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Replaces the file, and has it read by the endpoint; what was logged meanwhile. */
  String refresh(String yaml) {
    int before = log().length();
    try {
      Files.writeString(file, yaml);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    Answer answer = post("/refresh", "{}");
    assertThat(answer.status()).as(answer.body()).isEqualTo(200);
    if (answer.body().contains("limiter")) { // it answers before the limiter has read them
      await()
          .atMost(PATIENCE)
          .pollInterval(Duration.ofMillis(20))
          .until(() -> log().substring(before).contains("refreshed configuration"));
    }
    return log().substring(before);
  }

  /** An address that has not called before. */
  String stranger() {
    callers++;
    return "198.18." + callers / 250 + "." + (1 + callers % 250);
  }

  Answer get(String path, String... headers) {
    return send(request(path, headers));
  }

  /** As the operator. */
  Answer operator(String path) {
    return get(path, "Authorization", basic("admin"));
  }

  Answer post(String path, String json) {
    return send(
        request(path, "Authorization", basic("admin"), "Content-Type", "application/json")
            .POST(BodyPublishers.ofString(json)));
  }

  /** A payment with this key, of a caller who is not logged in. */
  Answer pay(String key) {
    return send(
        request("/checkout/payment", "Idempotency-Key", key, "Content-Type", "application/json")
            .POST(BodyPublishers.ofString("{}")));
  }

  /** The statuses of several calls from one new address. */
  String statuses(int calls, String path, String... headers) {
    String from = stranger();
    List<String> statuses = new ArrayList<>();
    for (int i = 0; i < calls; i++) {
      statuses.add(Integer.toString(from(from, path, headers).status()));
    }
    return String.join(" ", statuses);
  }

  Answer from(String address, String path, String... headers) {
    return get(
        path,
        Stream.concat(Stream.of("X-Forwarded-For", address), Stream.of(headers))
            .toArray(String[]::new));
  }

  static String basic(String user) {
    return "Basic " + Base64.getEncoder().encodeToString((user + ':' + user).getBytes());
  }

  private HttpRequest.Builder request(String path, String... headers) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path)).timeout(PATIENCE);
    return headers.length == 0 ? request : request.headers(headers);
  }

  private static Answer send(HttpRequest.Builder request) {
    try {
      HttpResponse<String> answer = CLIENT.send(request.build(), BodyHandlers.ofString());
      return new Answer(answer.statusCode(), answer.body(), answer.headers().map());
    } catch (IOException e) {
      throw new AssertionError(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError(e);
    }
  }

  /** A file with these settings, by their paths; maps and lists as people write them. */
  static String yaml(Map<String, Object> settings) {
    Map<String, Object> root = new LinkedHashMap<>();
    settings.forEach((path, value) -> put(root, path, changeable(value)));
    return new Yaml().dump(root);
  }

  private static Object changeable(Object value) {
    if (value instanceof Map<?, ?> map) {
      Map<Object, Object> copy = new LinkedHashMap<>();
      map.forEach((name, inner) -> copy.put(name, changeable(inner)));
      return copy;
    }
    return value instanceof List<?> list
        ? new ArrayList<>(list.stream().map(PackedService::changeable).toList())
        : value;
  }

  @SuppressWarnings("unchecked")
  private static void put(Map<String, Object> root, String path, Object value) {
    Object here = root;
    String[] parts = path.split("\\.(?![^\"]*\")|(?=\\[)");
    for (int i = 0; i < parts.length; i++) {
      boolean last = i == parts.length - 1;
      Object next =
          !last && parts[i + 1].startsWith("[") ? new ArrayList<>() : new LinkedHashMap<>();
      if (here instanceof List<?>) {
        List<Object> list = (List<Object>) here;
        int index = Integer.parseInt(parts[i].substring(1, parts[i].length() - 1));
        if (index == list.size()) {
          list.add(last ? value : next);
        } else if (last) {
          list.set(index, value);
        }
        here = list.get(index);
      } else {
        Map<String, Object> map = (Map<String, Object>) here;
        String name = parts[i].replace("\"", "");
        here = last ? map.put(name, value) : map.computeIfAbsent(name, any -> next);
      }
    }
  }

  @Override
  public void close() {
    process.destroy();
    var unused =
        process
            .onExit()
            .orTimeout(PATIENCE.toSeconds(), TimeUnit.SECONDS)
            .exceptionally(slow -> process.destroyForcibly())
            .join();
    try (Stream<Path> all = Files.walk(file.getParent())) {
      all.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
