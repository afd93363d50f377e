// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.util;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NearestNamesTest {

  @ParameterizedTest
  @CsvSource({
    "'', '', 0",
    "search, search, 0",
    "search, '', 6",
    "'', search, 6",
    "search, serach, 2",
    "search, searches, 2",
    "search, earch, 1",
    "search, seerch, 1",
    "kitten, sitting, 3",
    "ab, ba, 2",
    "abcdef, xbcdxf, 2"
  })
  void lettersAreInsertedRemovedOrReplaced(String from, String to, int changes) {
    assertThat(NearestNames.changes(from, to)).isEqualTo(changes);
    assertThat(NearestNames.changes(to, from)).isEqualTo(changes);
  }

  @Test
  void theNearestNamesComeFirst() {
    List<String> names = List.of("orders", "border", "folder", "order-history", "payment");

    assertThat(NearestNames.of(names, "order"))
        .containsExactly("border", "orders", "folder", "order-history");
  }

  @Test
  void threeChangesAreAMisspellingAndFourAreNot() {
    assertThat(NearestNames.of(List.of("abcxyz"), "abcdef")).containsExactly("abcxyz");
    assertThat(NearestNames.of(List.of("abwxyz"), "abcdef")).isEmpty();
  }

  @Test
  void aQuarterOfALongName() {
    String name = "0123456789abcdef";
    assertThat(NearestNames.of(List.of("0123456789abWXYZ"), name)).hasSize(1);
    assertThat(NearestNames.of(List.of("0123456789aVWXYZ"), name)).isEmpty();
  }

  @Test
  void nothingIsContainedInEveryName() {
    assertThat(NearestNames.of(List.of("search", "abc"), "")).containsExactly("abc");
  }
}
