// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.limiter.core.StateKey;
import io.limiter.core.util.LogThrottle;
import io.limiter.idempotency.IdempotencyConfiguration.EncryptionConfiguration;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Encrypts answers, where a key is configured, by AES-GCM (NIST SP 800-38D) with random nonces. The
 * key of the submission is authenticated with its answer, so that an answer that is moved to
 * another submission cannot be decrypted.
 *
 * <p>An encrypted answer is {@link #ENCRYPTED}, the length of the name of its key, that name, a
 * nonce, and the ciphertext with its tag. It is never taken for a plain one, nor a plain one for
 * it.
 */
final class AnswerCipher {

  /** The first byte of an encrypted answer. That of a plain one, its version, is lower. */
  static final byte ENCRYPTED = 16;

  static final int NONCE_BYTES = 12;

  private static final Logger LOG = LoggerFactory.getLogger(AnswerCipher.class);

  private static final int TAG_BYTES = 16;

  /** Length of the first byte and that of the name. */
  private static final int HEAD = 2;

  private final Optional<String> current;
  private final Map<String, ? extends Key> keys;
  private final LogThrottle unreadable = new LogThrottle();

  AnswerCipher(EncryptionConfiguration settings) {
    this.current = settings.current();
    this.keys = settings.keys();
    if (encrypts()) { // loads the provider here, since that may block
      StateKey none = new StateKey("", "");
      var unused = open(none, seal(none, new byte[NONCE_BYTES], Entry.NONE));
    }
  }

  /** Whether answers are encrypted; else {@link #seal} must not be called. */
  boolean encrypts() {
    return current.isPresent();
  }

  /**
   * The bytes that are stored for an answer.
   *
   * @param nonce {@value #NONCE_BYTES} random bytes, for this answer alone
   */
  byte[] seal(StateKey submission, byte[] nonce, byte[] answer) {
    byte[] name = current.orElseThrow().getBytes(StandardCharsets.US_ASCII);
    try {
      byte[] sealed = cipher(Cipher.ENCRYPT_MODE, current.get(), nonce, submission).doFinal(answer);
      return ByteBuffer.allocate(HEAD + name.length + NONCE_BYTES + sealed.length)
          .put(ENCRYPTED)
          .put((byte) name.length)
          .put(name)
          .put(nonce)
          .put(sealed)
          .array();
    } catch (GeneralSecurityException impossible) {
      throw new IllegalStateException("Every Java platform has AES-GCM", impossible);
    }
  }

  /** The answer of which these bytes are stored; empty, which is logged, if they show none. */
  Optional<byte[]> open(StateKey submission, byte[] stored) {
    boolean encrypted = stored.length > 0 && stored[0] == ENCRYPTED;
    if (!encrypted) {
      return current.isEmpty()
          ? Optional.of(stored)
          : unreadable(
              "it was kept in clear, before %s.current was set"
                  .formatted(EncryptionConfiguration.PREFIX));
    }
    int nameEnd = HEAD + (stored.length > 1 ? Byte.toUnsignedInt(stored[1]) : 0);
    int nonceEnd = nameEnd + NONCE_BYTES;
    if (stored.length < nonceEnd + TAG_BYTES) { // for which the JDK has another exception
      return unreadable("it is cut off");
    }
    String name = new String(stored, HEAD, nameEnd - HEAD, StandardCharsets.ISO_8859_1);
    if (!keys.containsKey(name)) {
      return unreadable(
          "there is no key '%s': set it under %s.keys until the answers that it has encrypted have expired"
              .formatted(LogThrottle.oneLine(name, 40), EncryptionConfiguration.PREFIX));
    }
    byte[] nonce = Arrays.copyOfRange(stored, nameEnd, nonceEnd);
    try {
      return Optional.of(
          cipher(Cipher.DECRYPT_MODE, name, nonce, submission)
              .doFinal(stored, nonceEnd, stored.length - nonceEnd));
    } catch (GeneralSecurityException changed) {
      return unreadable(
          "it was changed, or belongs to another submission, or its key '%s' has another value here"
              .formatted(name));
    }
  }

  private Cipher cipher(int mode, String name, byte[] nonce, StateKey submission)
      throws GeneralSecurityException {
    Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
    cipher.init(mode, keys.get(name), new GCMParameterSpec(TAG_BYTES * Byte.SIZE, nonce));
    cipher.updateAAD((submission.tag() + ' ' + submission.name()).getBytes(StandardCharsets.UTF_8));
    return cipher;
  }

  private Optional<byte[]> unreadable(String why) {
    if (unreadable.count() > 0) {
      LOG.warn("An answer cannot be decrypted, so it is not repeated: {}", why);
    }
    return Optional.empty();
  }
}
