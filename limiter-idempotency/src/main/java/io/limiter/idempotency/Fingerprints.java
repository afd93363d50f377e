// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.limiter.core.StateKey;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.function.Supplier;
import javax.crypto.Mac;

/**
 * What a repetition must have in common with the first submission: 128 bits of HMAC-SHA-256 with
 * the key secret, over the key of the submission and the content. So a reader of the store learns
 * nothing from them: equal contents under two keys have different fingerprints, and guesses cannot
 * be tested without the secret.
 */
final class Fingerprints {

  /** The length of a fingerprint. */
  static final int BYTES = 16;

  /** No name of a key begins with it, see {@code RedisSettings.KeySecret.code()}. */
  private static final byte HEAD = 1;

  private static final byte BODY = 2;

  private final Supplier<Mac> codes;

  /**
   * @param codes returns a new code with the secret
   */
  Fingerprints(Supplier<Mac> codes) {
    this.codes = codes;
  }

  /** The fingerprint of what stands before a body: any texts, such as method and path. */
  byte[] head(StateKey key, String... parts) {
    Code code = new Code(codes.get(), HEAD, key);
    for (String part : parts) {
      byte[] bytes = part.getBytes(StandardCharsets.UTF_8);
      code.update(bytes.length);
      code.update(bytes);
    }
    return code.end();
  }

  /** The fingerprint of a body, in as many pieces as it comes in. */
  Code body(StateKey key) {
    return new Code(codes.get(), BODY, key);
  }

  /** A fingerprint in the making. Not thread-safe. */
  static final class Code {

    private final Mac code;

    private Code(Mac code, byte kind, StateKey key) {
      this.code = code;
      code.update(kind);
      byte[] name = (key.tag() + ':' + key.name()).getBytes(StandardCharsets.UTF_8);
      update(name.length);
      update(name);
    }

    private void update(int number) {
      for (int shift = Integer.SIZE - Byte.SIZE; shift >= 0; shift -= Byte.SIZE) {
        code.update((byte) (number >>> shift));
      }
    }

    void update(byte[] piece) {
      code.update(piece);
    }

    /** The fingerprint of all pieces; called once. */
    byte[] end() {
      byte[] fingerprint = Arrays.copyOf(code.doFinal(), BYTES);
      fingerprint[0] |= 1; // never all zeros, which stand for one that is not known
      return fingerprint;
    }
  }
}
