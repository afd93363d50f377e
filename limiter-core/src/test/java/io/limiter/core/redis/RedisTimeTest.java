// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static io.limiter.core.StoreHarness.HOUR;
import static io.limiter.core.StoreHarness.MINUTE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.limiter.core.Completion;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitRequest.PastCharge;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.StoreHarness;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.redis.wire.EncodedStack;
import io.limiter.core.redis.wire.TakenUnits;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.core.testing.RedisProcess;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * How long each script occupies Redis, by Redis' own account, in the most expensive cases: full
 * logs, the largest cost, the most rules, and logs that were written under other counts or long
 * ago. The least of some runs counts, since a busy machine only ever adds time. It is compared with
 * the floor of the machine: a fixed script that is run in turn with the others.
 * docs/internals/redis-state.md has the ranges.
 */
@Tag("matrix")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class RedisTimeTest {

  /** The floor: ten thousand reads of a byte, about half a millisecond. */
  private static final String FLOOR =
      "local sum = 0 for i = 1, 10000 do sum = sum + string.byte('floor', i % 5 + 1) end return sum";

  /** How many floors a script may take at the default limits. */
  private static final double MOST = 5;

  /**
   * With ten times as many units a script may take so many times as long, and so many floors more:
   * a search reads a few more places, and those of a larger log are in no cache of a busy
   * processor.
   */
  private static final double GROWTH = 3;

  private static final double SLACK = 0.5;

  /** The default of {@code limiter.max-count}. */
  private static final int COUNT = 10_000;

  /** Of the existing logs, the one whose count was halved. */
  private static final int HALVED = 1;

  private static final int[] SIZES = {100, 1_000, COUNT, 10 * COUNT};

  /** The largest cost. */
  private static final int MILLION = 1_000_000;

  private static final int RUNS = 9;
  private static final Pattern SCRIPTS = Pattern.compile("cmdstat_evalsha:calls=\\d+,usec=(\\d+)");
  private static final Pattern FLOORS = Pattern.compile("cmdstat_eval:calls=\\d+,usec=(\\d+)");

  private final RedisProcess redis = RedisProcess.onFreePort().start();
  private final RedisSettings settings = new RedisSettings("limiter:", Duration.ofSeconds(10));
  private final RedisURI uri = RedisURI.create(redis.uri());
  private final RedisClient client = RedisClient.create(uri);
  private final SharedConnection shared = SharedConnection.open(uri, settings);
  private final RedisStore store = new RedisStore(shared, settings);
  private final RedisCommands<byte[], byte[]> commands =
      client.connect(ByteArrayCodec.INSTANCE).sync();
  private long now;

  @BeforeAll
  void connect() {
    await().ignoreExceptions().until(() -> shared.commands() != null);
    Verdict verdict = decide(call(ConcurrencyLimitRule.of(1)), Mode.ACQUIRE);
    verdict.reservation().renewPermits().toCompletableFuture().join();
    verdict.reservation().refund().toCompletableFuture().join();
  }

  @AfterAll
  void disconnect() {
    store.close();
    client.shutdown();
    redis.close();
  }

  private static Rule rule(long count) {
    return SlidingWindowLogRule.of(count, HOUR);
  }

  /** As many as possible, each with a window of its own. */
  private static Rule[] eight(long count) {
    return IntStream.range(0, 8)
        .mapToObj(i -> SlidingWindowLogRule.of(count, HOUR.minus(MINUTE.multipliedBy(6L * i))))
        .toArray(Rule[]::new);
  }

  private static LimitRequest call(Rule... rules) {
    return StoreHarness.call(rules);
  }

  private Verdict decide(LimitRequest call, Mode mode) {
    return store.decide(call, mode).toCompletableFuture().join();
  }

  private byte[] name(LimitRequest call) {
    return settings.name(call.charge(0).key());
  }

  /** The stamp of a unit in a log of so many, evenly spread, the newest just now. */
  private double stamp(int units, Duration span, int index) {
    return now - (units - 1 - index) * (span.toNanos() / 1_000 / units);
  }

  /** Writes a log of so many units as these rules would have written it. */
  private void write(LimitRequest call, int units, Duration span) {
    int head = 36 + 4 * call.charge(0).stack().rules().size();
    boolean roomy = units > 118;
    ByteBuffer value = ByteBuffer.allocate(head + 8 * (units + (roomy ? units / 8 : 0)));
    List<byte[]> time = commands.time();
    long clock = Long.parseLong(text(time.get(0))) * 1_000_000 + Long.parseLong(text(time.get(1)));
    now = clock - 1_000;
    value.putDouble(now).putDouble(now).putDouble(0).putDouble(clock + HOUR.toNanos() / 1_000);
    value.putInt(roomy ? units : 0).position(head);
    for (int i = 0; i < units; i++) {
      value.putDouble(stamp(units, span, i));
    }
    commands.set(name(call), value.array());
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.US_ASCII);
  }

  /** The time that all scripts of an action take, beside the floor. */
  private Time time(Runnable prepare, Supplier<?> action) {
    Time least = Time.MOST;
    for (int run = 0; run < RUNS; run++) {
      commands.flushall();
      prepare.run();
      double floor = micros(FLOORS, () -> commands.eval(FLOOR, ScriptOutputType.INTEGER));
      least = least.least(new Time(micros(SCRIPTS, action), floor));
    }
    return least;
  }

  private double micros(Pattern usage, Supplier<?> action) {
    commands.configResetstat();
    assertThat(action.get()).isNotNull();
    Matcher matcher = usage.matcher(commands.info("commandstats"));
    assertThat(matcher.find()).isTrue();
    return Double.parseDouble(matcher.group(1));
  }

  /** Microseconds of some scripts, and of the floor beside them. */
  private record Time(double micros, double floor) {

    static final Time MOST = new Time(Double.MAX_VALUE, Double.MAX_VALUE);

    Time least(Time other) {
      return new Time(Math.min(micros, other.micros), Math.min(floor, other.floor));
    }

    double floors() {
      return micros / floor;
    }

    String rounded() {
      return Long.toString(Math.round(micros));
    }
  }

  private interface Sized {
    Time time(int units);
  }

  /**
   * Measures one cell of the table.
   *
   * @param moves whether the bytes of the log have to be moved
   * @return the time at the default limits, then that with ten times as many units
   */
  private String measure(String what, boolean moves, int largest, Sized sized) {
    StringBuilder cells = new StringBuilder();
    double most = 0;
    for (int units : SIZES) {
      if (units > largest) {
        continue;
      }
      Time time = sized.time(units);
      if (units <= COUNT) {
        assertThat(time.floors()).as("%s, %d units: %s", what, units, time).isLessThan(MOST);
        most = time.floors();
      } else if (!moves) {
        assertThat(time.floors())
            .as("%s, %d units: %s", what, units, time)
            .isLessThan(GROWTH * most + SLACK);
      }
      if (units >= COUNT) {
        cells.append(cells.isEmpty() ? "" : ", ").append(time.rounded());
      }
    }
    return cells.toString();
  }

  private void line(String what, boolean moves, int largest, Sized sized) {
    System.out.printf("| %s | %s |%n", what, measure(what, moves, largest, sized));
  }

  private void line(String what, boolean moves, Sized sized) {
    line(what, moves, 10 * COUNT, sized);
  }

  /** What lies under the key of a stack. */
  private record Found(String what, Runnable log) {}

  private List<Found> found(LimitRequest call, int units) {
    return List.of(
        new Found("own", () -> write(call, units, MINUTE.multipliedBy(15))),
        new Found("count halved", () -> write(call, units, MINUTE.multipliedBy(15))),
        new Found("half have left", () -> write(call, units, HOUR.multipliedBy(2))));
  }

  @Test
  void noDecisionOnALogHoldsRedisUp() {
    for (int size : new int[] {1, 8}) {
      for (int f = 0; f < 3; f++) {
        int found = f;
        String log = (size == 1 ? "1 rule, " : "8 rules, ") + found(call(rule(9)), 9).get(f).what();
        StringBuilder line = new StringBuilder();
        for (Asked asked :
            List.of(
                new Asked("peek", false, 0, (call, n) -> decide(call, Mode.PEEK)),
                new Asked("denied", false, 0, (call, n) -> denied(call.withCost(n + 1))),
                new Asked("admitted", found > 0, 9, (call, n) -> admitted(call)),
                new Asked("observed", true, 0, (call, n) -> admitted(call.withCost(n).observe())),
                new Asked(
                    "recorded", true, 0, (call, n) -> decide(call.withCost(MILLION), Mode.RECORD)),
                new Asked(
                    "after one that is past",
                    found > 0,
                    0,
                    (call, n) -> decide(call.after(past(call)), Mode.ACQUIRE)))) {
          line.append(
              " %s |"
                  .formatted(
                      measure(
                          log + ", " + asked.what,
                          asked.moves,
                          10 * COUNT,
                          n -> decision(size, n, asked.free, found, asked.action))));
        }
        System.out.println("| " + log + " |" + line);
      }
    }
  }

  /** A call on a log with so many units fewer than the count. */
  private record Asked(String what, boolean moves, int free, Action action) {}

  private Verdict denied(LimitRequest call) {
    Verdict verdict = decide(call, Mode.ACQUIRE);
    assertThat(verdict.allowed()).isFalse();
    return verdict;
  }

  private Verdict admitted(LimitRequest call) {
    Verdict verdict = decide(call, Mode.ACQUIRE);
    assertThat(verdict.allowed()).isTrue();
    return verdict;
  }

  private static List<PastCharge> past(LimitRequest call) {
    return List.of(new PastCharge(call.charge(0), Duration.ofSeconds(1)));
  }

  private interface Action {
    Object of(LimitRequest call, int count);
  }

  private Time decision(int size, int units, int free, int found, Action action) {
    int count = found == HALVED ? (units + 1) / 2 : units;
    Rule[] rules = size == 1 ? new Rule[] {rule(count)} : eight(count);
    LimitRequest call = call(rules);
    int there = free > 0 ? count - free : units;
    return time(found(call, there).get(found).log(), () -> action.of(call, count));
  }

  @Test
  void noUnitsThatAreManyHoldRedisUp() {
    line(
        "acquired, cost = count, no log",
        true,
        n -> {
          LimitRequest call = call(eight(n)).withCost(n);
          return time(() -> {}, () -> decide(call, Mode.ACQUIRE));
        });
    line(
        "settled at a cost of 1,000,000",
        true,
        n -> {
          LimitRequest call = call(rule(n));
          Verdict[] verdict = new Verdict[1];
          return time(
              () -> {
                write(call, n - 1, MINUTE);
                verdict[0] = decide(call, Mode.ACQUIRE);
              },
              () ->
                  verdict[0]
                      .reservation()
                      .settle(Completion.succeeded().withCost(MILLION))
                      .toCompletableFuture()
                      .join());
        });
    line(
        "reset",
        true,
        n -> {
          LimitRequest call = call(rule(n));
          return time(
              () -> write(call, n, MINUTE),
              () ->
                  store
                      .reset(List.of(call.charge(0).key()))
                      .thenApply(done -> "done")
                      .toCompletableFuture()
                      .join());
        });
  }

  private TakenUnits taken(LimitRequest call, double stamp, int units) {
    EncodedStack stack = new EncodedStack(call.charge(0).stack(), List.of(), () -> now);
    byte[] plan = stack.ofTaken(units);
    ByteBuffer argument =
        ByteBuffer.allocate(24 + plan.length).putDouble(stamp).putDouble(stamp).putDouble(0);
    return new TakenUnits(call.charge(0).key(), stack, argument.put(plan).array(), units);
  }

  private Time refund(int units, int index, int given, Rule... rules) {
    LimitRequest call = call(rules);
    return time(
        () -> write(call, units, MINUTE),
        () -> {
          TakenUnits taken = taken(call, stamp(units, MINUTE, index), given);
          return store.units().refund(List.of(taken), call.policy()).toCompletableFuture().join();
        });
  }

  @Test
  void noRefundHoldsRedisUp() {
    line("refund of the newest unit", false, n -> refund(n, n - 1, 1, rule(n)));
    line("refund of one in the middle", true, n -> refund(n, n / 2, 1, rule(n)));
    line("refund of the oldest", false, n -> refund(n, 0, 1, rule(n)));
    line("refund of one that has left", false, n -> refund(n, -5, MILLION, eight(n)));
    line(
        "release of a duplicate guard",
        false,
        n -> {
          LimitRequest call = StoreHarness.submit("form", rule(n));
          Verdict[] verdict = new Verdict[1];
          return time(
              () -> verdict[0] = decide(call, Mode.ACQUIRE),
              () -> verdict[0].reservation().release().toCompletableFuture().join());
        });
    line(
        "refund of the newest, behind numbers",
        false,
        n -> {
          LimitRequest call = call(rule(n), FixedWindowRule.of(n, HOUR).withName("numbers"));
          Verdict[] verdict = new Verdict[1];
          return time(
              () -> {
                decide(call.withCost(n - 1), Mode.ACQUIRE);
                verdict[0] = decide(call, Mode.ACQUIRE);
              },
              () -> verdict[0].reservation().refund().toCompletableFuture().join());
        });
  }

  private Time renewal(int units, int index) {
    LimitRequest call = call(ConcurrencyLimitRule.of(COUNT, HOUR));
    return time(
        () -> write(call, units, MINUTE),
        () -> {
          TakenUnits taken = taken(call, stamp(units, MINUTE, index), 1);
          return store.units().renew(List.of(taken), call.policy()).toCompletableFuture().join();
        });
  }

  /** Twice the count of units is kept. */
  @Test
  void noRenewalHoldsRedisUp() {
    line("renewal of the oldest of twice as many", false, COUNT, n -> renewal(2 * n, 0));
    line("renewal of one in the middle", true, COUNT, n -> renewal(2 * n, n));
    line("renewal of the newest", false, COUNT, n -> renewal(2 * n, 2 * n - 1));
    line("renewal of one that has left", false, COUNT, n -> renewal(2 * n, -5));
  }

  /** Eight rules that keep numbers, and a ban. */
  private static LimitRequest cells() {
    List<Rule> rules = new ArrayList<>();
    rules.add(LeakyBucketRule.of(60, MINUTE, 10_000, Duration.ofMinutes(5)));
    for (int i = 1; i <= 3; i++) {
      rules.add(SlidingWindowCounterRule.of(1_000_000, MINUTE.multipliedBy(i)));
      rules.add(
          FixedWindowRule.aligned(1_000_000, HOUR.multipliedBy(i), ZoneId.of("Europe/Berlin")));
    }
    rules.add(TokenBucketRule.of(1_000_000, 7, MINUTE));
    Policy policy =
        Policy.of("policy", rules.toArray(Rule[]::new)).withBan(BanRule.of(3, MINUTE, HOUR));
    return LimitRequest.of(policy, new Subject("user", "somebody"));
  }

  private void write() {
    for (int i = 0; i < 10; i++) {
      Verdict first = decide(cells(), Mode.ACQUIRE);
      decide(cells(), Mode.ACQUIRE);
      first.reservation().refund().toCompletableFuture().join(); // leaves a gap in the queue
    }
  }

  private void cells(String what, Supplier<?> action) {
    Time time = time(this::write, action);
    assertThat(time.floors()).as("%s", time).isLessThan(MOST);
    System.out.printf("| %s | %s |%n", what, time.rounded());
  }

  /** With as many cells as possible. */
  @Test
  void noCellsHoldRedisUp() {
    cells("looked at", () -> decide(cells(), Mode.PEEK));
    cells("admitted", () -> decide(cells(), Mode.ACQUIRE));
    cells("denied, brings a ban nearer", () -> decide(cells().withCost(20_000), Mode.ACQUIRE));
    cells("recorded, cost 1,000,000", () -> decide(cells().withCost(MILLION), Mode.RECORD));
    cells("observed", () -> decide(cells().observe(charge -> true), Mode.ACQUIRE));
    cells(
        "admitted and given back",
        () -> {
          Verdict verdict = decide(cells(), Mode.ACQUIRE);
          return verdict.reservation().refund().toCompletableFuture().join();
        });
  }
}
