// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.testing;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.testing.Ports;
import io.micronaut.context.ApplicationContext;
import io.micronaut.runtime.server.EmbeddedServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A server on a free port with the test beans of one specification, and a client of it. */
public class HttpService implements AutoCloseable {

  private static final Duration PATIENCE = Duration.ofSeconds(20);

  /**
   * Begins all paths of a service if set, as by the profile "elsewhere"; its endpoints then have a
   * port and a path of their own. Tests name paths without these.
   */
  private static final String CONTEXT_PATH = System.getProperty("test.context.path", "");

  /**
   * A setting that leaves a service at the root, for tests whose clients, settings or meters name
   * whole paths.
   */
  public static final String AT_ROOT = "test.at-root";

  private static final String MOVED = "test.moved";

  private static final String ENDPOINTS_PATH = "/ops/";
  private static final Pattern ENDPOINT = Pattern.compile("/(health|limits|prometheus)\\b.*");

  private final EmbeddedServer server;
  private final int port;
  private final boolean moved;
  private final HttpClient client =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  protected HttpService(EmbeddedServer server) {
    this(server, server.getPort());
  }

  private HttpService(EmbeddedServer server, int port) {
    this.server = server;
    this.port = port;
    this.moved = server.getApplicationContext().containsProperty(MOVED);
  }

  /**
   * Counts in memory, unless the settings name a Redis.
   *
   * @param specification the {@code spec.name} that its beans require
   * @param settings more properties, which take precedence
   */
  public static HttpService start(String specification, Map<String, Object> settings) {
    return new HttpService(run(specification, settings));
  }

  /** A server that runs already. */
  public static HttpService of(EmbeddedServer server) {
    return new HttpService(server);
  }

  protected static EmbeddedServer run(String specification, Map<String, Object> settings) {
    Map<String, Object> all = new LinkedHashMap<>();
    all.put("spec.name", specification);
    all.put("micronaut.server.port", -1);
    if (!CONTEXT_PATH.isEmpty() && !settings.containsKey(AT_ROOT)) {
      all.put(MOVED, true);
      all.put("micronaut.server.context-path", CONTEXT_PATH);
      all.put("endpoints.all.path", ENDPOINTS_PATH);
      all.put("endpoints.all.port", Ports.free());
    }
    all.putAll(settings);
    return ApplicationContext.run(EmbeddedServer.class, all);
  }

  /**
   * @param namesAndValues each name is followed by its value; the last value of a name holds
   */
  public static Map<String, Object> settings(Object... namesAndValues) {
    Map<String, Object> settings = new LinkedHashMap<>();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      settings.put(namesAndValues[i].toString(), namesAndValues[i + 1]);
    }
    return settings;
  }

  public ApplicationContext context() {
    return server.getApplicationContext();
  }

  public <T> T bean(Class<T> type) {
    return context().getBean(type);
  }

  public int port() {
    return port;
  }

  /** This server where it listens on another port, too. */
  public HttpService onPort(int other) {
    return new HttpService(server, other);
  }

  /** This server with a client that has no connection yet. */
  public HttpService onNewConnection() {
    return new HttpService(server);
  }

  public int status(String path, String... headers) {
    return get(path, headers).statusCode();
  }

  public HttpResponse<String> get(String path, String... headers) {
    return send(request("GET", path, "", headers));
  }

  public HttpResponse<String> post(String path, String json, String... headers) {
    return send(request("POST", path, json, withJson(headers)));
  }

  public CompletableFuture<HttpResponse<String>> getAsync(String path, String... headers) {
    return exchangeAsync("GET", path, "", headers);
  }

  public CompletableFuture<HttpResponse<String>> postAsync(
      String path, String json, String... headers) {
    return exchangeAsync("POST", path, json, withJson(headers));
  }

  private static String[] withJson(String... headers) {
    return Stream.concat(Stream.of("Content-Type", "application/json"), Stream.of(headers))
        .toArray(String[]::new);
  }

  public HttpResponse<String> exchange(String method, String path, String body, String... headers) {
    return send(request(method, path, body, headers));
  }

  public CompletableFuture<HttpResponse<String>> exchangeAsync(
      String method, String path, String body, String... headers) {
    return client.sendAsync(request(method, path, body, headers), BodyHandlers.ofString());
  }

  /** Sends a GET request on a connection of its own, whose client may leave. */
  public Socket open(String path, String... headers) throws IOException {
    StringBuilder head =
        new StringBuilder("GET " + path(path) + " HTTP/1.1\r\nHost: localhost\r\n");
    for (int i = 0; i < headers.length; i += 2) {
      head.append(headers[i]).append(": ").append(headers[i + 1]).append("\r\n");
    }
    return openWith(head + "\r\n");
  }

  /** Sends these characters on a connection of its own. */
  public Socket openWith(String text) throws IOException {
    Socket client = new Socket(InetAddress.getLoopbackAddress(), port());
    client.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
    return client;
  }

  /** The value of a header field that every line of the response repeats. */
  public static String field(HttpResponse<String> response, String name) {
    Set<String> values = Set.copyOf(response.headers().allValues(name));
    assertThat(values).as(name).hasSize(1);
    return values.iterator().next();
  }

  /** A path of a test as clients of a service see it that is not at the root. */
  public static String path(String path) {
    return CONTEXT_PATH + path;
  }

  private URI uri(String path) {
    if (!moved) {
      return URI.create("http://localhost:" + port() + path);
    }
    if (!ENDPOINT.matcher(path).matches()) {
      return URI.create("http://localhost:" + port() + path(path));
    }
    int endpoints = context().getRequiredProperty("endpoints.all.port", Integer.class);
    return URI.create("http://localhost:" + endpoints + path(ENDPOINTS_PATH + path.substring(1)));
  }

  /** Sends a body of any kind, such as one of unknown length. */
  public HttpResponse<String> exchange(
      String method, String path, BodyPublisher body, String... headers) {
    return send(request(method, path, body, headers));
  }

  private HttpRequest request(String method, String path, String body, String... headers) {
    return request(
        method,
        path,
        body.isEmpty() ? BodyPublishers.noBody() : BodyPublishers.ofString(body),
        headers);
  }

  private HttpRequest request(String method, String path, BodyPublisher body, String... headers) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(uri(path)).timeout(PATIENCE).method(method, body);
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

  @Override
  public void close() {
    server.close();
  }
}
