// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import static io.limiter.core.StoreHarness.HOUR;
import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.rule;
import static java.util.concurrent.TimeUnit.MICROSECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.groups.Tuple.tuple;
import static org.awaitility.Awaitility.await;

import io.limiter.core.Completion;
import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Outcome;
import io.limiter.core.Policy;
import io.limiter.core.RuleVerdict;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.memory.MemoryStore;
import io.limiter.core.redis.RedisSettings.KeySecret;
import io.limiter.core.redis.RedisStore;
import io.limiter.core.redis.TestRedis;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Rule;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** One subject has other limits for a time; those of all others stay. */
@ParameterizedClass(name = "redis {0}")
@ValueSource(booleans = {true, false})
class OverridesTest {

  private static final Subject ADA = new Subject("user", "ada");
  private static final Subject BOB = new Subject("user", "bob");

  @Parameter boolean shared;

  private TestRedis redis;
  private OverrideTable<SubjectOverride> table;
  private OverridesInForce inForce;
  private OverrideStore store;

  @BeforeEach
  void open() {
    redis = new TestRedis();
    redis.setClock(MICROSECONDS.convert(HOUR));
    RedisStore inRedis = redis.store();
    table =
        shared
            ? new RedisOverrides<>(inRedis.scripts(), "overrides", "overrides", SubjectOverride::of)
            : new OverrideTable.InMemory<>("overrides");
    inForce = new OverridesInForce(table::tag);
    store = new OverrideStore(shared ? inRedis : new MemoryStore(100, () -> 0), inForce);
  }

  @AfterEach
  void close() {
    redis.close();
  }

  private Verdict decide(LimitRequest request, Mode mode) {
    return store.decide(request, mode).toCompletableFuture().join();
  }

  private long admitted(LimitRequest request, int calls) {
    return IntStream.range(0, calls)
        .filter(call -> decide(request, Mode.ACQUIRE).allowed())
        .count();
  }

  private List<SubjectOverride> put(LimitRequest request, Map<String, Long> counts, Duration time) {
    List<SubjectOverride> all =
        table
            .put(
                new SubjectOverride(
                    table.tag(request.charge(0).key()), request.policy().name(), counts, time))
            .toCompletableFuture()
            .join();
    inForce.use(all);
    return all;
  }

  private static LimitRequest search(Subject subject) {
    return LimitRequest.of(
        Policy.of("search", rule(3, MINUTE), rule(5, HOUR).withName("hourly")), subject);
  }

  @Test
  void aSubjectHasOtherCountsAndOthersKeepTheirs() {
    assertThat(admitted(search(ADA), 4)).isEqualTo(3);

    assertThat(put(search(ADA), Map.of("3-per-60s", 10L, "hourly", 8L), HOUR))
        .singleElement()
        .satisfies(
            one -> {
              assertThat(one.policy()).isEqualTo("search");
              assertThat(one.counts()).isEqualTo(Map.of("3-per-60s", 10L, "hourly", 8L));
              assertThat(one.left()).isBetween(HOUR.minusSeconds(10), HOUR);
            });

    assertThat(decide(search(ADA), Mode.PEEK).rules())
        .extracting(rule -> rule.rule().name(), rule -> rule.rule().count(), RuleVerdict::remaining)
        .containsExactly(tuple("3-per-60s", 10L, 7L), tuple("hourly", 8L, 5L));
    assertThat(admitted(search(ADA), 9)).isEqualTo(5);
    assertThat(admitted(search(BOB), 9)).isEqualTo(3);
  }

  @Test
  void aSubjectWithoutLimitsStillMakesNoSubmissionTwice() {
    LimitRequest once =
        LimitRequest.of(Policy.of("order", rule(1, HOUR)).withDuplicates(rule(1, HOUR)), ADA);
    put(once, Map.of(), HOUR);
    put(search(ADA), Map.of(), HOUR);

    Verdict free = decide(search(ADA), Mode.ACQUIRE);
    assertThat(free.allowed()).isTrue();
    assertThat(free.decidedBy()).isEqualTo(DecidedBy.NONE);
    assertThat(admitted(search(ADA), 20)).isEqualTo(20);
    assertThat(decide(once, Mode.ACQUIRE).outcome()).isEqualTo(Outcome.ALLOWED);
    assertThat(decide(once, Mode.ACQUIRE).outcome()).isEqualTo(Outcome.DUPLICATE);
  }

  @Test
  void anOverrideChangesOnlyItsOwnSubjectOfACall() {
    LimitRequest both = search(ADA).and(search(BOB));
    put(search(ADA), Map.of(), HOUR);

    assertThat(admitted(both, 9)).isEqualTo(3);
    assertThat(decide(both, Mode.PEEK).rules()).hasSize(2);
  }

  @Test
  void unitsAndPermitsGoBackAsUsual() {
    LimitRequest priced = LimitRequest.of(Policy.of("rows", rule(10, MINUTE)), ADA).withCost(10);
    LimitRequest running = LimitRequest.of(Policy.of("export", ConcurrencyLimitRule.of(1)), ADA);
    put(priced, Map.of("10-per-60s", 30L), HOUR);
    put(running, Map.of(running.policy().rules().get(0).name(), 2L), HOUR);

    Verdict verdict = decide(priced, Mode.ACQUIRE);
    verdict
        .reservation()
        .settle(
            Completion.succeeded().withCosts(charge -> charge.equals(priced.charge(0)) ? 4 : 1_000))
        .toCompletableFuture()
        .join();
    assertThat(decide(priced, Mode.PEEK).rules().get(0).remaining()).isEqualTo(26);

    Verdict one = decide(running, Mode.ACQUIRE);
    assertThat(admitted(running, 2)).isEqualTo(1);
    one.reservation().settle(Completion.succeeded()).toCompletableFuture().join();
    assertThat(admitted(running, 2)).isEqualTo(1);
  }

  @Test
  void itEndsByItselfAndByRemoval() {
    put(search(ADA), Map.of(), SubjectOverride.MIN_TIME);
    put(search(BOB), Map.of(), HOUR);
    assertThat(admitted(search(ADA), 9)).isEqualTo(9);

    await().until(() -> inForce.all().size() == 1);
    assertThat(admitted(search(ADA), 9)).isEqualTo(3);
    assertThat(table.all().toCompletableFuture().join())
        .extracting(SubjectOverride::tag)
        .containsExactly(table.tag(search(BOB).charge(0).key()));

    inForce.use(table.remove(table.tag(search(BOB).charge(0).key())).toCompletableFuture().join());
    assertThat(admitted(search(BOB), 9)).isEqualTo(3);
    assertThat(table.all().toCompletableFuture().join()).isEmpty();
  }

  @Test
  void thereIsAThousandAtMost() {
    for (int i = 0; i < SubjectOverride.MAX_OVERRIDES; i++) {
      table
          .put(new SubjectOverride("tag-" + i, "search", Map.of("x", 2L), HOUR))
          .toCompletableFuture()
          .join();
    }

    assertThatThrownBy(
            () ->
                table
                    .put(new SubjectOverride("one-more", "search", Map.of(), HOUR))
                    .toCompletableFuture()
                    .join())
        .isInstanceOf(CompletionException.class)
        .hasCauseInstanceOf(IllegalStateException.class)
        .hasMessageContaining("There are already 1000 overrides");
    assertThat(
            table
                .put(new SubjectOverride("tag-7", "search", Map.of(), HOUR))
                .toCompletableFuture()
                .join())
        .hasSize(SubjectOverride.MAX_OVERRIDES)
        .filteredOn(SubjectOverride::unlimited)
        .hasSize(1);
  }

  @ParameterizedTest
  @ValueSource(longs = {0, -1, Rule.MAX_COUNT + 1})
  void aCountThatNoRuleCanHaveLeavesTheUsualLimits(long count) {
    put(search(ADA), Map.of("3-per-60s", count), HOUR);

    assertThat(admitted(search(ADA), 9)).isEqualTo(3);
  }

  @Test
  void anOverrideIsReadBackAndMalformedTextIsIgnored() {
    SubjectOverride written =
        new SubjectOverride("t", "com.example.A.b(int)", Map.of("a", 2L, "b", 3L), HOUR);
    assertThat(SubjectOverride.of("t", written.text(), HOUR)).contains(written);
    for (String broken :
        List.of("p\n", "p\nx", "p\n1", "p\nx y", "p\n 1", "p\n9999999999999999999 x")) {
      assertThat(SubjectOverride.of("t", broken, HOUR)).as(broken).isEmpty();
    }
  }

  @Test
  void aTagDoesNotShowTheSubject() {
    StateKey key = search(ADA).charge(0).key();
    assertThat(table.tag(key)).isEqualTo(key.tag()).doesNotContain("ada");
    assertThat(KeySecret.of("sixteen characters!").tag(key)).isNotEqualTo(key.tag());
  }
}
