// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import java.time.Duration;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A submission that is claimed with the decision on its call, see {@link LimitRequest#submitting}.
 * Immutable.
 */
public final class Submission {

  /** Length of a fingerprint in bytes: that of SHA-256. */
  public static final int FINGERPRINT_BYTES = 32;

  private final StateKey key;
  private final byte[] fingerprint;
  private final Duration time;
  private final Kind kind;

  /** How a repetition is decided. */
  private enum Kind {
    FREE,
    CHARGED,
    COMPARED
  }

  /**
   * @param key the submission, see {@link StateKey#answers}
   * @param fingerprint 32 bytes: SHA-256 of what must be the same in a repetition
   * @param time how long the claim lives unless it is renewed
   * @throws IllegalArgumentException if the fingerprint has another length
   */
  public Submission(StateKey key, byte[] fingerprint, Duration time) {
    this(key, fingerprint, time, Kind.FREE);
  }

  /**
   * Returns a submission that is only compared: it is not claimed, and a repetition is decided like
   * any call. Another submission with its key is {@link Claim.State#DIFFERENT}, and is not decided.
   *
   * @param time how long the fingerprint is kept
   * @throws IllegalArgumentException if the fingerprint has another length
   */
  public static Submission compared(StateKey key, byte[] fingerprint, Duration time) {
    return new Submission(key, fingerprint, time, Kind.COMPARED);
  }

  /**
   * Returns this submission, whose repetitions are decided like first calls: an admitted one takes
   * its units, and its verdict has what was found. Not for one that is only compared.
   */
  public Submission charged() {
    return new Submission(key, fingerprint, time, Kind.CHARGED);
  }

  private Submission(StateKey key, byte[] fingerprint, Duration time, Kind kind) {
    if (fingerprint.length != FINGERPRINT_BYTES) {
      throw new IllegalArgumentException(
          "A fingerprint of %s bytes: use %s, a SHA-256"
              .formatted(fingerprint.length, FINGERPRINT_BYTES));
    }
    this.key = key;
    this.fingerprint = fingerprint.clone();
    this.time = time;
    this.kind = kind;
  }

  public StateKey key() {
    return key;
  }

  /** A copy. */
  public byte[] fingerprint() {
    return fingerprint.clone();
  }

  public Duration time() {
    return time;
  }

  /** Whether it is only compared, see {@link #compared(StateKey, byte[], Duration)}. */
  public boolean isCompared() {
    return kind == Kind.COMPARED;
  }

  /** Whether its repetitions are charged, see {@link #charged()}. */
  public boolean isCharged() {
    return kind == Kind.CHARGED;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof Submission that
        && key.equals(that.key)
        && time.equals(that.time)
        && kind == that.kind
        && Arrays.equals(fingerprint, that.fingerprint);
  }

  @Override
  public int hashCode() {
    return 31 * key.hashCode() + Arrays.hashCode(fingerprint);
  }

  /** Without the fingerprint. */
  @Override
  public String toString() {
    return "Submission[%s]".formatted(key);
  }
}
