// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.limiter.core.redis.AuditedStore;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.SharedConnection;
import io.limiter.core.testing.FaultProxy;
import io.limiter.core.testing.RedisProcess;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;

/** A limiter on one Redis, behind a {@link FaultProxy}. */
public final class FaultBench extends LimiterBench {

  final RedisProcess redis;
  final FaultProxy proxy;
  final SharedConnection connection;
  private final RedisClient admin = RedisClient.create();
  private StatefulRedisConnection<String, String> administrator;

  private FaultBench(
      RedisProcess redis, FaultProxy proxy, SharedConnection connection, Duration deadline) {
    super(new AuditedStore(connection, deadline));
    this.redis = redis;
    this.proxy = proxy;
    this.connection = connection;
    awaitWarm();
  }

  /** Connected and warm. */
  static FaultBench start(String... settings) {
    return start(DEADLINE, settings);
  }

  static FaultBench withDeadline(Duration deadline) {
    return start(deadline);
  }

  /** Connected and warm. */
  static FaultBench start(Duration deadline, String... settings) {
    RedisProcess redis = RedisProcess.onFreePort(settings).start();
    FaultProxy proxy = new FaultProxy(redis.port());
    SharedConnection connection =
        SharedConnection.open(RedisURI.create(proxy.uri()), RedisSettings.defaults());
    return new FaultBench(redis, proxy, connection, deadline);
  }

  /** Bypasses the proxy. */
  <T> T admin(Function<RedisCommands<String, String>, T> commands) {
    if (administrator == null || !administrator.isOpen()) {
      administrator = admin.connect(RedisURI.create(redis.uri()));
    }
    return commands.apply(administrator.sync());
  }

  /** Commands as typed by hand, separated by semicolons. */
  void admin(String commands) {
    for (String command : commands.split(";")) {
      try (Socket socket = type(command)) {
        socket.setSoTimeout(5_000);
        int first = socket.getInputStream().read();
        assertThat((char) first).as("first letter of the reply to %s", command).isIn('+', ':', '$');
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /**
   * Sends a command as typed by hand, and does not wait for its reply. The caller closes the
   * socket.
   */
  Socket type(String command) throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), redis.port());
    socket.getOutputStream().write((command.strip() + "\r\n").getBytes(StandardCharsets.US_ASCII));
    return socket;
  }

  @Override
  List<String> executed() {
    return admin(commands -> commands.lrange(AuditedStore.AUDIT, 0, -1));
  }

  @Override
  public void close() {
    limiter.close();
    if (redis.isRunning()) {
      redis.resume();
    }
    admin.shutdown(Duration.ZERO, Duration.ofSeconds(2));
    proxy.close();
    redis.close();
  }
}
