// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.check;

import static io.limiter.benchmarks.check.Steps.get;
import static io.limiter.benchmarks.check.Steps.require;

import io.limiter.benchmarks.Spread;
import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitRequest.PastCharge;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.redis.RedisScripts;
import io.limiter.core.redis.RedisScripts.Script;
import io.limiter.core.redis.RedisStore;
import io.limiter.core.rule.BanRule;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.SlidingWindowCounterRule;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.management.LimitOverrides;
import io.limiter.micronaut.redis.LimitStoreFactory;
import io.netty.channel.EventLoop;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** What a service does with its store, by the limiter's own classes. */
final class LimiterCalls {

  /** Whatever is left of this check expires soon after. */
  private static final Duration TIME = Duration.ofMinutes(1);

  private static final Subject ADA = new Subject("user", "ada");
  private static final int IN_ONE_TURN = 40;
  private static final int TIMED = 200;

  private static final String FALLBACK =
      "such calls are decided by the fallback: see docs/redis-servers.md";
  private static final String BY_SLOTS =
      "a Redis Cluster: set redis.uris; a proxy of one: set limiter.redis.slots to proxy";

  private final RedisStore store;
  private final EventLoop loop;
  private final List<LimitRequest> calls = new ArrayList<>();

  /**
   * @param loop where calls that meet are sent from
   */
  LimiterCalls(RedisStore store, EventLoop loop) {
    this.store = store;
    this.loop = loop;
  }

  void make(Steps steps) {
    steps.needed("a decision", FALLBACK, this::one);
    steps.needed("all algorithms, a ban and a duplicate guard", FALLBACK, this::allAlgorithms);
    steps.needed("a long log", FALLBACK, this::longLog);
    steps.needed("several subjects in one call", BY_SLOTS, this::severalSubjects);
    steps.needed("40 calls in one turn of an event loop", BY_SLOTS, this::inOneTurn);
    steps.needed("a refund", FALLBACK, this::refund);
    steps.needed("a permit, renewed", FALLBACK, this::permit);
    steps.needed("what the fallback has admitted", "it is not reported to the server", this::past);
    steps.optional("a ban, lifted", "bans last their time", this::liftedBan);
    steps.optional("overrides", "no overrides", this::override);
    steps.optional("shared settings", "no shared settings", this::sharedSettings);
    steps.needed("health", "health says that the server is away", this::health);
    steps.optional("time of a decision", "limiter.redis.deadline: 100 ms by default", this::time);
    steps.optional("a reset", "counts expire, and cannot be reset", this::reset);
  }

  private LimitRequest call(Policy policy) {
    return kept(LimitRequest.of(policy, ADA));
  }

  /** So that it is reset in the end. */
  private LimitRequest kept(LimitRequest call) {
    calls.add(call);
    return call;
  }

  private Verdict acquire(LimitRequest call) throws Exception {
    return get(store.decide(call, Mode.ACQUIRE));
  }

  private void requireAllowed(LimitRequest call) throws Exception {
    require(acquire(call).allowed(), "denied, although nothing was taken before");
  }

  private Object one() throws Exception {
    LimitRequest call = call(Policy.of("one", SlidingWindowLogRule.of(1, TIME)));
    requireAllowed(call);
    require(!acquire(call).allowed(), "admitted, although the limit was reached");
    return 1;
  }

  private Object allAlgorithms() throws Exception {
    Policy all =
        Policy.of(
                "all",
                SlidingWindowLogRule.of(5, TIME),
                SlidingWindowCounterRule.of(6, TIME),
                FixedWindowRule.of(7, TIME),
                TokenBucketRule.of(8, 8, TIME),
                LeakyBucketRule.of(9, TIME, 9, TIME))
            .withBan(BanRule.of(1, TIME, TIME))
            .withDuplicates(SlidingWindowLogRule.of(1, TIME));
    LimitRequest call = kept(LimitRequest.of(all, ADA, Optional.of("order")));
    requireAllowed(call);
    require(!acquire(call).allowed(), "a duplicate was admitted");
    return 1;
  }

  private Object longLog() throws Exception {
    LimitRequest call = call(Policy.of("long", SlidingWindowLogRule.of(500, TIME))).withCost(200);
    requireAllowed(call);
    requireAllowed(call);
    require(!acquire(call).allowed(), "admitted, although the limit was reached");
    return 1;
  }

  private Object severalSubjects() throws Exception {
    LimitRequest both =
        Stream.of("first", "second", "third")
            .map(name -> call(Policy.of(name, SlidingWindowLogRule.of(5, TIME))))
            .reduce(LimitRequest::and)
            .orElseThrow();
    requireAllowed(both);
    return 1;
  }

  private List<LimitRequest> subjects(String policy, int number) {
    Policy limit = Policy.of(policy, SlidingWindowLogRule.of(1_000, TIME));
    return IntStream.range(0, number)
        .mapToObj(i -> kept(LimitRequest.of(limit, new Subject("user", "user-" + i))))
        .toList();
  }

  private Object inOneTurn() throws Exception {
    List<LimitRequest> subjects = subjects("turn", IN_ONE_TURN);
    CompletableFuture<List<CompletableFuture<Verdict>>> sent = new CompletableFuture<>();
    loop.execute(
        () ->
            sent.complete(
                subjects.stream()
                    .map(call -> store.decide(call, Mode.ACQUIRE).toCompletableFuture())
                    .toList()));
    for (CompletableFuture<Verdict> one : get(sent)) {
      require(get(one).allowed(), "denied, although nothing was taken before");
    }
    return 1;
  }

  private Object refund() throws Exception {
    LimitRequest call = call(Policy.of("refund", SlidingWindowLogRule.of(1, TIME)));
    require(get(acquire(call).reservation().refund()) == 1, "no unit was given back");
    requireAllowed(call);
    return 1;
  }

  private Object permit() throws Exception {
    LimitRequest call = call(Policy.of("permit", ConcurrencyLimitRule.of(1, TIME)));
    Verdict running = acquire(call);
    require(get(running.reservation().renewPermits()) == 1, "no permit was renewed");
    require(get(running.reservation().refund()) == 1, "no permit was given back");
    return 1;
  }

  private Object past() throws Exception {
    LimitRequest call = call(Policy.of("past", SlidingWindowLogRule.of(5, TIME)));
    Charge taken = call.withCost(5).charge(0);
    PastCharge past = new PastCharge(taken, Duration.ofSeconds(1));
    require(!acquire(call.after(List.of(past))).allowed(), "what was brought does not count");
    return 1;
  }

  private Object liftedBan() throws Exception {
    Policy banning =
        Policy.of("ban", SlidingWindowLogRule.of(1, TIME)).withBan(BanRule.of(1, TIME, TIME));
    LimitRequest call = call(banning);
    requireAllowed(call);
    require(!acquire(call).allowed(), "admitted, although the limit was reached");
    get(store.liftBans(List.of(call.charge(0).key())));
    return 1;
  }

  private Object override() throws Exception {
    String one = "one\n2 1-per-60s";
    require(overrides("check", "10000", one, "overrides").contains(one), "it was not stored");
    require(overrides("check").equals("="), "it was not removed");
    return 1;
  }

  private String overrides(String... arguments) throws Exception {
    return run(Script.load(LimitOverrides.class, "overrides.lua"), "overrides", arguments);
  }

  private Object sharedSettings() throws Exception {
    Script script = Script.load(LimitStoreFactory.class, "shared-settings.lua");
    require(run(script, "settings").startsWith("="), "they were not read");
    return 1;
  }

  /** The reply, as the script describes it. */
  private String run(Script script, String hash, String... arguments) throws Exception {
    RedisScripts scripts = store.scripts();
    return get(
        scripts.run(
            script,
            new byte[][] {scripts.name(hash)},
            Stream.of(arguments)
                .map(text -> text.getBytes(StandardCharsets.US_ASCII))
                .toArray(byte[][]::new),
            reply -> new String(reply, StandardCharsets.ISO_8859_1)));
  }

  private Object health() throws Exception {
    get(store.health().check())
        .forEach(
            node -> {
              if (node.failure().isPresent()) {
                throw node.failure().get();
              }
            });
    return 1;
  }

  private Object time() throws Exception {
    LimitRequest call = call(Policy.of("time", SlidingWindowLogRule.of(1_000, TIME)));
    double[] millis = new double[TIMED];
    for (int i = 0; i < TIMED; i++) {
      long begin = System.nanoTime();
      acquire(call);
      millis[i] = (System.nanoTime() - begin) / (double) TimeUnit.MILLISECONDS.toNanos(1);
    }
    Arrays.sort(millis);
    String times =
        "median %s ms, slowest %s ms"
            .formatted(Spread.text(millis[TIMED / 2]), Spread.text(millis[TIMED - 1]));
    require(millis[TIMED / 2] < 50, times);
    return times;
  }

  /** Of all that was counted, so that nothing is left. */
  private Object reset() throws Exception {
    List<StateKey> keys =
        calls.stream()
            .flatMap(call -> call.allCharges().stream())
            .map(Charge::key)
            .distinct()
            .toList();
    for (StateKey key : keys) { // one by one: a proxy may not take several
      get(store.reset(List.of(key)));
    }
    return 1;
  }
}
