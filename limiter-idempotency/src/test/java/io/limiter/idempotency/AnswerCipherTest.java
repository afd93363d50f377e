// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.StateKey;
import io.limiter.core.testing.RecordedLog;
import io.limiter.idempotency.IdempotencyConfiguration.EncryptionConfiguration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Test;

class AnswerCipherTest {

  private static final StateKey KEY = new StateKey("tag", "a.name");
  private static final byte[] NONCE = "twelve bytes".getBytes(UTF_8);
  private static final byte[] ANSWER = "answer".getBytes(UTF_8);

  private static AnswerCipher cipher(String current, String... names) {
    Map<String, SecretKeySpec> keys = new HashMap<>();
    for (String name : names) {
      byte[] key = new byte[32];
      Arrays.fill(key, (byte) name.charAt(0));
      keys.put(name, new SecretKeySpec(key, "AES"));
    }
    return new AnswerCipher(new EncryptionConfiguration(Optional.ofNullable(current), keys));
  }

  private static AnswerCipher cipher() {
    return cipher("a", "a");
  }

  @Test
  void onlyItsSubmissionHasTheAnswer() {
    AnswerCipher cipher = cipher();
    byte[] sealed = cipher.seal(KEY, NONCE, ANSWER);

    assertThat(new String(sealed, UTF_8)).doesNotContain("answer").contains("twelve bytes");
    assertThat(cipher.open(KEY, sealed)).hasValueSatisfying(a -> assertThat(a).isEqualTo(ANSWER));
    try (RecordedLog log = RecordedLog.of(AnswerCipher.class)) {
      assertThat(cipher.open(new StateKey("tag", "a.other"), sealed)).isEmpty();
      assertThat(cipher.open(new StateKey("other", "a.name"), sealed)).isEmpty();
      assertThat(log.messages())
          .singleElement()
          .asString()
          .contains("it was changed, or belongs to another submission");
    }
  }

  @Test
  void aKeyThatIsNoLongerCurrentDecryptsStill() {
    byte[] sealed = cipher().seal(KEY, NONCE, ANSWER);

    assertThat(cipher("b", "a", "b").open(KEY, sealed)).isPresent();
    try (RecordedLog log = RecordedLog.of(AnswerCipher.class)) {
      assertThat(cipher("b", "b").open(KEY, sealed)).isEmpty();
      assertThat(log.messages())
          .containsExactly(
              "An answer cannot be decrypted, so it is not repeated: there is no key 'a': set it under limiter.idempotency.encryption.keys until the answers that it has encrypted have expired");
    }
  }

  @Test
  void everyByteAndEveryLengthCounts() {
    byte[] sealed = cipher().seal(KEY, NONCE, ANSWER);
    for (int i = 0; i < sealed.length; i++) {
      byte[] changed = sealed.clone();
      changed[i] ^= 1;
      assertThat(cipher().open(KEY, changed)).as("byte %s", i).isEmpty();
      assertThat(cipher().open(KEY, Arrays.copyOf(sealed, i))).as("%s bytes", i).isEmpty();
    }
  }

  @Test
  void aPlainAnswerIsNoneOnceAKeyIsSet() {
    assertThat(cipher(null).open(KEY, ANSWER)).isPresent();
    assertThat(cipher().open(KEY, ANSWER)).isEmpty();
    assertThat(cipher(null).open(KEY, cipher().seal(KEY, NONCE, ANSWER))).isEmpty();
  }
}
