// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.micronaut.context.annotation.Requires;
import io.micronaut.context.event.BeanCreatedEvent;
import io.micronaut.context.event.BeanCreatedEventListener;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.server.netty.NettyServerCustomizer;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.Channel;
import jakarta.inject.Singleton;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** One caller repeats a request that runs, on many connections. */
class WaitingBodiesTest {

  private static final String SPEC = "WaitingBodiesTest";
  private static final int CONNECTIONS = 250;

  /** Buffers that are allocated and not released, of the connections of the server alone. */
  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Buffers
      implements BeanCreatedEventListener<NettyServerCustomizer.Registry>, NettyServerCustomizer {

    private final PooledByteBufAllocator all = new PooledByteBufAllocator(true);

    @Override
    public NettyServerCustomizer.Registry onCreated(
        BeanCreatedEvent<NettyServerCustomizer.Registry> created) {
      created.getBean().register(this);
      return created.getBean();
    }

    @Override
    public NettyServerCustomizer specializeForChannel(Channel channel, ChannelRole role) {
      if (role == ChannelRole.CONNECTION) {
        channel.config().setAllocator(all);
      }
      return this;
    }

    long held() {
      return all.pinnedDirectMemory() + all.pinnedHeapMemory();
    }
  }

  @Singleton
  @Requires(property = "spec.name", value = SPEC)
  static class Runs {
    final AtomicInteger count = new AtomicInteger();
    final CountDownLatch gate = new CountDownLatch(1);
  }

  @Controller("/flood")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {

    private final Runs runs;

    Routes(Runs runs) {
      this.runs = runs;
    }

    @Post(consumes = "*/*")
    @Idempotent(maxWait = "30s")
    @ExecuteOn(TaskExecutors.BLOCKING)
    String run() throws InterruptedException {
      int run = runs.count.incrementAndGet();
      runs.gate.await(60, TimeUnit.SECONDS);
      return "run " + run;
    }

    @Post(uri = "/failing", consumes = "*/*")
    @Idempotent(maxWait = "30s")
    @ExecuteOn(TaskExecutors.BLOCKING)
    String fail() throws InterruptedException {
      String run = run();
      if (run.equals("run 1")) {
        throw new IllegalStateException(run);
      }
      return run;
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1 << 20, 2_048, 100})
  void waitingRepetitionsHoldNoByte(int length) throws Exception {
    try (IdempotentService server =
        IdempotentService.start(
            SPEC,
            Map.of(
                "limiter.idempotency.anonymous-by-address",
                true,
                "limiter.idempotency.max-waiting-of-subject",
                CONNECTIONS))) {
      Buffers buffers = server.bean(Buffers.class);
      Runs runs = server.bean(Runs.class);
      byte[] head =
          "POST /flood HTTP/1.1\r\nHost: x\r\nIdempotency-Key: 1\r\nContent-Length: %s\r\n\r\n"
              .formatted(length)
              .getBytes(StandardCharsets.US_ASCII);
      List<SocketChannel> clients = new ArrayList<>();
      try {
        SocketChannel first = connect(server.port());
        first.write(ByteBuffer.wrap(head));
        first.write(ByteBuffer.wrap(new byte[length]));
        clients.add(first);
        await().until(() -> runs.count.get() == 1);
        long before = buffers.held();
        for (int i = 0; i < CONNECTIONS; i++) {
          SocketChannel client = connect(server.port());
          client.write(ByteBuffer.wrap(head));
          client.configureBlocking(false);
          clients.add(client);
        }
        ByteBuffer body = ByteBuffer.allocate(length);
        int[] sent = new int[clients.size()];
        for (int left = CONNECTIONS; left > 0; ) {
          left = 0;
          for (int i = 1; i < clients.size(); i++) {
            body.clear().limit(Math.min(1 << 16, length - sent[i]));
            sent[i] += clients.get(i).write(body);
            left += sent[i] < length ? 1 : 0;
          }
        }
        await()
            .atMost(Duration.ofSeconds(25))
            .until(() -> server.bean(SubmissionService.class).waiting() == CONNECTIONS);
        assertThat(before).as("the body of the first").isGreaterThanOrEqualTo(length);
        // Buffers are released on their event loop.
        await().untilAsserted(() -> assertThat(buffers.held() - before).as("bytes").isZero());
        assertThat(server.get("/missing").statusCode()).isEqualTo(404);
        runs.gate.countDown();
        assertThat(runs.count).hasValue(1);
      } finally {
        runs.gate.countDown();
        for (SocketChannel client : clients) {
          client.close();
        }
      }
    }
  }

  /** A body that is not there any more cannot run. */
  @ParameterizedTest
  @CsvSource({"0, 200", "100, 409", "4096, 409"})
  void ifTheFirstFailsARepetitionRunsUnlessItsBodyIsDropped(int length, int status) {
    try (IdempotentService server =
        IdempotentService.start(SPEC, Map.of("limiter.idempotency.anonymous-by-address", true))) {
      Runs runs = server.bean(Runs.class);
      Buffers buffers = server.bean(Buffers.class);
      String body = "x".repeat(length);
      var first = server.postAsync("/flood/failing", body, "Idempotency-Key", "1");
      await().until(() -> runs.count.get() == 1);
      long before = buffers.held();
      var again = server.postAsync("/flood/failing", body, "Idempotency-Key", "1");
      await().until(() -> server.bean(SubmissionService.class).waiting() == 1);
      await().until(() -> buffers.held() == before);
      runs.gate.countDown();

      assertThat(first.join().statusCode()).isEqualTo(500);
      assertThat(again.join().statusCode()).isEqualTo(status);
      assertThat(again.join().headers().firstValue("Retry-After").isPresent())
          .isEqualTo(status == 409);
      assertThat(server.post("/flood/failing", body, "Idempotency-Key", "1").body())
          .isEqualTo("run 2");
    }
  }

  private static SocketChannel connect(int port) throws Exception {
    return SocketChannel.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
  }
}
