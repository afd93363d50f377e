// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.embedded.RedisServer;

/** A real redis-server from Maven Central, for as long as the demo runs. */
final class EmbeddedRedis {

  private static final Logger LOG = LoggerFactory.getLogger(EmbeddedRedis.class);

  private EmbeddedRedis() {}

  /** Starts it on a free port of this machine. Its URI, or nothing if it cannot run here. */
  static Optional<String> start() {
    try {
      int port = freePort();
      RedisServer server =
          RedisServer.newRedisServer()
              .port(port)
              .setting("bind 127.0.0.1")
              .setting("save \"\"")
              .setting("appendonly no")
              .build();
      server.start();
      Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(server), "embedded-redis-stop"));
      LOG.info("Embedded redis-server on port {}", port);
      return Optional.of("redis://127.0.0.1:" + port);
    } catch (IOException | RuntimeException e) {
      LOG.warn(
          "The embedded redis-server cannot run here (on Linux it needs libssl.so.3), so limits are kept in memory. Set REDIS_URI to use a Redis of yours. It says: {}",
          e.getMessage());
      return Optional.empty();
    }
  }

  private static void stop(RedisServer server) {
    try {
      server.stop();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }
}
