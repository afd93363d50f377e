// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.behaviour.RedisKeys.Stored;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** No text of a request or of the application gets into Redis, in a key or in a value. */
class StoredTextTest {

  private static final List<String> OF_CALLERS =
      List.of(
          "203.0.113.77",
          "127.0.0.1",
          "ada.lovelace",
          "sk-secret-4711",
          "acme-holding",
          "555-0123",
          "note-to-self",
          "paper-clips",
          "idem-8e03978e");

  private static final List<String> OF_THE_APPLICATION =
      List.of("Secrets", "StoredText", "io.limiter", "java.lang", "argument", "x-api-key", "X-Api");

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void neitherKeysNorValuesHoldAnyTextThatSomebodyWrote(boolean gate) {
    try (TestServer server = start(gate)) {
      callEverything(server, 1);

      Map<String, Stored> all = server.keys().all();
      assertThat(all)
          .as("four subjects and a submission, then three times one and one")
          .hasSize(11);
      List<String> texts = new ArrayList<>(OF_CALLERS);
      texts.addAll(OF_THE_APPLICATION);
      all.forEach(
          (key, stored) -> {
            String value =
                new String(HexFormat.of().parseHex(stored.bytes()), StandardCharsets.ISO_8859_1);
            assertHoldsNone(key, texts);
            assertHoldsNone(value, texts);
          });
    }
  }

  private static void assertHoldsNone(String stored, List<String> texts) {
    for (String text : texts) {
      assertThat(stored.toLowerCase(Locale.ROOT)).doesNotContain(text.toLowerCase(Locale.ROOT));
      byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
      assertThat(stored)
          .doesNotContain(Base64.getUrlEncoder().withoutPadding().encodeToString(bytes))
          .doesNotContain(HexFormat.of().formatHex(bytes));
    }
  }

  @Test
  void keysHaveOneLengthWhateverComes() {
    try (TestServer server = start(true)) {
      callEverything(server, 1);
      Set<Integer> lengths = lengths(server);
      server.clear();
      callEverything(server, 20);

      assertThat(lengths(server)).isEqualTo(lengths);
      assertThat(lengths).allMatch(length -> length <= "test:12345678:".length() + 60);
    }
  }

  private static Set<Integer> lengths(TestServer server) {
    Set<Integer> lengths = new HashSet<>();
    server.keys().all().keySet().forEach(key -> lengths.add(key.length()));
    return lengths;
  }

  private static TestServer start(boolean gate) {
    return TestServer.start(
        StoredTextRoutes.SPEC, Map.of("limiter.gate.enabled", gate, "test.stated-callers", true));
  }

  /** Each caller and content written so many times over. */
  private static void callEverything(TestServer server, int times) {
    List<String> texts = OF_CALLERS.stream().map(text -> text.repeat(times)).toList();
    String[] headers = {
      "X-Address", texts.get(0),
      "X-User", texts.get(2),
      "X-Api-Key", texts.get(3),
      "X-Owner", texts.get(4),
      "Idempotency-Key", OF_CALLERS.get(8),
      "Content-Type", "application/json"
    };
    String query = "?phone=" + texts.get(5) + "&note=" + texts.get(6);
    String body = "{\"item\":\"" + texts.get(7) + "\"}";
    for (String route : new String[] {"request", "resolved", "argument", "arguments"}) {
      HttpResponse<String> answer =
          server.exchange("POST", "/stored/" + route + query, body, headers);
      assertThat(answer.statusCode()).as(route).isEqualTo(200);
    }
  }
}
