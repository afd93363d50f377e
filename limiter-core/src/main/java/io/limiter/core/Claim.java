// SPDX-License-Identifier: Apache-2.0
package io.limiter.core;

import java.time.Duration;

/** What a store found when a submission was to be claimed. Immutable. */
public final class Claim {

  /** What the caller may do. */
  public enum State {
    /** The submission may run: it is claimed for this caller. */
    CLAIMED,
    /** The same submission runs. */
    RUNNING,
    /** Another submission with this key runs, or was answered: its fingerprint differs. */
    DIFFERENT,
    /** The same submission was answered. */
    ANSWERED
  }

  private static final byte[] NONE = {};

  private final State state;
  private final StateKey key;
  private final byte[] token;
  private final byte[] answer;
  private final Duration left;

  private Claim(State state, StateKey key, byte[] token, byte[] answer, Duration left) {
    this.state = state;
    this.key = key;
    this.token = token;
    this.answer = answer;
    this.left = left;
  }

  /**
   * For stores: a new claim.
   *
   * @param token distinguishes this claim from every other one; it is not copied
   */
  public static Claim claimed(StateKey key, byte[] token) {
    return new Claim(State.CLAIMED, key, token, NONE, Duration.ZERO);
  }

  /** For stores: the claim of another caller with the same fingerprint. */
  public static Claim running(StateKey key, Duration left) {
    return new Claim(State.RUNNING, key, NONE, NONE, left);
  }

  /** For stores: a claim or an answer with another fingerprint. */
  public static Claim different(StateKey key) {
    return new Claim(State.DIFFERENT, key, NONE, NONE, Duration.ZERO);
  }

  /**
   * For stores: an answer with the same fingerprint.
   *
   * @param answer is not copied
   */
  public static Claim answered(StateKey key, byte[] answer, Duration left) {
    return new Claim(State.ANSWERED, key, NONE, answer, left);
  }

  public State state() {
    return state;
  }

  /** The submission. */
  public StateKey key() {
    return key;
  }

  /** A copy of the answer; empty unless the submission was answered. */
  public byte[] answer() {
    return answer.clone();
  }

  /**
   * How long the claim of the running submission lives unless it is renewed, or how long the answer
   * is still kept; zero in the other states.
   */
  public Duration left() {
    return left;
  }

  /** For stores: a copy of the token of a new claim; empty in the other states. */
  public byte[] token() {
    return token.clone();
  }

  /** Without token and answer. */
  @Override
  public String toString() {
    return "Claim[%s, %s]".formatted(state, key);
  }
}
