// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.ScriptOutputType;
import io.limiter.core.Charge;
import io.limiter.core.CustomAlgorithm;
import io.limiter.core.FadingCounter;
import io.limiter.core.Key;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Verdict;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletionStage;

/**
 * An instance of the release before replies had statuses: it decides by that release's script,
 * which lies beside this class as it was, and finds out from the numbers alone whether a call was
 * admitted, as that release did.
 */
final class PreviousStore implements LimitStore {

  private static final List<CustomAlgorithm> ALGORITHMS = List.of(new FadingCounter());

  private final TestRedis redis;
  private final RedisStore units;
  private final RedisScript decide;

  /**
   * @param units gives back and renews, by scripts that are the same in both releases
   */
  PreviousStore(TestRedis redis, RedisStore units) {
    this.redis = redis;
    this.units = units;
    String own =
        "if algorithm == %d then%nread = function(now, cost, count, window, p, state)%n%send%nend%n"
            .formatted(CellCode.CUSTOM, ALGORITHMS.get(0).script());
    this.decide =
        redis.clocked(
            RedisScript.read("decide-without-status.lua").replace("--%algorithms\n", own));
    redis.commands().scriptLoad(TestRedis.bytes(decide.text()));
  }

  @Override
  public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
    EncodedStack[] stacks =
        request.allCharges().stream()
            .map(charge -> new EncodedStack(charge.stack(), ALGORITHMS, redis::clock))
            .toArray(EncodedStack[]::new);
    Charge[] charges = request.allCharges().toArray(Charge[]::new);
    EncodedCall call =
        EncodedCall.of(
            request, redis.settings(), stack -> new EncodedStack(stack, ALGORITHMS, redis::clock));
    return redis
        .connection()
        .async()
        .<byte[]>evalsha(decide.sha(), ScriptOutputType.VALUE, call.keys(), call.arguments(mode))
        .thenApply(
            bytes -> {
              DecideReply reply =
                  new DecideReply(
                      withStatuses(bytes, stacks, charges, mode), stacks, charges, mode);
              return reply.verdict(request, mode, new RedisReceipt(units, request, reply));
            });
  }

  private static byte[] withStatuses(
      byte[] bytes, EncodedStack[] stacks, Charge[] charges, Mode mode) {
    ByteBuffer old = ByteBuffer.wrap(bytes);
    ByteBuffer reply = ByteBuffer.allocate(bytes.length + stacks.length);
    for (int c = 0; c < stacks.length; c++) {
      byte[] parts = new byte[stacks[c].replyLength() - EncodedStack.STATUS];
      char status = status(old, stacks[c], charges[c], mode);
      old.get(parts);
      reply.put((byte) status).put(parts);
    }
    return reply.array();
  }

  private static char status(ByteBuffer old, EncodedStack stack, Charge charge, Mode mode) {
    int at = old.position();
    StackPart.Said[] parts = new StackPart.Said[stack.size()];
    for (int part = 0; part < parts.length; part++) {
      parts[part] = stack.part(part).read(old, at, mode, charge.cost());
      at += stack.part(part).replyLength();
    }
    if (mode == Mode.RECORD) {
      return DecideReply.ADMITTED;
    }
    if (parts[parts.length - 1].bannedFor() > 0 && !(charge.observed() && mode == Mode.ACQUIRE)) {
      return DecideReply.BANNED;
    }
    for (int rule = 0; rule < charge.stack().rules().size(); rule++) {
      if (parts[stack.partOf(rule)].left(stack.indexInPart(rule)) < charge.cost()) {
        return DecideReply.LIMITED;
      }
    }
    return DecideReply.ADMITTED;
  }

  @Override
  public CompletionStage<Void> reset(Collection<Key> keys) {
    return units.reset(keys);
  }

  /** The other instance closes what both use. */
  @Override
  public void close() {}
}
