// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.idempotency.StoredAnswer.Field;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What is stored of a response: Redis may hold anything, and no length in it is trusted. */
class StoredAnswerTest {

  private static final byte[] BODY = {1, 2, 3, 4, 5};

  private static byte[] stored() {
    return new StoredAnswer(
            201, List.of(new Field("ETag", "\"1\""), new Field("X-Name", "caf\u00e9")), BODY)
        .bytes();
  }

  @Test
  void aResponseIsReadAsItWasWritten() {
    StoredAnswer read = StoredAnswer.read(stored()).orElseThrow();
    assertThat(read.status()).isEqualTo(201);
    assertThat(read.fields())
        .containsExactly(new Field("ETag", "\"1\""), new Field("X-Name", "caf\u00e9"));
    assertThat(read.body()).isEqualTo(BODY);
  }

  @Test
  void aPartIsNoResponse() {
    byte[] stored = stored();
    for (int length = 0; length < stored.length; length++) {
      assertThat(StoredAnswer.read(Arrays.copyOf(stored, length))).as("%s bytes", length).isEmpty();
    }
    assertThat(StoredAnswer.read(Arrays.copyOf(stored, stored.length + 1))).isEmpty();
  }

  /** Else two gigabytes would be allocated for a length that a broken value states. */
  @Test
  void aLengthBeyondTheEndIsNotTrusted() {
    for (int length : new int[] {Integer.MAX_VALUE, Integer.MIN_VALUE, -1, 1 << 30}) {
      for (int at = 5; at + Integer.BYTES <= stored().length; at++) {
        byte[] stored = stored();
        ByteBuffer.wrap(stored).putInt(at, length);
        StoredAnswer.read(stored); // some are other texts; none throws
      }
      for (int at : new int[] {5, stored().length - BODY.length - Integer.BYTES}) {
        byte[] stored = stored();
        ByteBuffer.wrap(stored).putInt(at, length);
        assertThat(StoredAnswer.read(stored)).as("%s at %s", length, at).isEmpty();
      }
    }
  }
}
