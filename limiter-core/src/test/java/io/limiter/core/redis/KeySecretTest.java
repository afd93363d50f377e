// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.lettuce.core.cluster.SlotHash;
import io.limiter.core.StateKey;
import io.limiter.core.Subject;
import io.limiter.core.redis.RedisSettings.KeySecret;
import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowLogRule;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The names of keys in Redis if a secret is set. */
class KeySecretTest {

  private static final String SECRET = "sixteen or more random characters";
  private static final RedisSettings OPEN = RedisSettings.defaults();
  private static final RedisSettings HIDDEN = OPEN.withKeySecret(KeySecret.of(SECRET));
  private static final RuleStack GUARD =
      RuleStack.of(List.of(SlidingWindowLogRule.of(1, Duration.ofMinutes(1))));
  private static final StateKey ADA = StateKey.of("limit", new Subject("user", "x"));
  private static final StateKey BOB = StateKey.of("limit", new Subject("user", "bob"));

  private static String name(RedisSettings settings, StateKey key) {
    return new String(settings.name(key), StandardCharsets.US_ASCII);
  }

  /** All keys that a subject may have under a limit key. */
  private static Stream<StateKey> keysOf(StateKey key) {
    Rule log = SlidingWindowLogRule.of(1, Duration.ofSeconds(1));
    return Stream.of(
        key,
        key.of(RuleStack.of(List.of(log)).withCounting(Counting.FAILURES)),
        key.of(RuleStack.of(List.of(log)).withCounting(Counting.SUCCESSES)),
        key.of(RuleStack.of(List.of(ConcurrencyLimitRule.of(1)))),
        key.duplicates(GUARD),
        key.duplicates(GUARD, "order 1"),
        key.duplicates(GUARD, "order 2"),
        key.answers("order 1"),
        key.answers("order 2"));
  }

  @Test
  void withoutASecretKeysAreNamedByTheirHash() {
    assertThat(name(OPEN, ADA)).isEqualTo("limiter:{oij1m8xv8i6UHbi0SejIfA}:r");
  }

  /** It must not change with a release: all limits would start from zero. */
  @Test
  void withOneTheyAreNamedByTheHmacOfThatHash() {
    assertThat(name(HIDDEN, ADA)).isEqualTo("limiter:{BzwYMuN9Lc6yTTtN0YgMcw}:r");
    assertThat(name(OPEN.withKeySecret(KeySecret.of(SECRET)), ADA)).isEqualTo(name(HIDDEN, ADA));
  }

  @Test
  void anotherSecretMakesOtherNames() {
    RedisSettings other = OPEN.withKeySecret(KeySecret.of(SECRET + "."));

    assertThat(keysOf(ADA).map(key -> name(other, key)))
        .doesNotContainAnyElementsOf(keysOf(ADA).map(key -> name(HIDDEN, key)).toList());
  }

  @Test
  void everyKeyStillHasANameOfItsOwnAsLongAsBeforeAndInTheSlotOfItsSubject() {
    Set<String> names = new HashSet<>();
    for (StateKey key : List.of(ADA, BOB)) {
      keysOf(key)
          .forEach(
              each -> {
                assertThat(names.add(name(HIDDEN, each))).isTrue();
                assertThat(name(HIDDEN, each))
                    .hasSameSizeAs(name(OPEN, each))
                    .matches("limiter:\\{[\\w-]{22}}:[rfsida][\\w.-]*");
                assertThat(SlotHash.getSlot(HIDDEN.name(each)))
                    .isEqualTo(SlotHash.getSlot(HIDDEN.name(key)));
              });
    }
  }

  @Test
  void noHashThatCanBeTriedOutIsLeftInAName() {
    String submission =
        ADA.duplicates(GUARD, "order 1").name().substring("d.".length(), "d.".length() + 22);

    assertThat(name(OPEN, ADA.duplicates(GUARD, "order 1"))).contains(ADA.tag(), submission);
    assertThat(name(HIDDEN, ADA.duplicates(GUARD, "order 1")))
        .doesNotContain(ADA.tag(), submission);

    String answered = ADA.answers("order 2").name().substring("a.".length());
    assertThat(name(OPEN, ADA.answers("order 2"))).contains(ADA.tag(), answered);
    assertThat(name(HIDDEN, ADA.answers("order 2"))).doesNotContain(ADA.tag(), answered);
  }

  @Test
  void thatTwoCallersSubmittedTheSameCannotBeSeen() {
    List<Function<StateKey, StateKey>> submissions =
        List.of(key -> key.duplicates(GUARD, "order 1"), key -> key.answers("order 1"));
    assertThat(submissions)
        .allSatisfy(
            of -> {
              String ada = name(HIDDEN, of.apply(ADA)).replaceAll(".*}", "");
              String bob = name(HIDDEN, of.apply(BOB)).replaceAll(".*}", "");
              assertThat(ada).isNotEqualTo(bob);
            });
  }

  @Test
  void namesAreTheSameOnAllThreadsAtOnce() {
    List<StateKey> keys =
        IntStream.range(0, 64).mapToObj(i -> BOB.duplicates(GUARD, "" + i)).toList();
    List<String> expected = keys.stream().map(key -> name(HIDDEN, key)).toList();

    assertThat(
            IntStream.range(0, 20_000)
                .parallel()
                .filter(i -> !name(HIDDEN, keys.get(i % 64)).equals(expected.get(i % 64)))
                .count())
        .isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "fifteen letters", "aaaaaaaaaaaaaaaaaaaaaaaa"})
  void anInvalidSecretIsRejectedWithoutBeingQuoted(String text) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> KeySecret.of(text))
        .withMessage(
            "The key secret of %s characters is invalid: use 16 or more random characters",
            text.length());
  }

  @Test
  void noTextHasTheSecret() {
    assertThat(HIDDEN.toString()).doesNotContain(SECRET).contains("KeySecret");
    assertThat(KeySecret.of(SECRET)).hasToString("KeySecret");
  }
}
