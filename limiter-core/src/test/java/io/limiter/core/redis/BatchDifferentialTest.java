// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static io.limiter.core.StoreHarness.HOUR;
import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.RedisURI;
import io.limiter.core.Answer;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Scenario;
import io.limiter.core.ScenarioGenerator;
import io.limiter.core.StateKey;
import io.limiter.core.Step;
import io.limiter.core.StoreHarness;
import io.limiter.core.Verdict;
import io.limiter.core.redis.connection.RedisFailures;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.testing.RedisFixture;
import io.limiter.core.testing.Seeds;
import io.netty.channel.EventLoop;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Decisions that share commands are those that would have been made alone, at the same time. */
@Tag("matrix")
class BatchDifferentialTest {

  private static final int PATIENCE_SECONDS = 20;

  private final MultiThreadIoEventLoopGroup group =
      new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  private final EventLoop loop = (EventLoop) group.iterator().next();
  private final TestRedis one = new TestRedis();
  private final TestRedis other = new TestRedis();
  private final RedisStore alone = one.store();
  private final LoopConnections connections =
      LoopConnections.open(
          List.of(loop), RedisURI.create(RedisFixture.uri()), RedisSettings.defaults());
  private final RedisStore together = other.storeOver(connections, RedisSettings.MAX_BATCH_SIZE);

  @AfterEach
  void close() {
    alone.close();
    together.close();
    one.close();
    other.close();
    group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
  }

  @Test
  void batchedDecisionsAreThoseThatAreMadeOneByOne() {
    assertThat(connections.firstAttempt().toCompletableFuture())
        .succeedsWithin(Duration.ofSeconds(PATIENCE_SECONDS))
        .isEqualTo(true);
    long done = Seeds.forEach(20_000, seed -> compare(seed, ScenarioGenerator.scenario(seed)));
    done += Seeds.forEach(5_000, seed -> compare(seed, ScenarioGenerator.changing(seed)));
    System.out.println(done + " decisions, alone and in batches");
  }

  /** A key of another type, and bytes that only the decision finds to be no log. */
  @Test
  void errorsAreThoseOfCallsAlone() {
    assertThat(connections.firstAttempt().toCompletableFuture())
        .succeedsWithin(Duration.ofSeconds(PATIENCE_SECONDS))
        .isEqualTo(true);
    List<LimitRequest> calls =
        IntStream.range(0, 6)
            .mapToObj(i -> StoreHarness.call("subject-" + i, SlidingWindowLogRule.of(5, HOUR)))
            .toList();
    List<Step> steps =
        IntStream.range(0, 6)
            .mapToObj(i -> new Step(i, 0, new Step.Decide(calls.get(i), Mode.ACQUIRE)))
            .toList();
    for (TestRedis redis : List.of(one, other)) {
      redis.setClock(1_700_000_000_000_000L);
      redis.commands().ping();
    }
    assertThat(answers(steps, together)).isEqualTo(answers(steps, alone));
    for (TestRedis redis : List.of(one, other)) {
      byte[] list = redis.name(calls.get(1).charge(0).key());
      redis.commands().del(list);
      redis.commands().lpush(list, TestRedis.bytes("x"));
      redis.commands().append(redis.name(calls.get(4).charge(0).key()), TestRedis.bytes("xyz"));
    }
    // The names of the servers differ.
    List<String> failures = failures(answers(steps, together));
    assertThat(failures).isEqualTo(failures(answers(steps, alone)));
    assertThat(failures).hasSize(2);
    assertThat(failures.get(0)).contains("WRONGTYPE");
  }

  private static List<String> failures(List<Answer> answers) {
    return answers.stream()
        .filter(Answer.Failed.class::isInstance)
        .map(failed -> ((Answer.Failed) failed).why().replaceFirst("Redis( at \\S+)?", "Redis"))
        .toList();
  }

  private long compare(long seed, Scenario scenario) {
    Random random = new Random(seed);
    List<Step> steps =
        scenario.steps().stream().filter(step -> step.action() instanceof Step.Decide).toList();
    for (int from = 0; from < steps.size(); ) {
      int to = Math.min(steps.size(), from + 1 + random.nextInt(20));
      List<Step> chunk = steps.subList(from, to);
      long clock = chunk.get(0).clock();
      one.setClock(clock);
      other.setClock(clock);
      one.commands().ping();
      other.commands().ping(); // so that the clock is set before other connections decide
      assertThat(answers(chunk, together))
          .as("steps %d to %d with -Dlimiter.seed=%d", from, to, seed)
          .isEqualTo(answers(chunk, alone));
      from = to;
    }
    List<StateKey> keys = Scenario.keys(steps);
    for (StateKey key : keys) {
      assertThat(value(other, key))
          .as("the value of %s with -Dlimiter.seed=%d", key, seed)
          .isEqualTo(value(one, key));
    }
    for (RedisStore store : List.of(alone, together)) {
      store.reset(keys).toCompletableFuture().orTimeout(PATIENCE_SECONDS, TimeUnit.SECONDS).join();
    }
    return steps.size();
  }

  private static Optional<String> value(TestRedis redis, StateKey key) {
    return Optional.ofNullable(redis.commands().get(redis.name(key)))
        .map(HexFormat.of()::formatHex);
  }

  /** The steps do not wait for each other, and are asked in one turn of the event loop. */
  private List<Answer> answers(List<Step> steps, RedisStore store) {
    List<CompletableFuture<Verdict>> verdicts = new ArrayList<>();
    CompletableFuture<Void> asked = new CompletableFuture<>();
    loop.execute(
        () -> {
          for (Step step : steps) {
            Step.Decide decide = (Step.Decide) step.action();
            verdicts.add(store.decide(decide.request(), decide.mode()).toCompletableFuture());
          }
          asked.complete(null);
        });
    asked.orTimeout(PATIENCE_SECONDS, TimeUnit.SECONDS).join();
    return verdicts.stream().map(BatchDifferentialTest::answer).toList();
  }

  private static Answer answer(CompletableFuture<Verdict> verdict) {
    return verdict
        .orTimeout(PATIENCE_SECONDS, TimeUnit.SECONDS)
        .handle(
            (known, failure) ->
                failure == null
                    ? new Answer.Decided(
                        known.outcome(),
                        known.rules(),
                        known.duplicate(),
                        known.ban(),
                        known.delay())
                    : new Answer.Failed(String.valueOf(RedisFailures.unwrap(failure))))
        .join();
  }
}
