// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static io.limiter.core.StoreHarness.HOUR;
import static io.limiter.core.StoreHarness.SECOND;
import static io.limiter.core.StoreHarness.call;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.limiter.core.Answer;
import io.limiter.core.Charge;
import io.limiter.core.Differential;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitRequest.PastCharge;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.Reservation;
import io.limiter.core.Scenario;
import io.limiter.core.ScenarioGenerator;
import io.limiter.core.Step;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.redis.wire.ScriptSourceTest;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.core.testing.RedisProcess;
import io.limiter.core.testing.Seeds;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A Redis user with the least privileges that the limiter needs. The user is read from
 * docs/security.md, so that the documented one is tested.
 */
class LeastPrivilegeTest {

  private static final Path DOCUMENT = Path.of("..", "docs", "security.md");
  private static final String COMMAND = "ACL SETUSER limiter ";
  private static final String PASSWORD = "a-long-password";

  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final Subject ADA = new Subject("user", "ada");

  private final RedisProcess redis = RedisProcess.onFreePort().start();
  private final RedisClient admin = RedisClient.create(redis.uri());

  @AfterEach
  void close() {
    admin.shutdown();
    redis.close();
  }

  /**
   * The rights of the documented user: a password, keys, commands. They are in two lines; Redis 7.0
   * does not accept the second.
   */
  private List<String> documented() {
    try (var lines = Files.lines(DOCUMENT)) {
      List<String> rights =
          lines
              .filter(line -> line.startsWith(COMMAND))
              .map(line -> line.substring(COMMAND.length()))
              .toList();
      assertThat(rights).hasSize(2);
      return rights.stream()
          .limit(redis.product().startsWith("Redis 7.0") ? 1 : 2)
          .flatMap(line -> Stream.of(line.split(" ")))
          .toList();
    } catch (IOException e) {
      throw new AssertionError("There is no " + DOCUMENT.toAbsolutePath(), e);
    }
  }

  private RedisURI user(String name, List<String> rights) {
    CommandArgs<String, String> user = new CommandArgs<>(StringCodec.UTF8);
    user.add("SETUSER").add(name);
    rights.forEach(user::add);
    admin.connect().sync().dispatch(CommandType.ACL, new StatusOutput<>(StringCodec.UTF8), user);
    return RedisURI.builder(RedisURI.create(redis.uri()))
        .withAuthentication(name, PASSWORD.toCharArray())
        .build();
  }

  private RedisURI documentedUser() {
    return user("limiter", documented());
  }

  private static RedisStore store(RedisURI uri) {
    RedisSettings settings = new RedisSettings(RedisSettings.DEFAULT_PREFIX, PATIENCE);
    SharedConnection connection = SharedConnection.open(uri, settings);
    await().atMost(PATIENCE).until(() -> connection.firstAttempt().toCompletableFuture().join());
    return new RedisStore(connection, settings);
  }

  private static Verdict acquire(RedisStore store, LimitRequest call) {
    return store.decide(call, Mode.ACQUIRE).toCompletableFuture().join();
  }

  /** Includes commands that run too rarely for other tests here. */
  @Test
  void eachCommandOfTheScriptsIsDocumented() {
    assertThat(documented())
        .containsAll(
            ScriptSourceTest.commands().stream()
                .map(command -> "+" + command.toLowerCase(Locale.ROOT))
                .toList());
  }

  /** Over connections that the limiter opens itself. */
  @Test
  void thatIsEnoughForAllThatTheLimiterDoes() {
    Policy mixed =
        Policy.of("mixed", rule(500, HOUR), TokenBucketRule.of(500, 1, HOUR))
            .withBan(BanRule.of(5, HOUR, HOUR))
            .withDuplicates(rule(1, HOUR));
    LimitRequest call = LimitRequest.of(mixed, ADA, Optional.of("order")).withCost(200);
    LimitRequest running = LimitRequest.of(Policy.of("export", ConcurrencyLimitRule.of(1)), ADA);
    try (RedisStore store = store(documentedUser())) {
      Reservation reservation =
          acquire(store, call).reservation(); // a long log, which is written in place
      assertThat(reservation.release().toCompletableFuture().join()).isOne();
      Reservation guard = acquire(store, call).reservation();
      assertThat(guard.hold(HOUR, true).toCompletableFuture().join()).isOne();
      assertThat(reservation.refund().toCompletableFuture().join()).isEqualTo(200);
      Reservation held = acquire(store, running).reservation();
      assertThat(held.renewPermits().toCompletableFuture().join()).isOne();
      assertThat(held.refund().toCompletableFuture().join()).isOne();
      store
          .liftBans(call.charges().stream().map(Charge::key).toList())
          .toCompletableFuture()
          .join();
      store
          .reset(call.allCharges().stream().map(Charge::key).toList())
          .toCompletableFuture()
          .join();
      assertThat(store.health().check().toCompletableFuture().join())
          .allSatisfy(node -> assertThat(node.failure()).isEmpty());
      assertThat(aclLog()).as("ACL LOG").isEmpty();
    }
  }

  /** What was refused to a user. */
  private List<Map<String, Object>> aclLog() {
    return admin.connect().sync().aclLog();
  }

  /** All kinds of rules, modes, refunds, settlements, renewals, resets, and steps of the clock. */
  @Test
  void thatIsEnoughForRandomScenarios() {
    TestRedis limited = new TestRedis(documentedUser(), "limiter:test:");
    try (RedisStore store = limited.store()) {
      System.out.println(
          "The documented Redis user and model: "
              + Differential.run(
                  15_000,
                  steps -> {
                    var answers = Scenario.run(steps, store, limited::setClock, limited::lose);
                    store.reset(Scenario.keys(steps)).toCompletableFuture().join();
                    return answers;
                  }));
      long unused = Seeds.forEach(5_000, seed -> changing(limited, store, seed));
    } finally {
      limited.shutdown();
    }
  }

  /** The rules of one subject change; the results are checked by another test. */
  private static long changing(TestRedis limited, RedisStore store, long seed) {
    List<Step> steps = ScenarioGenerator.changing(seed).steps();
    assertThat(Scenario.run(steps, store, limited::setClock, limited::lose))
        .as("-Dlimiter.seed=%d", seed)
        .noneMatch(answer -> answer instanceof Answer.Failed);
    store.reset(Scenario.keys(steps)).toCompletableFuture().join();
    return Scenario.decisions(steps);
  }

  @Test
  void theDocumentedUserRecordsPastChargesAndRemovesForeignValues() {
    LimitRequest call = call(rule(500, HOUR), TokenBucketRule.of(500, 1, HOUR));
    Charge past = call.withCost(150).charge(0);
    RedisCommands<String, String> commands = admin.connect().sync();
    try (RedisStore store = store(documentedUser())) {
      LimitRequest bringing = call.after(List.of(new PastCharge(past, SECOND)));
      assertThat(acquire(store, bringing).rules().get(0).remaining()).isEqualTo(349);
      String key = TestRedis.keys(commands, "*:r.*").get(0);
      commands.append(key, "x"); // no log: the script removes it
      assertThat(store.decide(call(rule(9, HOUR)), Mode.ACQUIRE)).isNotNull();
      assertThat(acquire(store, call).allowed()).isTrue();
    }
  }

  /**
   * Three subjects: one whose value is written as a whole, one whose log is long and written in
   * place, and one that is new. The scripts read everything before they write.
   */
  @ParameterizedTest
  @ValueSource(strings = {"+time", "+getrange", "+get", "+strlen", "+set"})
  void aUserWithoutReadAccessWritesNothing(String missing) {
    LimitRequest whole = call("whole", FixedWindowRule.of(9, HOUR));
    LimitRequest inPlace = call("in place", rule(500, HOUR));
    LimitRequest banning =
        LimitRequest.of(
            Policy.of("banning", rule(9, HOUR)).withBan(BanRule.of(5, HOUR, HOUR)), ADA);
    LimitRequest all = whole.and(inPlace).and(banning).and(call("new", rule(9, HOUR)));
    try (RedisStore store = store(documentedUser())) {
      assertThat(acquire(store, whole).allowed()).isTrue();
      assertThat(acquire(store, inPlace.withCost(150)).allowed()).isTrue();
      List<String> rights = new ArrayList<>(documented());
      assertThat(rights.remove(missing)).isTrue();
      RedisURI lesser = user("lesser", rights);
      Map<String, String> before = values();
      TestRedis limited = new TestRedis(lesser, "limiter:test:");
      try (RedisStore other =
          new RedisStore(limited.source(), new RedisSettings("limiter:", PATIENCE))) {
        for (int i = 0; i < 3; i++) {
          assertThat(other.decide(all, Mode.ACQUIRE))
              .failsWithin(PATIENCE)
              .withThrowableThat()
              .withCauseInstanceOf(StoreException.class);
        }
      } finally {
        limited.shutdown();
      }
      assertThat(values()).isEqualTo(before);
      assertThat(acquire(store, all).allowed()).as("with all rights").isTrue();
      assertThat(values()).isNotEqualTo(before);
    }
  }

  private Map<String, String> values() {
    RedisCommands<String, String> commands = admin.connect().sync();
    Map<String, String> values = new TreeMap<>();
    TestRedis.keys(commands, "*").forEach(key -> values.put(key, commands.get(key)));
    return values;
  }
}
