// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.ScriptOutputType;
import io.limiter.core.Claim;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Submission;
import io.limiter.core.Verdict;
import io.limiter.core.idempotency.IdempotencyStore;
import io.limiter.core.redis.wire.DecisionScripts;
import io.limiter.core.redis.wire.EncodedCall;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Keeps claims and answers in Redis, one value for each submission. Each operation is one script
 * within the deadline of all policies, and is never repeated.
 */
final class RedisIdempotencyStore implements IdempotencyStore {

  private static final int TOKEN_BYTES = 16;
  private static final Duration LONGEST = Duration.ofDays(366);
  private static final byte[] NONE = {};

  /** Length of a state and a time, before an answer. */
  private static final int REPLY_HEAD = 9;

  /** Length of a state and a length, before a decision and what was found. */
  private static final int PAID_HEAD = 5;

  private final RedisNodes nodes;
  private final UnitScripts units;
  private final RedisSettings settings;
  private final DecisionScripts scripts;

  /** Distinguishes the claims of this instance; read here, since it may block. */
  private final long instance = new SecureRandom().nextLong();

  private final AtomicLong claims = new AtomicLong();

  RedisIdempotencyStore(
      RedisNodes nodes, UnitScripts units, RedisSettings settings, DecisionScripts scripts) {
    this.nodes = nodes;
    this.units = units;
    this.settings = settings;
    this.scripts = scripts;
  }

  @Override
  public CompletionStage<Claim> claim(Submission submission) {
    StateKey key = submission.key();
    byte[] token = newToken();
    byte[] name = settings.name(key);
    ByteBuffer claim = ByteBuffer.allocate(TOKEN_BYTES + Submission.FINGERPRINT_BYTES);
    claim.put(token).put(submission.fingerprint());
    ScriptCall<byte[]> script =
        new ScriptCall<>(
            nodes,
            scripts.submit(),
            ScriptOutputType.VALUE,
            new byte[][] {name},
            new byte[][] {claim.array(), millis(submission.time())},
            ScriptCall.Time.of(settings.deadline(), settings));
    // Otherwise a submission that never ran would be claimed for the whole time.
    var unused =
        script
            .late()
            .thenAccept(
                reply -> {
                  if (read(key, token, name, reply).state() == Claim.State.CLAIMED) {
                    var unusedReply = release(name, token);
                  }
                });
    return script.start().thenApply(reply -> read(key, token, name, reply));
  }

  /** A token that no other claim has. */
  byte[] newToken() {
    return ByteBuffer.allocate(TOKEN_BYTES)
        .putLong(instance)
        .putLong(claims.incrementAndGet())
        .array();
  }

  private Claim read(StateKey key, byte[] token, byte[] name, byte @Nullable [] reply) {
    byte state = reply == null || reply.length == 0 ? 0 : reply[0];
    if (state == 'C') {
      return Claim.claimed(key, token);
    }
    if (state == 'D') {
      return Claim.different(key);
    }
    if (reply == null || reply.length < REPLY_HEAD || (state != 'R' && state != 'A')) {
      nodes.renew(name); // the connection is out of step
      throw new StoreException(
          FailureReason.ERROR, "Redis sent an unreadable reply to a claim", null);
    }
    Duration left = Duration.ofMillis(Math.max(0, (long) ByteBuffer.wrap(reply).getDouble(1)));
    return state == 'R'
        ? Claim.running(key, left)
        : Claim.answered(key, Arrays.copyOfRange(reply, REPLY_HEAD, reply.length), left);
  }

  /** A decision that claims the submission of its call; {@link #submitted} reads the reply. */
  ScriptCall<byte[]> submit(EncodedCall call, Submission some, byte[] token, ScriptCall.Time time) {
    byte[][] keys = new byte[1 + call.keys().length][];
    keys[0] = settings.name(some.key());
    System.arraycopy(call.keys(), 0, keys, 1, call.keys().length);
    int last = call.arguments().length;
    byte[][] arguments = Arrays.copyOf(call.arguments(), last + 2);
    ByteBuffer claim = ByteBuffer.allocate(1 + TOKEN_BYTES + Submission.FINGERPRINT_BYTES);
    if (some.isCharged()) {
      claim.put((byte) 'P');
    }
    if (!some.isCompared()) {
      claim.put(token);
    }
    claim.put(some.fingerprint());
    arguments[last] = Arrays.copyOf(claim.array(), claim.position());
    arguments[last + 1] = millis(some.time());
    return new ScriptCall<>(nodes, scripts.submit(), call, keys, arguments, time);
  }

  /**
   * Reads the reply to {@link #submit}.
   *
   * @param decision reads the decision, if there is one
   */
  Verdict submitted(
      LimitRequest request,
      byte[] token,
      byte @Nullable [] reply,
      Function<byte[], Verdict> decision) {
    StateKey key = request.submission().orElseThrow().key();
    if (reply != null && reply.length > 0 && (reply[0] == 'C' || reply[0] == 'N')) {
      Verdict decided = decision.apply(Arrays.copyOfRange(reply, 1, reply.length));
      return reply[0] == 'C' ? decided.withClaim(Claim.claimed(key, token)) : decided;
    }
    byte[] name = settings.name(key);
    if (reply != null && reply.length > PAID_HEAD && reply[0] == 'P') {
      int end = PAID_HEAD + ByteBuffer.wrap(reply).getInt(1);
      return decision
          .apply(Arrays.copyOfRange(reply, PAID_HEAD, end))
          .withClaim(read(key, token, name, Arrays.copyOfRange(reply, end, reply.length)));
    }
    return Verdict.free(request.policy()).withClaim(read(key, token, name, reply));
  }

  @Override
  public CompletionStage<Boolean> renew(Claim claim, Duration time) {
    return run(settings.name(claim.key()), arguments("renew", claim.token(), time, NONE));
  }

  @Override
  public CompletionStage<Boolean> answer(Claim claim, byte[] answer, Duration retain) {
    return run(settings.name(claim.key()), arguments("answer", claim.token(), retain, answer));
  }

  @Override
  public CompletionStage<Boolean> release(Claim claim) {
    return release(settings.name(claim.key()), claim.token());
  }

  private CompletionStage<Boolean> release(byte[] name, byte[] token) {
    return run(name, new byte[][] {ascii("release"), token});
  }

  @Override
  public CompletionStage<Void> forget(StateKey key) {
    return run(settings.name(key), new byte[][] {ascii("forget")}).thenApply(found -> null);
  }

  private CompletionStage<Boolean> run(byte[] name, byte[][] arguments) {
    return units
        .count(scripts.claims(), new byte[][] {name}, arguments)
        .thenApply(found -> found == 1);
  }

  static byte[][] arguments(String operation, byte[] token, Duration time, byte[] last) {
    return new byte[][] {ascii(operation), token, millis(time), last};
  }

  /** A time in milliseconds as text, rounded up and within the range of all times here. */
  static byte[] millis(Duration time) {
    Duration some = time.compareTo(LONGEST) < 0 ? time : LONGEST;
    long millis = TimeUnit.MILLISECONDS.convert(some.plusNanos(999_999));
    return ascii(Long.toString(Math.max(1, millis)));
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}
