// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class KeyTest {

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

  @Test
  void everyLimitKindAndValueHasAKeyOfItsOwn() {
    Set<Key> keys = new HashSet<>();
    for (String limit : TRICKY) {
      for (String value : TRICKY) {
        keys.add(Key.of(limit, new Subject("user", value)));
        keys.add(Key.of(limit, new Subject("ip", value)));
      }
    }
    assertThat(keys).hasSize(2 * TRICKY.size() * TRICKY.size());
  }

  @Test
  void whatIsMovedFromOnePartToTheNextIsAnotherKey() {
    assertThat(Key.of("ab", new Subject("c", "d")))
        .isNotEqualTo(Key.of("a", new Subject("bc", "d")))
        .isNotEqualTo(Key.of("ab", new Subject("cd", "c")));
    assertThat(Key.of("a", new Subject("b", "cb")))
        .isNotEqualTo(Key.of("ab", new Subject("c", "b")));
  }

  @Test
  void everySubmissionHasAKeyOfItsOwn() {
    Key key = Key.of("limit", Subject.global());
    Set<Key> keys = new HashSet<>(Set.of(key, key.duplicates(), key.duplicates("")));
    TRICKY.forEach(submission -> keys.add(key.duplicates(submission)));
    assertThat(keys).hasSize(TRICKY.size() + 3);
  }

  @Test
  void aKeyIsShortPlainAndWithoutAnyTextOfItsParts() {
    for (String value : TRICKY) {
      Key key = Key.of("limit", new Subject("user", value));
      assertThat(key.tag()).matches("[A-Za-z0-9_-]{22}");
      assertThat(key.name()).isEqualTo("r");
      assertThat(key.duplicates(value).name()).matches("d\\.[A-Za-z0-9_-]{22}");
    }
    assertThat(Key.of("limit", new Subject("user", "alice@example.com")).toString())
        .doesNotContain("alice")
        .doesNotContain("limit");
  }

  @Test
  void theKeysOfOneSubjectUnderOneLimitShareTheirTag() {
    Key key = Key.of("limit", Subject.global());
    assertThat(List.of(key.duplicates(), key.duplicates("x")))
        .extracting(Key::tag)
        .containsOnly(key.tag());
  }

  @Test
  void aKeyIsTheSameInEveryProcess() {
    assertThat(Key.of("limit", new Subject("user", "x")).tag()).isEqualTo("oij1m8xv8i6UHbi0SejIfA");
    assertThat(Key.of("limit", new Subject("user", "\ud83d\ude00")).tag())
        .isEqualTo("JP505nRAxYFA-xhnRYc-zw");
  }
}
