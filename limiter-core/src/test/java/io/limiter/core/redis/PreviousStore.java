// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.ScriptOutputType;
import io.limiter.core.FadingCounter;
import io.limiter.core.LimitRequest;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import io.limiter.core.redis.wire.DecideReply;
import io.limiter.core.redis.wire.DecisionScripts.RedisScript;
import io.limiter.core.redis.wire.EncodedCall;
import io.limiter.core.redis.wire.EncodedStack;
import io.limiter.core.rule.CustomAlgorithm;
import io.limiter.core.state.CellAlgorithm;
import io.limiter.core.store.LimitStore;
import io.limiter.core.store.Mode;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.zip.CRC32;

/**
 * An instance of the release in which cells had no descriptions, and those of other rules were
 * dropped. It decides by that release's script, which is stored unchanged beside this class.
 */
public final class PreviousStore implements LimitStore {

  private static final int PREAMBLE = 16;
  private static final List<CustomAlgorithm> ALGORITHMS = List.of(new FadingCounter());

  private final TestRedis redis;
  private final RedisStore units;
  private final RedisScript decide;

  /**
   * @param units gives back and renews
   */
  public PreviousStore(TestRedis redis, RedisStore units) {
    this.redis = redis;
    this.units = units;
    String own =
        "if algorithm == %s then%nread = function(now, cost, count, window, p, state)%n%send%nend%n"
            .formatted(CellAlgorithm.CUSTOM.number(), ALGORITHMS.get(0).script());
    this.decide =
        redis.clocked(
            withPresentPlan(RedisScript.read("decide-before.lua")).replace("--%algorithms\n", own));
    redis.commands().scriptLoad(TestRedis.bytes(decide.text()));
  }

  /**
   * The plan of a bucket contained a time after which that release discarded a subject, too early
   * for one that called rarely. The script gets a present plan here, without that time.
   */
  private static String withPresentPlan(String script) {
    String known = "last >= 0 and last <= now";
    String present =
        script
            .replace(
                "owed, forget = unpack('>Bddddd', plan, p)", "owed = unpack('>Bdddd', plan, p)")
            .replace(
                "p, at = p + 41, at + 16\n    local known",
                "p, at = p + 33, at + 16\n    local known")
            .replace(known + " and now - last < forget", known)
            .replace(
                "local ttl = lives and lives[i] or ARGV[2 * i]",
                "local ttls, arguments = lives, ARGV\nlocal ttl = " + TestRedis.LIFE);
    assertThat(present).doesNotContain("forget");
    return present;
  }

  @Override
  public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
    EncodedCall call =
        EncodedCall.of(
            request,
            mode,
            redis.settings()::name,
            stack -> new EncodedStack(stack, ALGORITHMS, redis::clock));
    byte[][] arguments = call.arguments();
    for (int i = 0; i < call.size(); i++) {
      arguments[2 * i] = asItWas(arguments[2 * i]);
    }
    return redis
        .connection()
        .async()
        .<byte[]>evalsha(decide.sha(), ScriptOutputType.VALUE, call.keys(), arguments)
        .thenApply(
            bytes -> {
              DecideReply reply = call.read(bytes);
              return reply.verdict(request, mode, new RedisReservation(units, request, reply));
            });
  }

  /** A plan whose cells include none that describes the others, with fingerprints as they were. */
  private static byte[] asItWas(byte[] plan) {
    ByteBuffer now = ByteBuffer.wrap(plan);
    int cells = plan[5] & 15;
    int logs = (plan[5] & 255) >> 4;
    if (logs > 0) {
      plan = plan.clone();
      now = ByteBuffer.wrap(plan);
      CRC32 crc = new CRC32();
      crc.update(plan, PREAMBLE, 16 * logs);
      now.putInt(10, (int) crc.getValue()).putInt(PREAMBLE + 16 * logs, (int) crc.getValue());
      if (cells == 0) {
        now.putInt(6, (int) crc.getValue());
      }
    }
    if (cells == 0) {
      return plan;
    }
    int at = PREAMBLE + (logs == 0 ? 0 : 20 * logs + 37);
    int length = now.getShort(14) - 13 - 8 * cells;
    byte[] unused = new byte[length];
    now.get(at, unused, 0, 24);
    now.get(at + 29, unused, 24, 5 * cells);
    int numbers = length - 24 - 5 * cells;
    now.get(at + 37 + 13 * cells, unused, 24 + 5 * cells, numbers);
    int mark = ByteBuffer.wrap(unused).getInt(4) - 1;
    ByteBuffer.wrap(unused).putInt(0, 0).putInt(4, (1 << 31) + cells);
    CRC32 crc = new CRC32();
    crc.update(unused, 0, 24 + 5 * cells);
    ByteBuffer.wrap(unused).putInt(0, (int) crc.getValue()).putInt(4, mark);
    int behind = at + now.getShort(14);
    return ByteBuffer.allocate(at + length + plan.length - behind)
        .put(plan, 0, at)
        .put(unused)
        .put(plan, behind, plan.length - behind)
        .putInt(6, (int) crc.getValue())
        .putShort(14, (short) length)
        .array();
  }

  @Override
  public CompletionStage<Void> reset(Collection<StateKey> keys) {
    return units.reset(keys);
  }

  /** The other instance closes the shared connections. */
  @Override
  public void close() {}
}
