package example;

import io.micronaut.test.support.TestPropertyProvider;
import java.io.IOException;
import java.net.ServerSocket;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import redis.embedded.RedisServer;

/** A redis-server for the tests of one class. Where there is Docker, a container does the same. */
abstract class RedisForTests implements TestPropertyProvider {

  private RedisServer redis;

  @Override
  public Map<String, String> getProperties() {
    try (ServerSocket free = new ServerSocket(0)) {
      int port = free.getLocalPort();
      free.close();
      redis = new RedisServer(port);
      redis.start();
      return Map.of("redis.uri", "redis://localhost:" + port);
    } catch (IOException e) {
      throw new IllegalStateException("There is no redis-server for the tests", e);
    }
  }

  @AfterAll
  void stopRedis() throws IOException {
    redis.stop();
  }
}
