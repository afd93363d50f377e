// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.limiter.core.StateKey;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * A secret that the names of keys in Redis are made with. A {@link StateKey} is a hash of who is
 * counted, and an address or a telephone number is found from its hash by trying them all; without
 * the secret there is nothing to try against, nor can a caller tell which slot of a Cluster he will
 * be counted in. All instances that share limits need the same one.
 *
 * <p>Names are 128 bits of HMAC-SHA-256 of what they would be without, so they are as long, and the
 * keys of one subject under one limit still share their tag.
 */
public final class KeySecret {

  /** The fewest characters: 16 of a random text cannot be tried out. */
  public static final int MIN_LENGTH = 16;

  private static final String ALGORITHM = "HmacSHA256";

  /** As many characters as {@link StateKey#tag()} has. */
  private static final int BYTES = 16;

  /** What the name of a submission begins with; the others say nothing of a call. */
  private static final String SUBMISSION = "d.";

  private final ThreadLocal<Mac> macs;

  private KeySecret(byte[] secret) {
    SecretKeySpec key = new SecretKeySpec(secret, ALGORITHM);
    this.macs = ThreadLocal.withInitial(() -> mac(key));
  }

  /**
   * A secret of this text.
   *
   * @throws IllegalArgumentException if it is too short, or one character over and over; the
   *     message does not tell it
   */
  public static KeySecret of(String text) {
    if (text.length() < MIN_LENGTH || text.chars().distinct().count() == 1) {
      throw new IllegalArgumentException(
          "The key secret, of %d characters, is not usable: give it %d or more random ones"
              .formatted(text.length(), MIN_LENGTH));
    }
    return new KeySecret(text.getBytes(StandardCharsets.UTF_8));
  }

  String tag(StateKey key) {
    return hidden(key.tag());
  }

  /** Equal submissions of different callers have different names. */
  String name(StateKey key) {
    return key.name().startsWith(SUBMISSION)
        ? SUBMISSION + hidden(key.tag() + ':' + key.name())
        : key.name();
  }

  private String hidden(String text) {
    byte[] whole = macs.get().doFinal(text.getBytes(StandardCharsets.UTF_8));
    return Base64.getUrlEncoder().withoutPadding().encodeToString(Arrays.copyOf(whole, BYTES));
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

  /** Without the secret. */
  @Override
  public String toString() {
    return "KeySecret";
  }
}
