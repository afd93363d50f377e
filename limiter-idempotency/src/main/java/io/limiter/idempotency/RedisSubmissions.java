// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.limiter.core.StateKey;
import io.limiter.core.redis.RedisScripts;
import io.limiter.core.redis.RedisScripts.Script;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletionStage;

/**
 * Keeps submissions in Redis, one value for each. Each command is one script within the deadline of
 * all policies, and is never repeated here. While the breaker is open, nothing is claimed; renewals
 * and ends are sent all the same, since a claim lives for a short time.
 */
final class RedisSubmissions implements SubmissionStore {

  private static final byte[] UNKNOWN = new byte[Fingerprints.BYTES];

  /** Where a reply has its letter: behind the token. */
  private static final int LETTER = Claim.TOKEN_BYTES;

  /** Where the reply to a claim has a time, and the fingerprint of a body. */
  private static final int TIME = LETTER + 1;

  private static final int BODY = TIME + Double.BYTES;

  private static final Script CLAIM = Script.load(RedisSubmissions.class, "claim.lua");
  private static final Script RENEW = Script.load(RedisSubmissions.class, "renew.lua");
  private static final Script END = Script.load(RedisSubmissions.class, "end.lua");
  private static final Script FORGET = Script.load(RedisSubmissions.class, "forget.lua");

  private final RedisScripts redis;
  private final byte[] bytesOfSubject;

  /**
   * @param bytesOfSubject how many bytes of answers a subject may have; for a short time it may
   *     have twice as many
   */
  RedisSubmissions(RedisScripts redis, long bytesOfSubject) {
    this.redis = redis;
    this.bytesOfSubject = ascii(Long.toString(bytesOfSubject));
  }

  @Override
  public CompletionStage<Found> claim(Claim claim, Duration time) {
    return ask(claim, millis(time));
  }

  @Override
  public CompletionStage<Found> look(Claim claim) {
    return ask(claim, Entry.NONE);
  }

  /**
   * @param time to live of the claim; none to look only
   */
  private CompletionStage<Found> ask(Claim claim, byte[] time) {
    byte[] content =
        ByteBuffer.allocate(Claim.TOKEN_BYTES + 2 * Fingerprints.BYTES)
            .put(claim.token())
            .put(claim.head())
            .put(body(claim))
            .array();
    return redis.run(
        CLAIM,
        keys(claim.key()),
        new byte[][] {content, time},
        reply -> found(letter(claim, reply), reply));
  }

  /** The letter of a reply, which is surely the reply to a command of this claim. */
  private static char letter(Claim claim, byte[] reply) {
    int end = Claim.TOKEN_BYTES;
    if (reply.length <= LETTER || !Arrays.equals(reply, 0, end, claim.token(), 0, end)) {
      throw strange(reply);
    }
    return (char) reply[LETTER];
  }

  private static Found found(char letter, byte[] reply) {
    return switch (letter) {
      case 'C' -> Found.of(Found.Kind.CLAIMED);
      case 'N' -> Found.of(Found.Kind.ABSENT);
      case 'X' -> Found.of(Found.Kind.DIFFERENT);
      case 'R' -> found(Found.Kind.RUNNING, reply);
      case 'A' -> found(Found.Kind.ANSWERED, reply);
      case 'L' -> found(Found.Kind.UNREAD, reply);
      case 'D' -> found(Found.Kind.DONE, reply);
      default -> throw strange(reply);
    };
  }

  private static Found found(Found.Kind kind, byte[] reply) {
    int end = BODY + Fingerprints.BYTES;
    if (reply.length < end) {
      throw strange(reply);
    }
    byte[] body = Arrays.copyOfRange(reply, BODY, end);
    return new Found(
        kind,
        Arrays.equals(body, UNKNOWN) ? Entry.NONE : body,
        Arrays.copyOfRange(reply, end, reply.length),
        Duration.ofMillis(Math.max(0, (long) ByteBuffer.wrap(reply).getDouble(TIME))));
  }

  private static IllegalArgumentException strange(byte[] reply) {
    return new IllegalArgumentException("A reply of %s bytes".formatted(reply.length));
  }

  @Override
  public CompletionStage<Boolean> renew(Claim claim, Duration time) {
    return redis.runPastBreaker(
        RENEW,
        keys(claim.key()),
        new byte[][] {claim.token(), millis(time), body(claim)},
        reply ->
            switch (letter(claim, reply)) {
              case 'H' -> true;
              case 'L' -> false;
              default -> throw strange(reply);
            });
  }

  @Override
  public CompletionStage<Entry.Kept> end(Claim claim, End end, Duration time) {
    byte[] ending = {
      (byte)
          switch (end.kind()) {
            case ANSWER -> 'A';
            case DONE -> 'D';
            case RELEASE -> 'F';
          }
    };
    StateKey bucket = bucket(claim.key().tag(), time);
    return redis.runPastBreaker(
        END,
        new byte[][] {redis.name(claim.key()), redis.name(bucket)},
        new byte[][] {
          claim.token(), ending, millis(time), body(claim), end.answer(), bytesOfSubject
        },
        reply ->
            switch (letter(claim, reply)) {
              case 'K' -> Entry.Kept.KEPT;
              case 'F' -> Entry.Kept.AS_DONE;
              case 'P' -> Entry.Kept.FORBIDDEN;
              case 'G' -> Entry.Kept.LOST;
              default -> throw strange(reply);
            });
  }

  @Override
  public CompletionStage<Void> forget(StateKey key) {
    return redis.run(FORGET, keys(key), new byte[0][], reply -> null);
  }

  /** One for each time: in that of a longer time, no answer of a shorter one would have room. */
  static StateKey bucket(String subject, Duration time) {
    return new StateKey(subject, "ib." + MemorySubmissions.millis(time));
  }

  private byte[][] keys(StateKey key) {
    return new byte[][] {redis.name(key)};
  }

  private static byte[] body(Claim claim) {
    return claim.body().length == 0 ? UNKNOWN : claim.body();
  }

  private static byte[] millis(Duration time) {
    return ascii(Long.toString(MemorySubmissions.millis(time)));
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}
