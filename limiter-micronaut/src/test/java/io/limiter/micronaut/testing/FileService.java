// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.testing;

import io.micronaut.context.ApplicationContext;
import io.micronaut.context.env.AbstractPropertySourceLoader;
import io.micronaut.context.env.MapPropertySource;
import io.micronaut.context.env.PropertySource;
import io.micronaut.runtime.server.EmbeddedServer;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;

/** A server that reads the files of a directory, and again with the endpoint {@code refresh}. */
public class FileService extends HttpService {

  private final Path directory;

  public FileService(String specification, Path directory, Object... more) {
    super(
        ApplicationContext.builder(
                settings(
                    "spec.name",
                    specification,
                    "micronaut.server.port",
                    -1,
                    "micronaut.metrics.enabled",
                    false,
                    "micronaut.otel.enabled",
                    false,
                    "endpoints.refresh.enabled",
                    true,
                    "endpoints.refresh.sensitive",
                    false))
            .properties(settings(more))
            .overrideConfigLocations("file:" + directory + '/')
            .start()
            .getBean(EmbeddedServer.class)
            .start());
    this.directory = directory;
  }

  public static void write(Path directory, String yaml) {
    try {
      Files.writeString(directory.resolve("application.yml"), yaml);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public void write(String yaml) {
    write(directory, yaml);
  }

  public HttpResponse<String> refresh() {
    return post("/refresh", "{}");
  }

  public CompletableFuture<HttpResponse<String>> refreshAsync() {
    return postAsync("/refresh", "{}");
  }

  /** Reads the file {@code application.paused} of a directory, when it is allowed to. */
  public static final class PausedLoader extends AbstractPropertySourceLoader {

    private static volatile Pause pause = new Pause(new CountDownLatch(1), new CountDownLatch(0));

    /** The next reader waits until this is closed. */
    public record Pause(CountDownLatch begun, CountDownLatch end) implements AutoCloseable {

      @Override
      public void close() {
        end.countDown();
      }
    }

    public static Pause pause() {
      pause = new Pause(new CountDownLatch(1), new CountDownLatch(1));
      return pause;
    }

    @Override
    public Set<String> getExtensions() {
      return Set.of("paused");
    }

    /** Of several sources of one name, such as that of the YAML file, an environment lists one. */
    @Override
    protected MapPropertySource createPropertySource(
        String name, Map<String, Object> map, int order, PropertySource.Origin origin) {
      return super.createPropertySource(name + "-paused", map, order, origin);
    }

    @Override
    protected void processInput(String name, InputStream input, Map<String, Object> properties) {
      Pause now = pause;
      if (now.begun().getCount() > 0) { // later readers do not wait
        now.begun().countDown();
        try {
          now.end().await();
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
        }
      }
      properties.put("paused", "once");
    }
  }
}
