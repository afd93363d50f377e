// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandType;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.netty.channel.ChannelFuture;
import io.netty.channel.embedded.EmbeddedChannel;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class UnansweredBoundTest {

  private final Queue<Object> unanswered = new ArrayDeque<>(List.of("first", "second"));
  private final EmbeddedChannel channel = new EmbeddedChannel(new UnansweredBound(unanswered, 2));

  @AfterEach
  void close() {
    channel.finishAndReleaseAll();
  }

  @Test
  void aCommandTooManyIsRefusedAndNotSent() {
    AsyncCommand<String, String, String> command = ping();

    channel.writeOneOutbound(command);

    assertThat(channel.outboundMessages()).isEmpty();
    assertThat(command)
        .isCompletedExceptionally()
        .failsWithin(Duration.ZERO)
        .withThrowableThat()
        .havingCause()
        .isInstanceOfSatisfying(
            StoreException.class,
            refused -> assertThat(refused.reason()).isEqualTo(FailureReason.OVERLOADED));
  }

  /** Else Lettuce would log it. */
  @Test
  void toRefuseIsNoFailureOfTheChannel() {
    ChannelFuture written = channel.writeOneOutbound(ping());

    assertThat(written.isSuccess()).isTrue();
  }

  @Test
  void anAnswerMakesRoom() {
    unanswered.remove();
    AsyncCommand<String, String, String> command = ping();

    channel.writeOutbound(command);

    assertThat(channel.outboundMessages()).containsExactly(command);
    assertThat(command).isNotDone();
  }

  private static AsyncCommand<String, String, String> ping() {
    return new AsyncCommand<>(
        new Command<>(CommandType.PING, new StatusOutput<>(StringCodec.UTF8)));
  }
}
