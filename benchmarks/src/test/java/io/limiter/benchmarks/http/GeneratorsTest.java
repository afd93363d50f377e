// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The built-in generators, against a server of the JDK. */
class GeneratorsTest {

  private final AtomicInteger calls = new AtomicInteger();
  private final Semaphore silence = new Semaphore(1);
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private HttpServer server;

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(threads);
    serve("/ok", 200);
    serve("/denied", 429);
    server.createContext(
        "/query",
        exchange -> {
          boolean same = "page=2".equals(exchange.getRequestURI().getRawQuery());
          exchange.sendResponseHeaders(same ? 200 : 400, -1);
          exchange.close();
        });
    server.start();
  }

  private void serve(String path, int status) {
    server.createContext(
        path,
        exchange -> {
          silence.acquireUninterruptibly();
          silence.release();
          calls.incrementAndGet();
          exchange.sendResponseHeaders(status, 2);
          exchange.getResponseBody().write(new byte[] {'o', 'k'});
          exchange.close();
        });
  }

  private URI uri(String path) {
    return URI.create("http://127.0.0.1:" + server.getAddress().getPort() + path);
  }

  @AfterEach
  void stop() {
    silence.release();
    server.stop(0);
    threads.shutdownNow();
  }

  @Test
  void aClosedLoopAsksAgainWhenItIsAnswered() {
    LoadResult load = new ClosedLoop(Generator.CONNECTIONS).run(uri("/ok"), 2);
    assertThat(load.answers()).isGreaterThan(Generator.CONNECTIONS);
    assertThat(load.answers()).isEqualTo(calls.get());
    assertThat(load.denied()).isZero();
    assertThat(load.errors()).isZero();
    assertThat(load.p50Micros()).isPositive().isLessThanOrEqualTo(load.p99Micros());
  }

  @Test
  void denialsAreCountedAsSuch() {
    LoadResult load = new ClosedLoop(Generator.CONNECTIONS).run(uri("/denied"), 0.1);
    assertThat(load.denied()).isPositive().isEqualTo(load.answers());
  }

  @Test
  void theQueryIsSent() {
    LoadResult load = OpenLoop.run(uri("/query?page=2"), 100, 0.1);
    assertThat(load.answers()).isEqualTo(10);
    assertThat(load.denied()).isZero();
  }

  @Test
  void anOpenLoopSendsAsManyAsItsRate() {
    LoadResult load = OpenLoop.run(uri("/ok"), 500, 0.4);
    assertThat(load.answers()).isEqualTo(200).isEqualTo(calls.get());
    assertThat(load.errors()).isZero();
  }

  @Test
  void anOpenLoopCountsTheTimeThatRequestsWaitedForTheirTurn() throws InterruptedException {
    silence.acquire();
    var unused =
        threads.submit(
            () -> {
              while (!silence.hasQueuedThreads()) { // until the first request is there
                Thread.onSpinWait();
              }
              Thread.sleep(300); // the pause of the server is what is measured
              silence.release();
              return null;
            });
    LoadResult load = OpenLoop.run(uri("/ok"), 1_000, 0.2);
    // 64 connections are used at once; all requests that were due later waited too, but for less
    // time.
    assertThat(load.answers()).isEqualTo(200);
    assertThat(load.p50Micros()).isGreaterThan(150_000);
  }

  @Test
  void anAddressWithoutAServerFails() {
    server.stop(0);
    assertThatThrownBy(() -> new ClosedLoop(Generator.CONNECTIONS).run(uri("/ok"), 0.1))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("accepts no connection");
  }
}
