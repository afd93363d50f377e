// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import static io.limiter.core.faults.LimiterBench.ANSWERED;
import static io.limiter.core.faults.LimiterBench.NOISE;
import static io.limiter.core.testing.SaneVerdicts.assertSane;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.Verdict;
import io.limiter.core.testing.Pauses;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Arbitrary replies: of every type of RESP, nested, too short, too long, or not RESP. Runs for some
 * seconds; the seed is the same each time, unless {@code -Dlimiter.seed} gives another.
 */
@Tag("faults")
class RandomRepliesTest {

  private static final Duration FOR = Duration.ofSeconds(Long.getLong("limiter.fuzz-seconds", 4));

  private static final List<String> FIXED =
      List.of(
          "$-1",
          "*-1",
          "_",
          "*0",
          ":42",
          ":-1",
          ":9223372036854775808",
          ":x",
          "+OK",
          "+",
          "-",
          "$x",
          ",nan",
          ",inf",
          ",-inf",
          ",1e999",
          "#t",
          "#x",
          "(123456789012345678901234567890",
          "$0\r\n",
          "$5\r\nshort",
          "=7\r\ntxt:abc",
          "!3\r\nERR",
          "%1\r\n+a\r\n+b",
          "~1\r\n:1",
          ">2\r\n+push\r\n+x",
          "*2\r\n*1\r\n$1\r\na\r\n*1\r\n:2",
          "*1\r\n*1\r\n*1\r\n*1\r\n*0",
          "$1000000\r\nnot so long",
          "*1000\r\n:1",
          "-ERR",
          "-WRONGTYPE Operation",
          "-NOSCRIPT No matching script",
          "-MOVED 1 x",
          "-ASK 1 127.0.0.1:1",
          "-MOVED 99999 127.0.0.1:1",
          "-TRYAGAIN",
          "-BUSY",
          "-OOM command",
          "-LOADING",
          "-READONLY",
          "-CLUSTERDOWN",
          "-\u0000",
          "HTTP/1.1 400 Bad Request\r\n");

  @Test
  @DisplayName("F40: random replies")
  void underRandomRepliesEveryCallIsDecidedInTimeAndTheConnectionHeals() {
    long seed = Long.getLong("limiter.seed", 20_260_102L);
    Random random = new Random(seed);
    int strange = 0;
    Pauses.watch();
    try (FaultBench bench = FaultBench.start()) {
      List<LimitRequest> calls = LimiterBench.unlikeCalls(5);
      long end = System.nanoTime() + FOR.toNanos();
      while (System.nanoTime() < end) {
        byte[] reply = reply(random);
        bench.proxy.replaceReply(reply);
        for (int i = 0; i < 2; i++) { // the reply of one may arrive for the next
          long asked = System.nanoTime();
          Verdict verdict = bench.ask(calls.get(random.nextInt(calls.size())));
          long answered = System.nanoTime();
          try {
            assertSane(verdict);
            if (answered - asked > ANSWERED.toNanos()) {
              assertThat(Pauses.without(asked, answered)).isLessThan(ANSWERED.multipliedBy(NOISE));
            }
          } catch (AssertionError e) {
            fail("Seed %d, reply '%s'".formatted(seed, text(reply)), e);
          }
          strange += verdict.decidedBy() == DecidedBy.FALLBACK ? 1 : 0;
        }
        if (bench.proxy.armed()) { // no command is sent while the breaker is open
          LimiterBench.pass(Duration.ofMillis(20));
        }
      }
      bench.proxy.pass();
      bench.assertHeals();
    }
    assertThat(strange).as("decided by the fallback").isGreaterThan(10);
  }

  private static byte[] reply(Random random) {
    return switch (random.nextInt(4)) {
      case 0 -> bytes(random, 1 + random.nextInt(60));
      case 1 -> bulk(likeTheRightOne(random));
      case 2 -> bulk(bytes(random, random.nextInt(60)));
      default ->
          (FIXED.get(random.nextInt(FIXED.size())) + "\r\n").getBytes(StandardCharsets.US_ASCII);
    };
  }

  /** As long as a valid one, with the status of a call that is admitted or limited. */
  private static byte[] likeTheRightOne(Random random) {
    byte[] reply = bytes(random, 29);
    reply[0] = (byte) (random.nextBoolean() ? 'A' : 'L');
    return reply;
  }

  private static byte[] bytes(Random random, int length) {
    byte[] bytes = new byte[length];
    random.nextBytes(bytes);
    return bytes;
  }

  private static byte[] bulk(byte[] content) {
    String text = "$" + content.length + "\r\n" + text(content) + "\r\n";
    return text.getBytes(StandardCharsets.ISO_8859_1);
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.ISO_8859_1);
  }
}
