// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Post;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufAllocatorMetric;
import io.netty.buffer.ByteBufAllocatorMetricProvider;
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
import org.junit.jupiter.api.Test;

/** One caller repeats a request that runs, on many connections, with large bodies. */
class WaitingBodiesTest {

  private static final String SPEC = "WaitingBodiesTest";
  private static final int CONNECTIONS = 250;

  /** Four times what the server reads ahead; all of them arrive while the first still waits. */
  private static final int BODY = 1 << 18;

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
  }

  @Test
  void whoWaitsHoldsNoBody() throws Exception {
    try (IdempotentService server =
        IdempotentService.start(
            SPEC,
            Map.of(
                "limiter.idempotency.anonymous-by-address",
                true,
                "limiter.idempotency.max-waiting-of-subject",
                CONNECTIONS))) {
      Runs runs = server.bean(Runs.class);
      byte[] head =
          "POST /flood HTTP/1.1\r\nHost: x\r\nIdempotency-Key: 1\r\nContent-Length: %s\r\n\r\n"
              .formatted(BODY)
              .getBytes(StandardCharsets.US_ASCII);
      List<SocketChannel> clients = new ArrayList<>();
      try {
        SocketChannel first = connect(server.port());
        first.write(ByteBuffer.wrap(head));
        first.write(ByteBuffer.wrap(new byte[BODY]));
        clients.add(first);
        await().until(() -> runs.count.get() == 1);
        long before = used();
        for (int i = 0; i < CONNECTIONS; i++) {
          SocketChannel client = connect(server.port());
          client.write(ByteBuffer.wrap(head));
          client.configureBlocking(false);
          clients.add(client);
        }
        ByteBuffer body = ByteBuffer.allocate(BODY);
        int[] sent = new int[clients.size()];
        for (int left = CONNECTIONS; left > 0; ) {
          left = 0;
          for (int i = 1; i < clients.size(); i++) {
            body.clear().limit(Math.min(1 << 16, BODY - sent[i]));
            sent[i] += clients.get(i).write(body);
            left += sent[i] < BODY ? 1 : 0;
          }
        }
        await()
            .atMost(Duration.ofSeconds(25))
            .until(() -> server.bean(SubmissionService.class).waiting() == CONNECTIONS);
        long held = used() - before;
        // What the allocator keeps for reads that are under way, in whole chunks; the bodies are 62
        // MiB.
        assertThat(held).isLessThanOrEqualTo(31 << 20);
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

  private static SocketChannel connect(int port) throws Exception {
    return SocketChannel.open(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
  }

  private static long used() {
    ByteBufAllocatorMetric metric =
        ((ByteBufAllocatorMetricProvider) ByteBufAllocator.DEFAULT).metric();
    return metric.usedDirectMemory() + metric.usedHeapMemory();
  }
}
