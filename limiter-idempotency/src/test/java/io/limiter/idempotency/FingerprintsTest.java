// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.StateKey;
import io.limiter.core.redis.RedisSettings.KeySecret;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Set;
import org.junit.jupiter.api.Test;

class FingerprintsTest {

  private static final StateKey KEY = new StateKey("tag", "a.key");
  private final Fingerprints some = of("a long secret text");

  private static Fingerprints of(String secret) {
    return new Fingerprints(KeySecret.of(secret)::code);
  }

  private static String body(Fingerprints fingerprints, StateKey key, String... pieces) {
    Fingerprints.Code code = fingerprints.body(key);
    for (String piece : pieces) {
      code.update(piece.getBytes(StandardCharsets.UTF_8));
    }
    return HexFormat.of().formatHex(code.end());
  }

  private static String head(Fingerprints fingerprints, StateKey key, String... parts) {
    return HexFormat.of().formatHex(fingerprints.head(key, parts));
  }

  @Test
  void equalContentsOfOneKeyAreEqualHoweverTheyArrive() {
    assertThat(body(some, KEY, "content"))
        .isEqualTo(body(of("a long secret text"), KEY, "con", "", "tent"))
        .hasSize(2 * Fingerprints.BYTES);
    assertThat(head(some, KEY, "POST", "/orders")).isEqualTo(head(some, KEY, "POST", "/orders"));
  }

  @Test
  void everythingElseDiffers() {
    Set<String> all = new HashSet<>();
    assertThat(all.add(body(some, KEY, "content"))).isTrue();
    assertThat(all.add(body(some, KEY, "content "))).isTrue();
    assertThat(all.add(body(some, KEY))).isTrue();
    assertThat(all.add(body(some, new StateKey("tag", "a.other"), "content"))).isTrue();
    assertThat(all.add(body(some, new StateKey("other", "a.key"), "content"))).isTrue();
    assertThat(all.add(body(of("another secret text"), KEY, "content"))).isTrue();
    assertThat(all.add(head(some, KEY, "content"))).isTrue();
    assertThat(all.add(head(some, KEY, "con", "tent"))).isTrue();
    assertThat(all.add(head(some, KEY, "conten", "t"))).isTrue();
  }
}
