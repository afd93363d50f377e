// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.limiter.core.LimitStore;
import io.limiter.core.testing.Pauses;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.annotation.Algorithm;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.event.BeanCreatedEvent;
import io.micronaut.context.event.BeanCreatedEventListener;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.QueryValue;
import jakarta.inject.Singleton;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A service shuts down under load: every pending decision is made, and nothing is noisy. */
@Tag("matrix")
class ShutdownUnderLoadTest {

  private static final String SPEC = "ShutdownUnderLoadTest";
  private static final int CALLERS = 12;

  /** So that no call is denied, however long the end takes: a handler may be gone by then. */
  private static final int MANY = 1_000_000;

  /** What is promised, and what a machine is excused that also runs other builds. */
  private static final Duration DECIDED = Duration.ofMillis(3 * 150);

  private static final Duration ENDED = Duration.ofSeconds(2);

  @AutoClose private final RedisProcess redis = RedisProcess.onFreePort().start();

  @ParameterizedTest
  @CsvSource({
    "graceful,event-loop,answers",
    "graceful,event-loop,silent",
    "graceful,shared,silent",
    "abrupt,event-loop,answers",
    "abrupt,event-loop,silent",
    "abrupt,shared,silent"
  })
  void whatIsUnderWayIsDecided(String way, String connections, String redis) throws Exception {
    end(2, way.equals("graceful"), connections, redis.equals("answers"));
  }

  @Tag("faults")
  @ParameterizedTest
  @CsvSource({
    "graceful,event-loop,answers",
    "graceful,event-loop,silent",
    "graceful,shared,answers",
    "graceful,shared,silent",
    "abrupt,event-loop,answers",
    "abrupt,event-loop,silent",
    "abrupt,shared,answers",
    "abrupt,shared,silent"
  })
  void whatIsUnderWayIsDecidedEachTime(String way, String connections, String redis)
      throws Exception {
    end(8, way.equals("graceful"), connections, redis.equals("answers"));
  }

  private void end(int times, boolean graceful, String connections, boolean answers)
      throws Exception {
    for (int i = 0; i < times; i++) {
      redis.resume();
      end(graceful, connections, answers);
    }
  }

  private void end(boolean graceful, String connections, boolean answers) throws Exception {
    TestServer server = start(graceful, connections);
    WatchedStore.Notes decisions = server.bean(Watch.class).notes;
    try (RawCallers callers =
        RawCallers.call(server.port(), CALLERS, "/ending", "/ending/by-argument?who=a")) {
      await().until(() -> callers.answers(200) > 20 * CALLERS);
      if (!answers) {
        redis.suspend();
        await().pollInterval(Duration.ofMillis(2)).until(() -> decisions.pending() > 0);
      }

      long before = System.nanoTime();
      Duration took;
      // Not of the start, in which a busy machine may miss a connection.
      try (LoggedWarnings warnings = LoggedWarnings.begin()) {
        server.close();
        took = Pauses.without(before, System.nanoTime());
        callers.awaitEnd();
        await().atMost(Duration.ofSeconds(5)).until(() -> decisions.pending() == 0);
        assertThat(graceful ? warnings.excess() : warnings.excessOfOurs()).isEmpty();
      }
      if (graceful) { // else Micronaut itself has no body for some
        assertThat(callers.statuses()).containsExactly(200);
      }
      assertThat(decisions.failures()).isEmpty();
      assertThat(decisions.slowestSince(before)).isLessThan(DECIDED);
      assertThat(took).isLessThan(ENDED);
    }
  }

  private TestServer start(boolean graceful, String connections) {
    return TestServer.start(
        SPEC,
        Map.of(
            "redis.uri",
            redis.uri(),
            "limiter.redis.deadline",
            "100ms",
            "limiter.redis.connections",
            connections,
            "micronaut.netty.event-loops.default.num-threads",
            2));
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Watch implements BeanCreatedEventListener<LimitStore> {

    final WatchedStore.Notes notes = new WatchedStore.Notes();

    @Override
    public LimitStore onCreated(BeanCreatedEvent<LimitStore> event) {
      return new WatchedStore(event.getBean(), notes);
    }
  }

  @Controller("/ending")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    @Get
    @RateRule(count = MANY, algorithm = Algorithm.SLIDING_WINDOW_COUNTER)
    String get() {
      return "ok";
    }

    @Get("/by-argument")
    @RateLimiter(
        subject = "#{T(java.util.Objects).toString(who)}",
        rules = @RateRule(count = MANY, algorithm = Algorithm.SLIDING_WINDOW_COUNTER))
    String byArgument(@QueryValue String who) {
      return "ok";
    }
  }

  /**
   * Callers with a connection and a thread each, who call as often as they are answered until the
   * server ends. No client of any library, which would have threads and logs of its own.
   */
  static final class RawCallers implements AutoCloseable {

    private static final int PATIENCE_MILLIS = 5_000;

    private final int port;
    private final Map<Integer, LongAdder> statuses = new ConcurrentHashMap<>();
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean closed;

    private RawCallers(int port) {
      this.port = port;
    }

    /** The paths are called in turn. */
    static RawCallers call(int port, int callers, String... paths) {
      RawCallers all = new RawCallers(port);
      for (int i = 0; i < callers; i++) {
        Thread caller = new Thread(() -> all.run(paths), "caller-" + i);
        caller.setDaemon(true);
        all.threads.add(caller);
        caller.start();
      }
      return all;
    }

    long answers(int status) {
      LongAdder counted = statuses.get(status);
      return counted == null ? 0 : counted.sum();
    }

    Set<Integer> statuses() {
      return statuses.keySet();
    }

    /** Until the server has closed all connections. */
    void awaitEnd() throws InterruptedException {
      for (Thread caller : threads) {
        caller.join(TimeUnit.SECONDS.toMillis(10));
        assertThat(caller.isAlive()).as("%s still waits", caller.getName()).isFalse();
      }
    }

    private void run(String... paths) {
      try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
        socket.setSoTimeout(PATIENCE_MILLIS);
        socket.setTcpNoDelay(true);
        InputStream in = new BufferedInputStream(socket.getInputStream());
        for (int i = 0; !closed; i++) {
          socket.getOutputStream().write(request(paths[i % paths.length]));
          int status = answer(in);
          statuses.computeIfAbsent(status, any -> new LongAdder()).increment();
        }
      } catch (IOException theServerHasEnded) {
        // As it should.
      }
    }

    static byte[] request(String path) {
      return ("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
          .getBytes(StandardCharsets.US_ASCII);
    }

    /** Reads one response, which must have a Content-Length. */
    private static int answer(InputStream in) throws IOException {
      int status = Integer.parseInt(line(in).split(" ")[1]);
      int length = 0;
      for (String field = line(in); !field.isEmpty(); field = line(in)) {
        if (field.toLowerCase(java.util.Locale.ROOT).startsWith("content-length:")) {
          length = Integer.parseInt(field.substring(field.indexOf(':') + 1).strip());
        }
      }
      in.skipNBytes(length);
      return status;
    }

    private static String line(InputStream in) throws IOException {
      StringBuilder line = new StringBuilder();
      for (int next = in.read(); next != '\n'; next = in.read()) {
        if (next < 0) {
          throw new IOException("The server has closed the connection");
        }
        if (next != '\r') {
          line.append((char) next);
        }
      }
      return line.toString();
    }

    @Override
    public void close() {
      closed = true;
    }
  }
}
