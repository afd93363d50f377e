// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisCredentials;
import io.lettuce.core.RedisURI;
import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.testing.Ports;
import io.limiter.core.testing.RecordedLog;
import io.limiter.core.testing.RedisProcess;
import io.limiter.core.testing.TypedCommand;
import io.limiter.micronaut.testing.HttpService;
import io.limiter.micronaut.testing.Starts;
import io.micronaut.context.ApplicationContext;
import io.micronaut.context.env.PropertySource;
import io.micronaut.context.env.PropertySource.PropertyConvention;
import io.micronaut.management.health.indicator.HealthIndicator;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.Key;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.time.Duration;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Run with Lettuce, but without micronaut-redis on the class path: see the execution in the POM,
 * which runs other tests of Redis too.
 */
class LimitsWithLettuceAlone {

  private static final Duration PATIENCE = Duration.ofSeconds(15);
  private static final String PASSWORD = "s3cret";

  @AutoClose private final RecordedLog log = RecordedLog.ofInfo("io.limiter");

  @Test
  void thereIsNoMicronautRedis() {
    assertThat(
            Stream.of(
                    "io.lettuce.core.RedisClient",
                    "io.micronaut.configuration.lettuce.RedisSetting",
                    "io.micronaut.configuration.lettuce.health.RedisHealthIndicator")
                .filter(LimitsWithLettuceAlone::exists))
        .containsExactly("io.lettuce.core.RedisClient");
  }

  private static boolean exists(String type) {
    try {
      Class.forName(type);
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }

  /** The settings of a row, with the port of Redis in place of PORT. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          redis.uri=redis://127.0.0.1:PORT                                                     | default | ''
          redis.uri=redis://ann:s3cret@127.0.0.1:PORT/3                                        | ann     | ''
          redis.uri=redis://ann:s3cret@127.0.0.1:PORT?clientName=shop                          | ann     | shop
          redis.uri=redis://127.0.0.1:PORT redis.client-name=shop                              | default | shop
          redis.host=127.0.0.1 redis.port=PORT redis.username=ann redis.password=s3cret        | ann     | ''
          redis.port=PORT redis.username= redis.password= redis.database=3 redis.clientName=shop                               | default | shop
          """)
  void limitsAreCountedInRedis(String settings, String user, String name) throws IOException {
    try (RedisProcess redis = RedisProcess.onFreePort().start()) {
      TypedCommand.reply(redis.port(), "ACL SETUSER ann on >" + PASSWORD + " ~* &* +@all");
      try (Service service = start(redis, settings)) {
        await().atMost(PATIENCE).until(service::decidesInRedis);

        assertThat(service.call().decidedBy()).isEqualTo(DecidedBy.STORE);
        assertThat(service.used()).isEqualTo(1);
        assertThat(service.bean(ApplicationContext.class).getBeansOfType(HealthIndicator.class))
            .filteredOn(indicator -> indicator.getClass().getSimpleName().equals("LimiterHealth"))
            .hasSize(1);
        assertThat(TypedCommand.reply(redis.port(), "CLIENT LIST"))
            .containsPattern(" name=%s .* user=%s ".formatted(name, user));
        assertSecret();
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "redis.uri=redis://:s3cret@127.0.0.1:PORT, true",
    "redis.port=PORT redis.password=s3cret, true",
    "redis.uri=redis://:another@127.0.0.1:PORT, false",
    "redis.uri=redis://127.0.0.1:PORT redis.password=s3cret, false",
  })
  void aPasswordIsThatOfTheDefaultUser(String settings, boolean accepted) throws IOException {
    try (RedisProcess redis = RedisProcess.onFreePort().start()) {
      TypedCommand.reply(redis.port(), "CONFIG SET requirepass " + PASSWORD);
      try (Service service = start(redis, settings)) {
        if (accepted) {
          await().atMost(PATIENCE).until(service::decidesInRedis);
        } else {
          service.fallsBack(3, FailureReason.DISCONNECTED, FailureReason.BREAKER_OPEN);
        }
        assertSecret();
      }
    }
  }

  private Service start(RedisProcess redis, String settings) {
    Map<String, Object> all = new LinkedHashMap<>();
    for (String setting : settings.replace("PORT", "" + redis.port()).split(" ")) {
      int end = setting.indexOf('=');
      all.put(setting.substring(0, end), setting.substring(end + 1));
    }
    return Service.start(all);
  }

  /** The certificate is its own issuer, so only a connection that does not verify it is opened. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          redis.uri=rediss://127.0.0.1:TLS?verifyPeer=NONE              | true
          redis.uri=rediss://127.0.0.1:TLS                              | false
          redis.port=TLS redis.ssl=true redis.verify-peer=false         | true
          redis.port=TLS redis.ssl=true                                 | false
          redis.port=TLS                                                | false
          """)
  void tlsIsUsedAndCertificatesAreVerified(String settings, boolean connects, @TempDir Path files)
      throws Exception {
    writeCertificate(files);
    int tls = Ports.free();
    try (RedisProcess redis =
            RedisProcess.onFreePort(
                    "--tls-port",
                    Integer.toString(tls),
                    "--tls-cert-file",
                    files.resolve("redis.crt").toString(),
                    "--tls-key-file",
                    files.resolve("redis.key").toString(),
                    "--tls-auth-clients",
                    "no")
                .start();
        Service service = start(redis, settings.replace("TLS", Integer.toString(tls)))) {
      if (connects) {
        await().atMost(PATIENCE).until(service::decidesInRedis);
      } else {
        service.fallsBack(3, FailureReason.DISCONNECTED, FailureReason.BREAKER_OPEN);
      }
    }
  }

  private static void writeCertificate(Path files) throws Exception {
    Path store = files.resolve("redis.p12");
    Process keytool =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-alias",
                "redis",
                "-keyalg",
                "RSA",
                "-dname",
                "CN=localhost",
                "-storetype",
                "PKCS12",
                "-storepass",
                "changeit",
                "-keystore",
                store.toString())
            .inheritIO()
            .start();
    assertThat(keytool.waitFor()).isZero();
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream stored = Files.newInputStream(store)) {
      keys.load(stored, "changeit".toCharArray());
    }
    Certificate certificate = keys.getCertificate("redis");
    Key key = keys.getKey("redis", "changeit".toCharArray());
    Files.writeString(files.resolve("redis.crt"), pem("CERTIFICATE", certificate.getEncoded()));
    Files.writeString(files.resolve("redis.key"), pem("PRIVATE KEY", key.getEncoded()));
  }

  private static String pem(String what, byte[] bytes) {
    return "-----BEGIN %1$s-----%n%2$s%n-----END %1$s-----%n"
        .formatted(what, Base64.getMimeEncoder().encodeToString(bytes));
  }

  /** Without a server: what the connections are given. */
  @Test
  void sentinelsAndNodesAreThoseOfTheAddresses() {
    RedisURI sentinels =
        address("redis.uri", "redis-sentinel://ann:s3cret@a:26379,b:26380/2#limits").server();
    assertThat(sentinels.getSentinels())
        .extracting(one -> one.getHost() + ":" + one.getPort())
        .containsExactly("a:26379", "b:26380");
    assertThat(sentinels.getSentinelMasterId()).isEqualTo("limits");
    assertThat(sentinels.getDatabase()).isEqualTo(2);
    RedisCredentials login = sentinels.getCredentialsProvider().resolveCredentials().block();
    assertThat(login.getUsername()).isEqualTo("ann");
    assertThat(login.getPassword()).isEqualTo(PASSWORD.toCharArray());

    List<RedisURI> nodes =
        address("redis.uris", "redis://a:1,rediss://b:2", "redis.client-name", "shop").nodes();
    assertThat(nodes)
        .extracting(node -> "%s:%s %s".formatted(node.getHost(), node.getPort(), node.isSsl()))
        .containsExactly("a:1 false", "b:2 true");
    assertThat(nodes).allSatisfy(node -> assertThat(node.getClientName()).isEqualTo("shop"));
    assertThat(address("redis.uris[0]", "redis://a:1", "redis.uris[1]", "redis://b:2").nodes())
        .hasSize(2);

    RedisURI socket = address("redis.socket", "/run/redis.sock", "redis.database", "2").server();
    assertThat(socket.getSocket()).isEqualTo("/run/redis.sock");
    assertThat(socket.getDatabase()).isEqualTo(2);
    assertSecret();
  }

  private static RedisAddress address(String... settings) {
    Map<String, Object> all = HttpService.settings((Object[]) settings);
    all.put("limiter.redis.start-timeout", "0s");
    all.put("spec.name", "none");
    try (ApplicationContext context = ApplicationContext.run(all)) {
      return context.getBean(RedisAddress.class);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "redis.ssl, ture, set it to true or false",
    "redis.start-tls, ' true', set it to true or false",
    "redis.verify-peer, CA, set it to true or false",
    "redis.username, ann, 'a user needs a password, so set redis.password too'",
  })
  void whatIsNotUnderstoodStopsTheStart(String setting, String value, String remedy) {
    assertThat(Starts.mistake(Map.of("redis.port", 1, setting, value)))
        .hasMessageContaining("%s = %s: %s", setting, value, remedy);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          redis.uri, redis://a:1 | redis.password, redis.pool.enabled, redis.pool.max-total | redis.uri, redis.client-name, and not redis.password, redis.pool
          redis.uri, redis://a:1 | redis.timeout, redis.read-from, redis.health.enabled, redis.url | redis.uri, redis.client-name, and not redis.health, redis.read-from, redis.timeout, redis.url
          redis.uri, redis://a:1 | redis.replica-uris[0] | redis.uri, redis.client-name, and not redis.replica-uris
          redis.uris, redis://a:1 | redis.uri, redis.servers.a.uri, redis.client-name | redis.uris, redis.client-name, and not redis.servers, redis.uri
          redis.port, 1 | redis.timeout, redis.password | redis.host, redis.port, redis.socket, redis.username, redis.password, redis.database, redis.ssl, redis.start-tls, redis.verify-peer, redis.client-name, and not redis.timeout
          """)
  void aSettingThatIsNotReadIsNamed(String named, String others, String line) {
    Map<String, Object> all =
        HttpService.settings((Object[]) (named + ", limiter.redis.start-timeout, 0s").split(", "));
    for (String other : others.split(", ")) {
      all.put(other, "redis://b:2");
    }
    all.put("spec.name", "none");
    try (ApplicationContext context = ApplicationContext.run(all)) {
      assertThat(context.isRunning()).isTrue();
    }
    String address =
        named.startsWith("redis.port")
            ? ""
            : ": what a connection needs is a part of its address, such as rediss://user:password@host:6380/1";
    assertThat(log.lines())
        .containsOnlyOnce("WARN Without micronaut-redis the limiter reads " + line + address);
  }

  /** What Kubernetes sets for a service of the name redis, and switches. */
  @ParameterizedTest
  @ValueSource(strings = {"redis.enabled", "redis.client-name", "limiter.redis.enabled"})
  void othersAreNot(String setting) {
    try (ApplicationContext context =
        ApplicationContext.builder()
            .propertySources(
                PropertySource.of(
                    "pod",
                    Map.of("REDIS_SERVICE_HOST", "10.0.0.11", "REDIS_PORT_6379_TCP", "tcp://a:1"),
                    PropertyConvention.ENVIRONMENT_VARIABLE))
            .properties(
                Map.of(
                    "spec.name",
                    "none",
                    "redis.uri",
                    "redis://127.0.0.1:1",
                    "limiter.redis.start-timeout",
                    "0s",
                    setting,
                    "true"))
            .start()) {
      assertThat(context.containsBean(RedisAddress.class)).isTrue();
      assertThat(log.lines()).noneMatch(line -> line.contains("the limiter reads"));
    }
  }

  @Test
  void redisCanBeSwitchedOff() {
    try (ApplicationContext context =
        ApplicationContext.run(
            Map.of("spec.name", "none", "redis.port", 1, "redis.enabled", false))) {
      assertThat(context.containsBean(RedisAddress.class)).isFalse();
    }
  }

  private void assertSecret() {
    assertThat(log.messages()).noneMatch(message -> message.contains(PASSWORD));
  }
}
