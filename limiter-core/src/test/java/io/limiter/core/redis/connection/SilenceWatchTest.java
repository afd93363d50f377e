// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.testing.RecordedLog;
import io.netty.channel.embedded.EmbeddedChannel;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class SilenceWatchTest {

  private EmbeddedChannel channel;

  @BeforeEach
  void open() {
    channel =
        new EmbeddedChannel() {
          @Override
          protected SocketAddress remoteAddress0() {
            return InetSocketAddress.createUnresolved("redis.example", 6379);
          }
        };
    channel.freezeTime();
    channel.pipeline().addFirst(new SilenceWatch());
    channel.pipeline().fireChannelActive();
  }

  @AfterEach
  void close() {
    channel.finishAndReleaseAll();
  }

  @Test
  void aNodeThatDoesNotAnswerIsLeft() {
    channel.writeOutbound("question");

    pass(2_500);
    assertThat(channel.isOpen()).isTrue();
    pass(500);
    assertThat(channel.isOpen()).isFalse();
  }

  @Test
  void itsMessageHasTheAddress() {
    try (RecordedLog log = RecordedLog.of(SilenceWatch.class)) {
      channel.writeOutbound("question");
      pass(3_000);

      assertThat(log.messages())
          .containsExactly(
              "Redis at redis.example:6379 has been silent for 2500 ms: closing the connection and opening another");
    }
  }

  @Test
  void aNodeThatIsNotAskedMayStaySilent() {
    pass(60_000);

    assertThat(channel.isOpen()).isTrue();
  }

  @Test
  void aNodeThatAnswersInTimeIsNotLeft() {
    for (int i = 0; i < 20; i++) {
      channel.writeOutbound("question");
      pass(2_000);
      channel.writeInbound("answer");
    }

    pass(60_000);
    assertThat(channel.isOpen()).isTrue();
  }

  @Test
  void askingAgainAndAgainIsNoAnswer() {
    for (int i = 0; i < 30; i++) {
      channel.writeOutbound("question");
      pass(100);
    }

    assertThat(channel.isOpen()).isFalse();
  }

  @Test
  void aPauseOfThisProcessIsNoSilence() {
    channel.writeOutbound("question");
    channel.advanceTimeBy(10_000, TimeUnit.MILLISECONDS);
    pass(2_000);
    assertThat(channel.isOpen()).isTrue();

    pass(1_000);
    assertThat(channel.isOpen()).isFalse();
  }

  private void pass(long millis) {
    for (long passed = 0; passed < millis; passed += 100) {
      channel.advanceTimeBy(100, TimeUnit.MILLISECONDS);
      channel.runScheduledPendingTasks();
    }
  }
}
