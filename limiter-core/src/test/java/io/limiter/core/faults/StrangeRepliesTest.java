// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import static io.limiter.core.faults.FaultAssertions.assertAnsweredInTime;
import static io.limiter.core.faults.FaultAssertions.assertEachGotItsOwnReply;
import static io.limiter.core.faults.FaultAssertions.fromStore;
import static io.limiter.core.faults.FaultAssertions.reasons;
import static io.limiter.core.faults.FaultBench.unlikeCalls;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Collection;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Replies that Redis would not send, or not as often. */
@Tag("faults")
class StrangeRepliesTest {

  @ParameterizedTest(name = "F40: {0}")
  @ValueSource(
      strings = {
        "HTTP/1.1 400 Bad Request\r\n\r\n",
        "garbage",
        "$5\r\nshort\r\n",
        "$-1\r\n",
        ":42\r\n",
        "*2\r\n:1\r\n:2\r\n",
        "%1\r\n+a\r\n+b\r\n",
        "-\r\n",
        "+OK\r\n"
      })
  void anInvalidReplyIsAnErrorAndTheConnectionHeals(String text) {
    try (FaultBench bench = FaultBench.start()) {
      bench.proxy.replaceReplyAfter(3, text);
      Collection<TimedVerdict> answers =
          Load.during(Duration.ofMillis(200), bench.limiter, unlikeCalls(5), 200);
      bench.assertHeals();
      Collection<TimedVerdict> later =
          Load.during(Duration.ofMillis(200), bench.limiter, unlikeCalls(5), 200);

      assertThat(reasons(answers)).isNotEmpty();
      assertAnsweredInTime(answers);
      assertEachGotItsOwnReply(answers);
      assertEachGotItsOwnReply(later);
      assertThat(fromStore(later)).isNotEmpty();
    }
  }
}
