// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static org.assertj.core.api.Assertions.assertThat;

import io.micronaut.core.convert.ConversionService;
import io.micronaut.http.HttpHeaders;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpRequestWrapper;
import io.micronaut.http.MutableHttpRequest;
import io.micronaut.http.netty.NettyHttpHeaders;
import io.netty.handler.codec.http.DefaultHttpHeadersFactory;
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
    assertThat(of(field)).isEqualTo(key(key));
  }

  @Test
  void spaceWithinQuotesBelongsToTheKey() {
    assertThat(of("\" a \"")).isEqualTo(key(" a "));
  }

  @Test
  void namesOfHeadersHaveNoCase() {
    assertThat(IdempotencyKey.of(request().header("idempotency-KEY", "a"))).isEqualTo(key("a"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", " ", "\t", "  \t "})
  void anEmptyFieldIsNone(String field) {
    IdempotencyKey none = new IdempotencyKey(Optional.empty(), Optional.empty());
    assertThat(of(field)).isEqualTo(none);
    assertThat(IdempotencyKey.of(request())).isEqualTo(none);
  }

  @ParameterizedTest
  @ValueSource(strings = {"\"\"", "\" \"", "\"   \""})
  void aStringOfNothingButSpaceIsNoKey(String field) {
    assertRejected(field, EMPTY);
  }

  @ParameterizedTest
  @ValueSource(strings = {"\"", "\"a", "\"a\\\"", "\"\\\"", "\"\\a\"", "\"a\\", "\"\\\\\\\""})
  void aMalformedQuotedStringIsRejected(String field) {
    assertRejected(field, NO_STRING);
  }

  @Test
  void aKeyHasUpTo255Characters() {
    String longest = "k".repeat(255);
    assertThat(of(longest)).isEqualTo(key(longest));
    assertThat(of('"' + longest + '"')).isEqualTo(key(longest));
    assertThat(of('"' + "\\\"".repeat(255) + '"')).isEqualTo(key("\"".repeat(255)));

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
    assertThat(
            IdempotencyKey.of(
                request().header(IdempotencyKey.HEADER, "a").header(IdempotencyKey.HEADER, "a")))
        .isEqualTo(mistake("it was sent 2 times"));
  }

  /** An Item of RFC 9651 may have parameters, which are not a part of its value. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        ";x=1",
        ";x",
        "; x=1;  y",
        ";x=-1.5",
        ";x=?1",
        ";x=token/1",
        ";x=\"a;\\\"b\"",
        ";x=:aGk=:",
        ";x=@1659578233",
        ";*x_1-.*=*a"
      })
  void parametersAreNoPartOfTheKey(String parameters) {
    assertThat(of("\"a1\"" + parameters)).isEqualTo(key("a1"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "b",
        "b\"",
        " ;x=1",
        ";",
        ";X=1",
        ";x=",
        ";x=\"",
        ";x=1,",
        ", \"b\"",
        ";x=1 ; y",
        ";1"
      })
  void whatElseFollowsAStringIsRejected(String more) {
    assertRejected("\"a1\"" + more, "what follows the quoted string is no parameter");
  }

  private static MutableHttpRequest<?> request() {
    return HttpRequest.POST("/", "");
  }

  private static IdempotencyKey key(String key) {
    return new IdempotencyKey(Optional.of(key), Optional.empty());
  }

  private static IdempotencyKey mistake(String why) {
    return new IdempotencyKey(Optional.empty(), Optional.of(why));
  }

  /** As a server receives it: the client's API rejects some. */
  private static IdempotencyKey of(String field) {
    return IdempotencyKey.of(
        new HttpRequestWrapper<>(HttpRequest.POST("/", "")) {
          @Override
          public HttpHeaders getHeaders() {
            return new NettyHttpHeaders(
                DefaultHttpHeadersFactory.headersFactory()
                    .withValidation(false)
                    .newHeaders()
                    .add(IdempotencyKey.HEADER, field),
                ConversionService.SHARED);
          }
        });
  }

  /** The mistake is reported without the client's value. */
  private static void assertRejected(String field, String why) {
    assertThat(of(field)).isEqualTo(mistake(why));
  }
}
