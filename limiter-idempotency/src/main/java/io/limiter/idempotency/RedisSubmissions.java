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
 * all policies, and is never repeated here.
 */
final class RedisSubmissions implements SubmissionStore {

  private static final byte[] UNKNOWN = new byte[Fingerprints.BYTES];

  /** Length of a state and a time, before the fingerprint of a body. */
  private static final int REPLY_HEAD = 9;

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
    byte[] content =
        ByteBuffer.allocate(Claim.TOKEN_BYTES + 2 * Fingerprints.BYTES)
            .put(claim.token())
            .put(claim.head())
            .put(body(claim))
            .array();
    return redis.run(
        CLAIM, keys(claim.key()), new byte[][] {content, millis(time)}, RedisSubmissions::found);
  }

  private static Found found(byte[] reply) {
    char state = reply.length == 0 ? 0 : (char) reply[0];
    return switch (state) {
      case 'C' -> Found.of(Found.Kind.CLAIMED);
      case 'X' -> Found.of(Found.Kind.DIFFERENT);
      case 'R' -> found(Found.Kind.RUNNING, reply);
      case 'A' -> found(Found.Kind.ANSWERED, reply);
      case 'D' -> found(Found.Kind.DONE, reply);
      default -> throw strange(reply);
    };
  }

  private static Found found(Found.Kind kind, byte[] reply) {
    int end = REPLY_HEAD + Fingerprints.BYTES;
    if (reply.length < end) {
      throw strange(reply);
    }
    byte[] body = Arrays.copyOfRange(reply, REPLY_HEAD, end);
    return new Found(
        kind,
        Arrays.equals(body, UNKNOWN) ? Entry.NONE : body,
        Arrays.copyOfRange(reply, end, reply.length),
        Duration.ofMillis(Math.max(0, (long) ByteBuffer.wrap(reply).getDouble(1))));
  }

  private static IllegalArgumentException strange(byte[] reply) {
    return new IllegalArgumentException("A reply of %s bytes".formatted(reply.length));
  }

  @Override
  public CompletionStage<Boolean> renew(Claim claim, Duration time) {
    return redis.run(
        RENEW,
        keys(claim.key()),
        new byte[][] {claim.token(), millis(time), body(claim)},
        reply -> kept(reply) == Entry.Kept.KEPT);
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
    StateKey bucket = new StateKey(claim.key().tag(), "ib");
    return redis.run(
        END,
        new byte[][] {redis.name(claim.key()), redis.name(bucket)},
        new byte[][] {
          claim.token(), ending, millis(time), body(claim), end.answer(), bytesOfSubject
        },
        RedisSubmissions::kept);
  }

  private static Entry.Kept kept(byte[] reply) {
    char state = reply.length == 1 ? (char) reply[0] : 0;
    return switch (state) {
      case 'K' -> Entry.Kept.KEPT;
      case 'F' -> Entry.Kept.AS_DONE;
      case 'L' -> Entry.Kept.LOST;
      default -> throw strange(reply);
    };
  }

  @Override
  public CompletionStage<Void> forget(StateKey key) {
    return redis.run(FORGET, keys(key), new byte[0][], reply -> null);
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
