// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import io.limiter.core.rule.RuleStack;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Base64;

/**
 * Names the state of one subject under one limit. Injective (each part goes into a hash with its
 * length), of fixed length whatever the parts hold, and without any of their text.
 *
 * @param tag hash of limit and subject, 22 characters of base64url; all keys of one subject under
 *     one limit share it, so that they live in one slot of a Redis Cluster
 * @param name tells the keys of one tag apart; written by this library only
 * @param breadth how many callers may stand behind the subject, as {@link Subject#breadth()} says
 */
public record StateKey(String tag, String name, int breadth) {

  private static final String ALL = "r";
  private static final String FAILURES = "f";
  private static final String SUCCESSES = "s";
  private static final String IN_FLIGHT = "i";
  private static final String WAITING = "w";

  private static final ThreadLocal<MessageDigest> SHA_256 =
      ThreadLocal.withInitial(StateKey::sha256);

  /** A key of one caller. */
  public StateKey(String tag, String name) {
    this(tag, name, Subject.ONE_CALLER);
  }

  /** The key under which rules that count all calls of a limit count a subject. */
  public static StateKey of(String limit, Subject subject) {
    return new StateKey(hash(limit, subject.kind(), subject.value()), ALL, subject.breadth());
  }

  /**
   * The key under which these rules count the same subject under the same limit. What counts all
   * calls, what counts failures, what counts successes, what is in flight and what only has calls
   * wait have one each, so that policies with one limit never give back what another has taken.
   */
  public StateKey of(RuleStack stack) {
    String own = nameOf(stack);
    return own.equals(name) ? this : new StateKey(tag, own, breadth);
  }

  private static String nameOf(RuleStack stack) {
    if (stack.lease().isPresent()) {
      return IN_FLIGHT;
    }
    if (stack.waiting().isPresent() && stack.rules().size() == 1) {
      return WAITING;
    }
    return switch (stack.counting()) {
      case ALL -> ALL;
      case FAILURES -> FAILURES;
      case SUCCESSES -> SUCCESSES;
    };
  }

  /** Checks that these rules may count by this key. */
  void requireOf(RuleStack stack) {
    boolean counts =
        name.equals(ALL)
            || name.equals(FAILURES)
            || name.equals(SUCCESSES)
            || name.equals(IN_FLIGHT)
            || name.equals(WAITING);
    if (counts && !name.equals(nameOf(stack))) {
      throw new IllegalArgumentException(
          "The rules %s count by a key of other calls, '%s': take the key from Key.of(limit, subject).of(stack)"
              .formatted(stack, name));
    }
  }

  /**
   * The key of the duplicate guard for the same limit and subject: one submission, whatever it
   * holds.
   */
  public StateKey duplicates() {
    return new StateKey(tag, "d", breadth);
  }

  /**
   * The key of the duplicate guard for one submission.
   *
   * @param submission what makes a submission the same, of any length
   */
  public StateKey duplicates(String submission) {
    return new StateKey(tag, "d." + hash(submission), breadth);
  }

  /** 128 bits of SHA-256 over the parts, each preceded by its length. */
  private static String hash(String... parts) {
    MessageDigest digest = SHA_256.get();
    for (String part : parts) {
      boolean utf8 = !hasSurrogates(part);
      byte[] bytes = utf8 ? part.getBytes(StandardCharsets.UTF_8) : utf16(part);
      int length = utf8 ? bytes.length : ~bytes.length;
      digest.update((byte) (length >>> 24));
      digest.update((byte) (length >>> 16));
      digest.update((byte) (length >>> 8));
      digest.update((byte) length);
      digest.update(bytes);
    }
    byte[] full = digest.digest();
    byte[] half = Arrays.copyOf(full, 16);
    return Base64.getUrlEncoder().withoutPadding().encodeToString(half);
  }

  private static boolean hasSurrogates(String part) {
    for (int i = 0; i < part.length(); i++) {
      if (Character.isSurrogate(part.charAt(i))) {
        return true;
      }
    }
    return false;
  }

  /** Half a surrogate pair, which JSON may bring, has no UTF-8: it would become a question mark. */
  private static byte[] utf16(String part) {
    ByteBuffer bytes = ByteBuffer.allocate(2 * part.length());
    bytes.asCharBuffer().put(part);
    return bytes.array();
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException("Every Java platform has SHA-256", impossible);
    }
  }
}
