// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.limiter.core.testing.RedisFixture;
import io.micronaut.context.ApplicationContext;
import io.micronaut.runtime.server.EmbeddedServer;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/** The demo with a real server on a free port, and its clients. */
final class Demo implements AutoCloseable {

  private static final HttpClient CLIENT =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  private final EmbeddedServer server;

  /**
   * An answer.
   *
   * @param took from the request to the answer's last byte
   */
  record Timed(HttpResponse<String> answer, Duration took) {
    int status() {
      return answer.statusCode();
    }

    /** A header field, empty if there is none. */
    String field(String name) {
      return answer.headers().firstValue(name).orElse("");
    }
  }

  private Demo(EmbeddedServer server) {
    this.server = server;
  }

  /** Instances of one service share their keys. */
  Demo(String service) {
    this(service, Map.of());
  }

  Demo(String service, Map<String, Object> settings) {
    this(ApplicationContext.run(EmbeddedServer.class, with(service, settings)));
  }

  private static Map<String, Object> with(String service, Map<String, Object> settings) {
    Map<String, Object> all = new HashMap<>(settings);
    all.put("redis.uri", RedisFixture.uri());
    all.put("limiter.redis.key-prefix", service);
    // A busy machine must not let memory decide: each instance would count for itself.
    all.put("limiter.redis.deadline", "10s");
    all.putIfAbsent("micronaut.server.host", "127.0.0.1");
    all.put("micronaut.server.port", -1);
    return all;
  }

  /** With the Redis that it brings along, and the deadline that a service has by default. */
  static Demo with(EmbeddedRedis redis) {
    Demo demo =
        new Demo(
            ApplicationContext.builder()
                .singletons(redis)
                .properties(Map.of("redis.uri", redis.uri(), "micronaut.server.port", -1))
                .start()
                .getBean(EmbeddedServer.class)
                .start());
    demo.get("/health-free"); // the first answer of a server is slow
    return demo;
  }

  static Demo start() {
    return new Demo(newService());
  }

  static String newService() {
    return "demo-" + UUID.randomUUID().toString().substring(0, 8) + ":";
  }

  HttpResponse<String> get(String path) {
    return send(request(path));
  }

  HttpResponse<String> get(String path, String header, String value) {
    return send(request(path).header(header, value));
  }

  HttpResponse<String> post(String path, String json) {
    return postLater(path, json).join();
  }

  HttpResponse<String> post(String path, String json, String header, String value) {
    return send(
        request(path)
            .header("Content-Type", "application/json")
            .header(header, value)
            .POST(BodyPublishers.ofString(json)));
  }

  int port() {
    return server.getPort();
  }

  CompletableFuture<HttpResponse<String>> getLater(String path) {
    return CLIENT.sendAsync(request(path).build(), BodyHandlers.ofString());
  }

  CompletableFuture<HttpResponse<String>> getLater(String path, String header, String value) {
    return CLIENT.sendAsync(request(path).header(header, value).build(), BodyHandlers.ofString());
  }

  CompletableFuture<HttpResponse<String>> postLater(String path, String json) {
    return CLIENT.sendAsync(
        request(path)
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(json))
            .build(),
        BodyHandlers.ofString());
  }

  Timed timed(String method, String path) {
    HttpRequest.Builder request = request(path).method(method, BodyPublishers.noBody());
    long begin = System.nanoTime();
    HttpResponse<String> answer = send(request);
    return new Timed(answer, Duration.ofNanos(System.nanoTime() - begin));
  }

  private static HttpResponse<String> send(HttpRequest.Builder request) {
    try {
      return CLIENT.send(request.build(), BodyHandlers.ofString());
    } catch (IOException e) {
      throw new AssertionError(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new AssertionError(e);
    }
  }

  private HttpRequest.Builder request(String path) {
    // Put together, not resolved: a path may begin with two slashes.
    return HttpRequest.newBuilder(URI.create(server.getURI() + path));
  }

  @Override
  public void close() {
    server.close();
  }
}
