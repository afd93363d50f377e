// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.limiter.core.resilience.DenyCache;
import io.limiter.core.store.LimitStore;
import io.limiter.core.testing.RedisFixture;
import io.micronaut.context.ApplicationContext;
import io.micronaut.runtime.server.EmbeddedServer;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.slf4j.LoggerFactory;

/**
 * A server of its own with the test beans of one specification, a client, and the keys that its
 * limiter has in Redis, which no other test uses.
 */
final class TestServer implements AutoCloseable {

  private static final Duration PATIENCE = Duration.ofSeconds(20);

  static {
    // They report what tests make routes and sockets throw, and that a client left when its server
    // did.
    ((Logger) LoggerFactory.getLogger("io.micronaut.http.server.RouteExecutor"))
        .setLevel(Level.OFF);
    ((Logger) LoggerFactory.getLogger("io.micronaut.http.server.netty.websocket"))
        .setLevel(Level.OFF);
    ((Logger) LoggerFactory.getLogger("io.netty.util.concurrent.DefaultPromise.rejectedExecution"))
        .setLevel(Level.OFF);
  }

  private final EmbeddedServer server;
  private final RedisKeys keys;
  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  private TestServer(EmbeddedServer server, RedisKeys keys) {
    this.server = server;
    this.keys = keys;
  }

  static TestServer start(String specification) {
    return start(specification, Map.of());
  }

  /**
   * @param specification the {@code spec.name} that its beans require
   */
  static TestServer start(String specification, Map<String, Object> settings) {
    String prefix = "test:" + UUID.randomUUID().toString().substring(0, 8) + ":";
    Map<String, Object> all = new LinkedHashMap<>();
    all.put("spec.name", specification);
    all.put("redis.uri", RedisFixture.uri());
    all.put("limiter.redis.key-prefix", prefix);
    // On a busy machine the default could end a decision, and memory would count it.
    all.put("limiter.redis.deadline", "10s");
    all.put("limiter.redis.warm-up", "10s");
    all.put("micronaut.server.port", -1);
    // Whatever the language of the machine.
    all.put("micronaut.server.locale-resolution.default-locale", "en");
    all.putAll(settings);
    EmbeddedServer server = ApplicationContext.run(EmbeddedServer.class, all);
    RedisKeys keys = new RedisKeys(prefix);
    keys.clear(); // those of the warm-up, which live for two seconds
    return new TestServer(server, keys);
  }

  ApplicationContext context() {
    return server.getApplicationContext();
  }

  int port() {
    return server.getPort();
  }

  /** The same server, asked over another connection. */
  TestServer onNewConnection() {
    return new TestServer(server, keys);
  }

  /** What the limiter has in Redis. */
  RedisKeys keys() {
    return keys;
  }

  /** Deletes all that was counted, and empties the deny cache. */
  void clear() {
    keys.clear();
    if (context().getBean(LimitStore.class) instanceof DenyCache cache) {
      cache.clear();
    }
  }

  HttpResponse<String> get(String path, String... headers) {
    return send(request("GET", path, "", headers));
  }

  HttpResponse<String> post(String path, String json) {
    return send(request("POST", path, json, "Content-Type", "application/json"));
  }

  CompletableFuture<HttpResponse<String>> getAsync(String path, String... headers) {
    return exchangeAsync("GET", path, "", headers);
  }

  CompletableFuture<HttpResponse<String>> postAsync(String path, String json) {
    return client.sendAsync(
        request("POST", path, json, "Content-Type", "application/json"), BodyHandlers.ofString());
  }

  CompletableFuture<HttpResponse<String>> exchangeAsync(
      String method, String path, String body, String... headers) {
    return client.sendAsync(request(method, path, body, headers), BodyHandlers.ofString());
  }

  HttpResponse<String> exchange(String method, String path, String body, String... headers) {
    return send(request(method, path, body, headers));
  }

  private HttpRequest request(String method, String path, String body, String... headers) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create("http://localhost:" + port() + path))
            .timeout(PATIENCE)
            .method(
                method,
                body.isEmpty()
                    ? HttpRequest.BodyPublishers.noBody()
                    : HttpRequest.BodyPublishers.ofString(body));
    return headers.length == 0 ? request.build() : request.headers(headers).build();
  }

  private HttpResponse<String> send(HttpRequest request) {
    try {
      return client.send(request, BodyHandlers.ofString());
    } catch (IOException e) {
      throw new AssertionError(request + " got no answer", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError(request + " was interrupted", e);
    }
  }

  /** The value of a header field that every line of the response repeats. */
  static String field(HttpResponse<String> answer, String name) {
    Set<String> values = Set.copyOf(answer.headers().allValues(name));
    assertThat(values).as(name).hasSize(1);
    return values.iterator().next();
  }

  @Override
  public void close() {
    server.close();
    keys.close();
  }
}
