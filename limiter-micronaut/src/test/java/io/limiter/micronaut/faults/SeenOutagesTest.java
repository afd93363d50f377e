// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.KillArgs;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.limiter.core.testing.RecordedLog;
import io.limiter.core.testing.RedisProcess;
import io.limiter.micronaut.annotation.RateRule;
import io.limiter.micronaut.testing.HttpService;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * What an operator sees of each way in which Redis is lost: in the log, by health and in the
 * meters, at its begin, while it lasts, and at its end. All at once, each with a service and a
 * Redis of its own, since the log waits for ten seconds without a failure.
 */
@Tag("faults")
class SeenOutagesTest {

  private static final String SPEC = "SeenOutagesTest";
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final Duration CALM = Duration.ofSeconds(10);

  private static final String OPENED = " has failed, so its circuit breaker is open: ";
  private static final String AWAY = " is away: 5 calls in a row found no connection.";

  @Controller("/seen")
  @Requires(property = "spec.name", value = SPEC)
  static class Routes {
    @Get
    @RateRule(count = 1_000, time = 3_600)
    String answer() {
      return "ok";
    }
  }

  private final List<Outage> outages = new ArrayList<>();

  @AfterEach
  void close() {
    outages.forEach(Outage::close);
  }

  @Test
  void eachOutageIsSeenAtItsBeginWhileItLastsAndAtItsEnd() throws InterruptedException {
    outages.add(new Outage("killed", "DISCONNECTED", AWAY));
    outages.add(new Outage("silent", "TIMEOUT", OPENED));
    outages.add(new Outage("ACL SETUSER default -evalsha", "ERROR", OPENED));
    // After READONLY another connection is opened. Calls may come meanwhile, or after it.
    outages.add(new Outage("REPLICAOF 127.0.0.1 1", "ERROR", AWAY, OPENED));
    outages.add(new Outage("CONFIG SET maxmemory 1", "ERROR", OPENED));
    outages.add(new Outage("CONFIG SET requirepass other", "DISCONNECTED", AWAY));
    outages.forEach(Outage::ready);
    try (RecordedLog log = RecordedLog.ofInfo("io.limiter")) {
      for (int i = 0; i < outages.size(); i++) {
        outages.get(i).begin(12 + i);
      }
      outages.forEach(outage -> outage.assertSeen(log));
      outages.forEach(Outage::end);
      outages.forEach(Outage::ready);
      Thread.sleep(CALM.toMillis());
      for (Outage outage : outages) {
        assertThat(outage.service.status("/seen")).isEqualTo(200);
        outage.assertEndSeen(log);
      }
    }
  }

  private static final class Outage implements AutoCloseable {

    private final String fault;
    private final String reason;
    private final String[] signs;
    private final RedisProcess redis = RedisProcess.onFreePort().start();
    private final HttpService service =
        HttpService.start(
            SPEC,
            HttpService.settings(
                "redis.uri",
                redis.uri(),
                // On a busy machine the default could end a decision that Redis was to make.
                "limiter.redis.deadline",
                "500ms",
                "limiter.health.required",
                true,
                "micronaut.metrics.enabled",
                true));
    private final RedisClient client = RedisClient.create(redis.uri());
    private final RedisCommands<String, String> admin = client.connect().sync();
    private int calls;

    /**
     * @param reason of the first decision of the fallback
     * @param signs one of these is in the log once Redis is lost
     */
    Outage(String fault, String reason, String... signs) {
      this.fault = fault;
      this.reason = reason;
      this.signs = signs;
    }

    void ready() {
      await(fault).atMost(PATIENCE).until(() -> service.status("/health/readiness") == 200);
      assertThat(breaker()).as(fault).isZero();
    }

    void begin(int number) {
      calls = number;
      switch (fault) {
        case "killed" -> redis.kill();
        case "silent" -> redis.suspend();
        default -> run(fault);
      }
      if (fault.contains("requirepass")) { // connections that are open stay logged in
        admin.clientKill(KillArgs.Builder.typeNormal().skipme());
        await(fault).atMost(PATIENCE).until(() -> service.status("/health/readiness") == 503);
      }
      for (int i = 0; i < calls; i++) {
        assertThat(service.status("/seen")).as(fault).isEqualTo(200);
      }
    }

    void end() {
      switch (fault) {
        case "killed" -> redis.start();
        case "silent" -> redis.resume();
        case "ACL SETUSER default -evalsha" -> run("ACL SETUSER default +evalsha");
        case "REPLICAOF 127.0.0.1 1" -> run("REPLICAOF NO ONE");
        case "CONFIG SET maxmemory 1" -> run("CONFIG SET maxmemory 0");
        default -> run("CONFIG SET requirepass \"\"");
      }
    }

    private void run(String command) {
      String[] words = command.split(" ");
      CommandArgs<String, String> arguments = new CommandArgs<>(StringCodec.UTF8);
      for (int i = 1; i < words.length; i++) {
        arguments.add(words[i].replace("\"", ""));
      }
      var unused =
          admin.dispatch(
              CommandType.valueOf(words[0]), new StatusOutput<>(StringCodec.UTF8), arguments);
    }

    void assertSeen(RecordedLog log) {
      assertThat(log.lines())
          .as(fault)
          .anyMatch(line -> line.startsWith("WARN The limit store failed (" + reason) && is(line))
          .anyMatch(line -> is(line) && Stream.of(signs).anyMatch(sign -> line.contains(sign)));
      assertThat(service.status("/health/readiness")).as(fault).isEqualTo(503);
      assertThat(breaker()).as(fault).isOne();
      assertThat(fallbacks()).as(fault).isEqualTo(calls);
    }

    void assertEndSeen(RecordedLog log) {
      Pattern end =
          Pattern.compile(
              "INFO Redis at 127.0.0.1:%s (decides again, after|has answered a probe after) \\d+ s.*"
                  .formatted(redis.port()));
      assertThat(log.lines())
          .as(fault)
          .anyMatch(line -> end.matcher(line).matches())
          .anyMatch(
              line ->
                  line.startsWith(
                      "INFO The limit store decides again. Fallback decisions: %s, within "
                          .formatted(calls)));
      assertThat(breaker()).as(fault).isZero();
      assertThat(fallbacks()).as(fault).isEqualTo(calls);
    }

    private boolean is(String line) {
      return line.contains("Redis at 127.0.0.1:" + redis.port());
    }

    private double breaker() {
      Gauge gauge = service.bean(MeterRegistry.class).find("limiter.breaker").gauge();
      return gauge == null ? 0 : gauge.value();
    }

    private double fallbacks() {
      return service.bean(MeterRegistry.class).find("limiter.fallback").functionCounters().stream()
          .mapToDouble(counter -> counter.count())
          .sum();
    }

    @Override
    public void close() {
      if (redis.isRunning()) {
        redis.resume();
      }
      client.shutdown(Duration.ZERO, Duration.ZERO);
      service.close();
      redis.close();
    }
  }
}
