// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import io.limiter.core.rule.RuleStack;
import io.limiter.core.util.Sha256;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Base64;

/**
 * Names the state of one subject under one limit key. Injective (each part is hashed with its
 * length), of fixed length, and without any text of the parts.
 *
 * @param tag hash of limit key and subject, 22 characters of base64url; all state keys of one
 *     subject under one limit key share it, so that they are in one slot of a Redis Cluster
 * @param name distinguishes the state keys of one tag; set by this library only
 * @param breadth how many callers the subject may stand for, see {@link Subject#breadth()}
 */
public record StateKey(String tag, String name, int breadth) {

  /** The letters of {@link RuleStack#kind()}. */
  private static final String KINDS = "rfsiw";

  private static final int LENGTH_BYTES = 4;

  /** Parts of this length together are hashed at once. */
  private static final int BUFFERED = 256;

  private static final int HASHED_BYTES = 16;
  private static final int CHARACTERS = 22;
  private static final Base64.Encoder ENCODER = Base64.getUrlEncoder();

  // A state key is made for each call, with as few objects as possible.
  private static final ThreadLocal<MessageDigest> DIGEST = ThreadLocal.withInitial(Sha256::digest);
  private static final ThreadLocal<byte[]> BUFFER =
      ThreadLocal.withInitial(() -> new byte[BUFFERED]);

  /** A state key of a single caller. */
  public StateKey(String tag, String name) {
    this(tag, name, Subject.ONE_CALLER);
  }

  /**
   * Written by hand because a string caches its hash and the generated method starts more slowly.
   */
  @Override
  public int hashCode() {
    return 31 * (31 * tag.hashCode() + name.hashCode()) + breadth;
  }

  /**
   * Returns the base key of a subject. {@link #of(RuleStack)} and the other methods only change its
   * name. It is also the key of the subject's ban under rules that count all calls.
   */
  public static StateKey of(String limit, Subject subject) {
    return new StateKey(hash(limit, subject.kind(), subject.value()), "r", subject.breadth());
  }

  /**
   * Returns the state key for these rules, with the same subject and limit key: one for each kind
   * of calls and shape of rules, see {@link RuleStack#name()}.
   */
  public StateKey of(RuleStack stack) {
    return stack.name().equals(name) ? this : new StateKey(tag, stack.name(), breadth);
  }

  /** Returns the state key of the subject's ban: one for each kind of calls. */
  public StateKey ban() {
    return name.length() <= 1 ? this : new StateKey(tag, name.substring(0, 1), breadth);
  }

  /** Whether this key and another belong to one subject, limit key and kind of calls. */
  boolean countsAlike(StateKey other) {
    return tag.equals(other.tag)
        && (name.equals(other.name) || (isOfRules() && name.charAt(0) == other.name.charAt(0)));
  }

  private boolean isOfRules() {
    return !name.isEmpty()
        && KINDS.indexOf(name.charAt(0)) >= 0
        && (name.length() == 1 || name.charAt(1) == '.');
  }

  /** Checks that these rules may use this state key. */
  void requireOf(RuleStack stack) {
    if (isOfRules() && !name.equals(stack.name())) {
      throw new IllegalArgumentException(
          "The rules %s cannot use the state key '%s', which is for other rules: use StateKey.of(limit, subject).of(stack)"
              .formatted(stack, name));
    }
  }

  /**
   * The state key of the duplicate guard for the same limit key and subject, if every call is the
   * same submission.
   */
  public StateKey duplicates(RuleStack guard) {
    return new StateKey(tag, "d" + shape(guard), breadth);
  }

  /**
   * The state key of the duplicate guard for one submission.
   *
   * @param submission identifies the submission; any length
   */
  public StateKey duplicates(RuleStack guard, String submission) {
    return new StateKey(tag, "d." + hash(submission) + shape(guard), breadth);
  }

  /**
   * The state key under which the same limit key and subject have the answer of one submission.
   *
   * @param submission identifies the submission; any length
   */
  public StateKey answers(String submission) {
    return new StateKey(tag, "a." + hash(submission), breadth);
  }

  private static String shape(RuleStack guard) {
    return guard.name().substring(1);
  }

  /** 128 bits of SHA-256 over the parts, each preceded by its length. */
  private static String hash(String... parts) {
    MessageDigest digest = DIGEST.get();
    byte[] buffer = BUFFER.get();
    int filled = 0;
    for (String part : parts) {
      int begin = filled + LENGTH_BYTES;
      if (begin + part.length() <= BUFFERED && isAscii(part, buffer, begin)) {
        writeLength(part.length(), buffer, filled);
        filled = begin + part.length();
        continue;
      }
      digest.update(buffer, 0, filled);
      boolean utf8 = !hasSurrogates(part);
      byte[] bytes = utf8 ? part.getBytes(StandardCharsets.UTF_8) : utf16(part);
      writeLength(utf8 ? bytes.length : ~bytes.length, buffer, 0);
      digest.update(buffer, 0, LENGTH_BYTES);
      digest.update(bytes);
      filled = 0;
    }
    digest.update(buffer, 0, filled);
    byte[] hash = digest.digest();
    hash[HASHED_BYTES] = 0; // pads the last character with four bits
    var unused = ENCODER.encode(hash, buffer);
    return new String(buffer, 0, CHARACTERS, StandardCharsets.ISO_8859_1);
  }

  /** Whether a part is ASCII; if so, it is in the buffer. */
  private static boolean isAscii(String part, byte[] buffer, int begin) {
    for (int i = 0; i < part.length(); i++) {
      char c = part.charAt(i);
      if (c >= 0x80) {
        return false;
      }
      buffer[begin + i] = (byte) c;
    }
    return true;
  }

  private static void writeLength(int length, byte[] buffer, int at) {
    buffer[at] = (byte) (length >>> 24);
    buffer[at + 1] = (byte) (length >>> 16);
    buffer[at + 2] = (byte) (length >>> 8);
    buffer[at + 3] = (byte) length;
  }

  private static boolean hasSurrogates(String part) {
    for (int i = 0; i < part.length(); i++) {
      if (Character.isSurrogate(part.charAt(i))) {
        return true;
      }
    }
    return false;
  }

  /**
   * An unpaired surrogate, which JSON may contain, has no UTF-8 encoding: it would be replaced by a
   * question mark.
   */
  private static byte[] utf16(String part) {
    ByteBuffer bytes = ByteBuffer.allocate(2 * part.length());
    bytes.asCharBuffer().put(part);
    return bytes.array();
  }
}
