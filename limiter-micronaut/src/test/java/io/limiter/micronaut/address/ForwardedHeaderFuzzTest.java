// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.address;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import io.limiter.core.testing.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.LongConsumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Every header is read as a second implementation reads it, and elements further left do not change
 * the result. {@link Seeds} selects the headers.
 */
@Tag("matrix")
class ForwardedHeaderFuzzTest {

  private static final long HEADERS = 400_000;

  /** With fewer headers the share that has an address is not meaningful. */
  private static final long MANY = 10_000;

  private static final TrustedProxies PROXIES = TrustedProxies.of(HeaderGenerator.NETWORKS);

  @Test
  void whatIsReadIsWhatTheReferenceReads() {
    long[] withAddress = new long[1];
    long headers =
        forEachSeed(
            HEADERS,
            seed -> {
              HeaderGenerator generator = new HeaderGenerator(seed);
              String header = generator.header();
              List<String> lines = generator.lines(header);
              Optional<String> client = read(header, lines);
              Optional<String> expected =
                  AddressReference.client(header, lines, HeaderGenerator.NETWORKS);
              if (!client.equals(expected)) {
                fail(
                    "-Dlimiter.seed=%d: %s: %s is %s, not %s",
                    seed, header, lines, client, expected);
              }
              withAddress[0] += client.isPresent() ? 1 : 0;
            });
    if (headers >= MANY) {
      assertThat((double) withAddress[0] / headers)
          .as("share of headers with an address")
          .isBetween(0.5, 0.95);
    }
  }

  @Test
  void aReadAddressIsInTheFormInWhichItIsCounted() {
    forEachSeed(
        HEADERS / 10,
        seed -> {
          HeaderGenerator generator = new HeaderGenerator(seed);
          String header = generator.header();
          List<String> lines = generator.lines(header);
          String client = read(header, lines).orElse("0.0.0.0");
          String literal = client.replace("/128", "");
          Optional<String> again =
              AddressReference.literal(literal).map(AddressReference.Found::text);
          if (!again.equals(Optional.of(client))) {
            fail("-Dlimiter.seed=%d: %s: %s is %s", seed, header, lines, client);
          }
        });
  }

  /** The proxies write what is to the right of a caller's own lines, well-formed. */
  @Test
  void elementsToTheLeftOfTheClientDoNotChangeIt() {
    forEachSeed(
        HEADERS / 4,
        seed -> {
          HeaderGenerator generator = new HeaderGenerator(seed);
          String header = generator.chance(2) ? "X-Forwarded-For" : "Forwarded";
          String client = generator.stranger();
          StringBuilder written = new StringBuilder(generator.element(header, client));
          while (generator.chance(2)) {
            written.append(", ").append(generator.element(header, "10.0.0.1"));
          }
          List<String> forged = generator.lines(header);
          List<String> lines = new ArrayList<>(forged);
          if (generator.chance(2)) {
            lines.add(written.toString());
          } else {
            lines.set(lines.size() - 1, forged.get(forged.size() - 1) + ", " + written);
          }
          Optional<String> expected = Optional.of(IpAddress.parse(client).network(128));
          if (!read(header, lines).equals(expected)) {
            fail("-Dlimiter.seed=%d: %s: %s is not %s", seed, header, lines, expected);
          }
        });
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        ",", ":", "\"", "\\", "\\\"", "a",
        " ", "[", "10.0.0.1,", "for=10.0.0.1,", "for=\"", ";",
        "for=;", "::", "1:"
      })
  void aHeaderOfSixtyFourKilobytesTakesNoTime(String unit) {
    String nonsense = unit.repeat(65_536 / unit.length());
    List<List<String>> headers =
        List.of(
            List.of(nonsense),
            List.of(nonsense + '"'),
            List.of(nonsense + ", for=10.0.0.1"),
            List.of(nonsense, nonsense, "10.0.0.1"));
    // Four thousand characters 8,000 times; were it quadratic, it would be hours.
    assertTimeoutPreemptively(
        Duration.ofSeconds(20),
        () -> {
          for (int i = 0; i < 1_000; i++) {
            for (List<String> lines : headers) {
              var unused = read("X-Forwarded-For", lines);
              unused = read("Forwarded", lines);
            }
          }
        });
  }

  private static Optional<String> read(String header, List<String> lines) {
    return Optional.ofNullable(ForwardedHeader.named(header).client(lines, PROXIES))
        .map(client -> client.network(128));
  }

  private static long forEachSeed(long wanted, LongConsumer check) {
    return Seeds.forEach(
        wanted,
        seed -> {
          check.accept(seed);
          return 1;
        });
  }
}
