// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.StateKey;
import io.limiter.micronaut.config.LimiterConfiguration.IdempotencyConfiguration.EncryptionConfiguration;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.Test;

class AnswerCipherTest {

  private static final StateKey KEY = new StateKey("tag", "a.name");
  private static final byte[] ANSWER = "answer".getBytes(UTF_8);

  private static AnswerCipher cipher() {
    return new AnswerCipher(
        new EncryptionConfiguration(
            Optional.of("a"), Map.of("a", new SecretKeySpec(new byte[32], "AES"))));
  }

  private static ByteBuffer nonce(byte[] sealed) {
    return ByteBuffer.wrap(Arrays.copyOfRange(sealed, 3, 15));
  }

  /** A nonce that is used twice with one key would show both answers. */
  @Test
  void noNonceIsUsedTwice() {
    Set<ByteBuffer> nonces = ConcurrentHashMap.newKeySet();
    for (int process = 0; process < 4; process++) {
      AnswerCipher cipher = cipher();
      IntStream.range(0, 10_000)
          .parallel()
          .forEach(i -> assertThat(nonces.add(nonce(cipher.seal(KEY, ANSWER)))).isTrue());
    }
    assertThat(nonces).hasSize(40_000);
    Set<Integer> begins = new HashSet<>();
    nonces.forEach(nonce -> begins.add(nonce.getInt(0)));
    assertThat(begins).as("each process begins elsewhere").hasSize(4);
  }

  @Test
  void onlyItsSubmissionHasTheAnswer() {
    byte[] sealed = cipher().seal(KEY, ANSWER);

    assertThat(cipher().open(KEY, sealed)).hasValueSatisfying(a -> assertThat(a).isEqualTo(ANSWER));
    assertThat(cipher().open(new StateKey("tag", "a.other"), sealed)).isEmpty();
    assertThat(cipher().open(new StateKey("other", "a.name"), sealed)).isEmpty();
  }
}
