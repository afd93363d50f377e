// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static io.limiter.core.StoreHarness.MINUTE;
import static io.limiter.core.StoreHarness.rule;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.rule.ConcurrencyLimitRule;
import io.limiter.core.rule.Counting;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowLogRule;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StateKeyTest {

  private static final RuleStack GUARD =
      RuleStack.of(List.of(SlidingWindowLogRule.of(1, Duration.ofMinutes(1))));

  /** Texts that a careless concatenation, encoding or normalisation would confuse. */
  private static final List<String> TRICKY =
      List.of(
          "a",
          "b",
          "A",
          "ab",
          "a b",
          " a",
          "a ",
          "a:b",
          "a|b",
          "a\0b",
          "a\0",
          "a{b}",
          "{",
          "}",
          "a\r\nb",
          "*",
          "?",
          "\ud800",
          "\udc00",
          "\ud800?",
          "?\ud800",
          "\ufffd",
          "\ud83d\ude00",
          "\u00e9",
          "e\u0301",
          "\u0130",
          "i",
          "\u0131",
          "\u200b",
          "\u202ea",
          "1",
          "01",
          "1.0",
          "::1",
          "0:0:0:0:0:0:0:1",
          "x".repeat(10_000),
          "x".repeat(10_001));

  /** Redis keeps them, so they stay what they are: also for another version or client. */
  @ParameterizedTest
  @ValueSource(strings = {"ada", "\u007f", "\u0080", "\u00e9", "\u4e16", "\ud83d\ude00", "\ud800"})
  void aTagIsAHashOfThePartsAndTheirLengths(String value) throws Exception {
    boolean surrogates = value.chars().anyMatch(c -> Character.isSurrogate((char) c));
    byte[] bytes = value.getBytes(surrogates ? StandardCharsets.UTF_16BE : StandardCharsets.UTF_8);
    if (value.equals("\ud800")) {
      bytes = new byte[] {(byte) 0xd8, 0};
    }
    ByteBuffer hashed = ByteBuffer.allocate(64);
    hashed.putInt(5).put("limit".getBytes(StandardCharsets.UTF_8));
    hashed.putInt(4).put("user".getBytes(StandardCharsets.UTF_8));
    hashed.putInt(surrogates ? ~bytes.length : bytes.length).put(bytes);
    byte[] hash =
        MessageDigest.getInstance("SHA-256")
            .digest(Arrays.copyOf(hashed.array(), hashed.position()));

    assertThat(StateKey.of("limit", new Subject("user", value)).tag())
        .isEqualTo(Base64.getUrlEncoder().withoutPadding().encodeToString(Arrays.copyOf(hash, 16)));
  }

  @Test
  void everyLimitKindAndValueHasAKeyOfItsOwn() {
    Set<StateKey> keys = new HashSet<>();
    for (String limit : TRICKY) {
      for (String value : TRICKY) {
        keys.add(StateKey.of(limit, new Subject("user", value)));
        keys.add(StateKey.of(limit, new Subject("ip", value)));
      }
    }
    assertThat(keys).hasSize(2 * TRICKY.size() * TRICKY.size());
  }

  @Test
  void textMovedFromOnePartToTheNextMakesAnotherKey() {
    assertThat(StateKey.of("ab", new Subject("c", "d")))
        .isNotEqualTo(StateKey.of("a", new Subject("bc", "d")))
        .isNotEqualTo(StateKey.of("ab", new Subject("cd", "c")));
    assertThat(StateKey.of("a", new Subject("b", "cb")))
        .isNotEqualTo(StateKey.of("ab", new Subject("c", "b")));
  }

  @Test
  void everySubmissionHasAKeyOfItsOwn() {
    StateKey key = StateKey.of("limit", Subject.global());
    Set<StateKey> keys =
        new HashSet<>(Set.of(key, key.duplicates(GUARD), key.duplicates(GUARD, "")));
    for (String submission : TRICKY) {
      keys.add(key.duplicates(GUARD, submission));
      keys.add(key.answers(submission));
    }
    assertThat(keys).hasSize(2 * TRICKY.size() + 3);
  }

  @Test
  void aKeyIsShortPlainAndWithoutAnyTextOfItsParts() {
    for (String value : TRICKY) {
      StateKey key = StateKey.of("limit", new Subject("user", value));
      assertThat(key.tag()).matches("[A-Za-z0-9_-]{22}");
      assertThat(key.name()).isEqualTo("r");
      assertThat(key.duplicates(GUARD, value).name())
          .matches("d\\.[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{6}");
    }
    assertThat(StateKey.of("limit", new Subject("user", "alice@example.com")).toString())
        .doesNotContain("alice")
        .doesNotContain("limit");
  }

  @Test
  void theKeysOfOneSubjectUnderOneLimitShareTheirTag() {
    StateKey key = StateKey.of("limit", Subject.global());
    assertThat(List.of(key.duplicates(GUARD), key.duplicates(GUARD, "x"), key.of(GUARD), key.ban()))
        .extracting(StateKey::tag)
        .containsOnly(key.tag());
  }

  @Test
  void aKeyIsTheSameInEveryProcess() {
    assertThat(StateKey.of("limit", new Subject("user", "x")).tag())
        .isEqualTo("oij1m8xv8i6UHbi0SejIfA");
    assertThat(StateKey.of("limit", new Subject("user", "\ud83d\ude00")).tag())
        .isEqualTo("JP505nRAxYFA-xhnRYc-zw");
  }

  private static final Subject ADA = new Subject("user", "ada");
  private static final Subject ADDRESS = new Subject("ip", "192.0.2.1");
  private static final Rule TURNS = LeakyBucketRule.of(2, MINUTE, 5, MINUTE);

  private static String name(RuleStack stack) {
    return StateKey.of("limit", ADA).of(stack).name();
  }

  /** They are in Redis: another name would lose what an older version has counted. */
  @Test
  void everyClassOfCallsHasANameThatNeverChanges() {
    RuleStack all = RuleStack.of(List.of(rule(1, MINUTE)));
    assertThat(name(all)).matches("r\\.[\\w-]{6}");
    assertThat(name(all.withCounting(Counting.FAILURES))).matches("f\\.[\\w-]{6}");
    assertThat(name(all.withCounting(Counting.SUCCESSES))).matches("s\\.[\\w-]{6}");
    assertThat(name(RuleStack.of(List.of(ConcurrencyLimitRule.of(1))))).matches("i\\.[\\w-]{6}");
    assertThat(name(RuleStack.of(List.of(TURNS)))).matches("w\\.[\\w-]{6}");
  }

  @Test
  void aTurnBesideOtherRulesIsCountedWithThem() {
    assertThat(name(RuleStack.of(List.of(TURNS, rule(1, MINUTE))))).matches("r\\.[\\w-]{6}");
  }

  @Test
  void aSubmissionBelongsToItsSubmitterThoughAnotherIsCounted() {
    Policy policy = Policy.of("form", rule(5, MINUTE)).withDuplicates(rule(1, MINUTE));
    LimitRequest call = LimitRequest.of(policy, ADDRESS, ADA, "text");
    RuleStack guard = policy.duplicates().orElseThrow();
    assertThat(call.charge(0).key())
        .isEqualTo(StateKey.of("form", ADDRESS).of(policy.stacks().get(0)));
    assertThat(call.charge(1).key()).isEqualTo(StateKey.of("form", ADA).duplicates(guard, "text"));
    assertThat(LimitRequest.of(policy, ADA, ADA, "text"))
        .isEqualTo(LimitRequest.of(policy, ADA, Optional.of("text")));
  }

  @Test
  void anAddressIsBroaderThanAUserAndTheGlobalSubjectIsBroadest() {
    assertThat(ADA.breadth()).isEqualTo(Subject.ONE_CALLER);
    assertThat(ADDRESS.breadth()).isEqualTo(Subject.AN_ADDRESS);
    assertThat(new Subject("anonymous", "192.0.2.1").breadth()).isEqualTo(Subject.AN_ADDRESS);
    assertThat(Subject.global().breadth()).isEqualTo(Subject.EVERYBODY);
    assertThat(StateKey.of("limit", ADDRESS).breadth()).isEqualTo(Subject.AN_ADDRESS);
  }
}
