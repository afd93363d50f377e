// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.limiter.micronaut.exception.InvalidCallException.InvalidIdempotencyKeyException;
import io.limiter.micronaut.testing.FakeRequest;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which keys a request may have, and which texts are the same one. */
class IdempotencyKeyTest {

  private static final String NO_STRING = "it begins with a quote but is not a quoted string";
  private static final String TOO_LONG = "it is longer than 255 characters";
  private static final String EMPTY = "it is an empty string";
  private static final String CHARACTERS = "it has characters other than printable ASCII";

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '\0',
      value = {
        "8e03978e-40d5-43dd-bc93-6894a57f9324|8e03978e-40d5-43dd-bc93-6894a57f9324",
        "\"8e03978e\"|8e03978e",
        "  \"8e03978e\"\t|8e03978e",
        "\t8e03978e  |8e03978e",
        "\"a b\"|a b",
        "a b|a b",
        "\"a\\\"b\"|a\"b",
        "\"a\\\\b\"|a\\b",
        "\"\\\\\"|\\",
        "\"\\\"\"|\"",
        "a\"b|a\"b",
        "a\\b|a\\b",
        "a\"|a\"",
        "a,b|a,b",
        "~|~"
      })
  void aKeyIsTheTextOfAQuotedStringOrTheBareText(String field, String key) {
    assertThat(of(field)).contains(key);
  }

  @Test
  void spaceWithinQuotesBelongsToTheKey() {
    assertThat(of("\" a \"")).contains(" a ");
  }

  @Test
  void namesOfHeadersHaveNoCase() {
    assertThat(IdempotencyKey.of(new FakeRequest().header("idempotency-KEY", "a"))).contains("a");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", " ", "\t", "  \t "})
  void anEmptyFieldIsNone(String field) {
    assertThat(of(field)).isEmpty();
    assertThat(IdempotencyKey.of(new FakeRequest())).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"\"\"", "\" \"", "\"   \""})
  void aStringOfNothingButSpaceIsNoKey(String field) {
    assertRejected(field, EMPTY);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "\"",
        "\"a",
        "\"a\"b",
        "\"a\"b\"",
        "\"a\\\"",
        "\"\\\"",
        "\"\\a\"",
        "\"a\\",
        "\"a\";b=1",
        "\"\\\\\\\""
      })
  void aMalformedQuotedStringIsRejected(String field) {
    assertRejected(field, NO_STRING);
  }

  @Test
  void aKeyHasUpTo255Characters() {
    String longest = "k".repeat(255);
    assertThat(of(longest)).contains(longest);
    assertThat(of('"' + longest + '"')).contains(longest);
    assertThat(of('"' + "\\\"".repeat(255) + '"')).contains("\"".repeat(255));

    assertRejected(longest + "k", TOO_LONG);
    assertRejected('"' + longest + "k\"", TOO_LONG);
    assertRejected('"' + "\\\"".repeat(256) + '"', TOO_LONG);
    assertRejected("k".repeat(1 << 20), TOO_LONG);
    assertRejected('"' + "k".repeat(1 << 20), TOO_LONG);
  }

  /** All control characters but the tab that is cut off at the ends, and some that are no ASCII. */
  static Stream<String> strangeCharacters() {
    IntStream controls = IntStream.range(0, ' ').filter(c -> c != '\t');
    IntStream others = IntStream.of(0x7F, 0x80, 0x85, 0xA0, 0xE9, 0x2028, 0x3000, 0xD800, 0xFEFF);
    return IntStream.concat(controls, others).mapToObj(Character::toString);
  }

  @ParameterizedTest
  @MethodSource("strangeCharacters")
  void aCharacterThatIsNotPrintableAsciiIsRejectedWhereverItStands(String strange) {
    for (String field : new String[] {strange, strange + "a", "a" + strange + "a", "a" + strange}) {
      assertRejected(field, CHARACTERS);
    }
    assertRejected('"' + strange + "a\"", CHARACTERS);
  }

  @Test
  void aTabWithinAKeyIsRejected() {
    assertRejected("a\tb", CHARACTERS);
    assertRejected("\"a\tb\"", CHARACTERS);
  }

  @Test
  void severalLinesAreRejectedEvenIfTheyAreEqual() {
    FakeRequest twice =
        new FakeRequest().header(IdempotencyKey.HEADER, "a").header(IdempotencyKey.HEADER, "a");

    assertThatExceptionOfType(InvalidIdempotencyKeyException.class)
        .isThrownBy(() -> IdempotencyKey.of(twice))
        .withMessageEndingWith("it was sent 2 times");
  }

  private static Optional<String> of(String field) {
    return IdempotencyKey.of(new FakeRequest().header(IdempotencyKey.HEADER, field));
  }

  /** The mistake is reported without the client's value. */
  private static void assertRejected(String field, String why) {
    assertThatExceptionOfType(InvalidIdempotencyKeyException.class)
        .isThrownBy(() -> of(field))
        .withMessage("The Idempotency-Key header is invalid: " + why)
        .returns("idempotency_key_malformed", InvalidIdempotencyKeyException::code);
  }
}
