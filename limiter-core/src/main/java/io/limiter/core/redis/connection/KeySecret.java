// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.limiter.core.StateKey;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * A secret from which the names of keys in Redis are derived. A {@link StateKey} is a hash of the
 * subject, and an address or a telephone number can be found from its hash by trying all of them.
 * With a secret, a reader of Redis has nothing to compare against, and a caller cannot compute in
 * which slot of a Cluster it is counted. All instances that share limits need the same secret.
 *
 * <p>Names are 128 bits of HMAC-SHA-256 of the name without a secret, so they have the same length,
 * and the keys of one subject under one limit key still share their tag.
 */
public final class KeySecret {

  /** The fewest characters: 16 random characters cannot be found by trying. */
  public static final int MIN_LENGTH = 16;

  private static final String ALGORITHM = "HmacSHA256";

  /** As many characters as {@link StateKey#tag()} has. */
  private static final int BYTES = 16;

  /** The prefix of a submission's name; other names contain nothing of a call. */
  private static final String SUBMISSION = "d.";

  private final ThreadLocal<Mac> macs;

  private KeySecret(byte[] secret) {
    SecretKeySpec key = new SecretKeySpec(secret, ALGORITHM);
    this.macs = ThreadLocal.withInitial(() -> mac(key));
  }

  /**
   * Creates a secret from this text.
   *
   * @throws IllegalArgumentException if it is too short, or repeats one character; the message does
   *     not contain the text
   */
  public static KeySecret of(String text) {
    if (text.length() < MIN_LENGTH || text.chars().distinct().count() == 1) {
      throw new IllegalArgumentException(
          "The key secret, of %d characters, is not usable: give it %d or more random ones"
              .formatted(text.length(), MIN_LENGTH));
    }
    return new KeySecret(text.getBytes(StandardCharsets.UTF_8));
  }

  /** Creates a random secret, which no other process has. */
  public static KeySecret random() {
    byte[] secret = new byte[32];
    new SecureRandom().nextBytes(secret);
    return new KeySecret(secret);
  }

  /**
   * The tag of a state key as it is in Redis: 22 characters of base64url, equal for one subject
   * under one limit key. Without the secret the subject cannot be found from it.
   */
  public String tag(StateKey key) {
    return hidden(key.tag());
  }

  /** Equal submissions of different callers have different names. */
  String name(StateKey key) {
    return key.name().startsWith(SUBMISSION)
        ? SUBMISSION + hidden(key.tag() + ':' + key.name())
        : key.name();
  }

  private String hidden(String text) {
    byte[] mac = macs.get().doFinal(text.getBytes(StandardCharsets.UTF_8));
    return Base64.getUrlEncoder().withoutPadding().encodeToString(Arrays.copyOf(mac, BYTES));
  }

  private static Mac mac(SecretKeySpec key) {
    try {
      Mac mac = Mac.getInstance(ALGORITHM);
      mac.init(key);
      return mac;
    } catch (GeneralSecurityException impossible) {
      throw new IllegalStateException("Every Java platform has " + ALGORITHM, impossible);
    }
  }

  /** Omits the secret. */
  @Override
  public String toString() {
    return "KeySecret";
  }
}
