// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import static org.assertj.core.api.Assertions.assertThat;

import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.protocol.CommandWrapper;
import io.lettuce.core.protocol.RedisCommand;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.wire.DecisionBatching;
import io.limiter.core.redis.wire.DecisionScripts.RedisScript;
import io.limiter.core.redis.wire.EncodedCall;
import io.limiter.core.redis.wire.EncodedStack;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.limiter.core.util.BoundedCache;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A channel whose clock and event loop the test drives separately. */
class UnansweredCommandsTest {

  private static final int MOST = 3;

  private static final DecisionBatching BATCHING =
      new DecisionBatching(RedisScript.of("decide"), RedisScript.of("batch"), 16, () -> false);
  private final AtomicLong nanos = new AtomicLong(17);
  private final Queue<RedisCommand<?, ?, ?>> unanswered = new ArrayDeque<>();
  private final UnansweredCommands bound =
      new UnansweredCommands(unanswered, MOST, false, nanos::get);
  private final EmbeddedChannel channel =
      new EmbeddedChannel(new Lettuce(), bound, new ChannelInboundHandlerAdapter());
  private final List<String> ends = new ArrayList<>();

  UnansweredCommandsTest() {
    channel.freezeTime();
  }

  /** Keeps what is written, as Lettuce's own handler does. */
  private final class Lettuce extends ChannelOutboundHandlerAdapter {
    @Override
    public void write(ChannelHandlerContext context, Object message, ChannelPromise promise)
        throws Exception {
      unanswered.add((RedisCommand<?, ?, ?>) message);
      super.write(context, message, promise);
    }
  }

  @AfterEach
  void close() {
    channel.finishAndReleaseAll();
  }

  @Test
  void aCommandAboveTheBoundIsRejectedAndNotSent() {
    fill();
    AsyncCommand<String, String, String> command = ping();

    channel.writeOneOutbound(command);

    assertThat(unanswered).hasSize(MOST).doesNotContain(command);
    assertThat(command)
        .isCompletedExceptionally()
        .failsWithin(Duration.ZERO)
        .withThrowableThat()
        .havingCause()
        .isInstanceOfSatisfying(
            StoreException.class,
            failure -> assertThat(failure.reason()).isEqualTo(FailureReason.OVERLOADED));
  }

  /** Otherwise Lettuce would log it. */
  @Test
  void aRejectionIsNoFailureOfTheChannel() {
    fill();

    ChannelFuture written = channel.writeOneOutbound(ping());

    assertThat(written.isSuccess()).isTrue();
  }

  @Test
  void anAnswerMakesRoom() {
    fill();
    unanswered.remove();
    AsyncCommand<String, String, String> command = ping();

    channel.writeOutbound(command);

    assertThat(unanswered).contains(command);
    assertThat(command).isNotDone();
  }

  @Test
  void aSilentRedisIsLateAtTheDeadlineAndNotBefore() {
    send(waiting(100, 2_000));

    run(99);
    assertThat(ends).isEmpty();
    run(10);

    assertThat(ends).containsExactly("redis");
  }

  @Test
  void theShortestDeadlineEndsWithinTwoTicks() {
    send(waiting(1, 2_000));

    run(10);

    assertThat(ends).containsExactly("redis");
  }

  @Test
  void eachCommandHasItsOwnDeadline() {
    send(waiting(100, 2_000));
    send(waiting(20, 2_000));

    run(30);
    assertThat(ends).containsExactly("redis");
    run(80);

    assertThat(ends).containsExactly("redis", "redis");
  }

  @Test
  void anAnswerEndsTheWait() {
    TimedCommand<String, String, String> command = send(waiting(100, 2_000));
    run(50);
    unanswered.remove();
    command.complete();

    run(3_000);

    assertThat(ends).isEmpty();
  }

  /** The loop stands still for ten times the deadline while the reply is in its socket. */
  @Test
  void timeInWhichTheLoopDidNotRunDoesNotCount() {
    send(waiting(100, 2_000));
    run(5);

    standStill(1_000);
    run(80);
    assertThat(ends).isEmpty();
    run(20);

    assertThat(ends).containsExactly("redis");
  }

  @Test
  void aLoopThatIsAlwaysLateHasItsOwnTime() {
    send(waiting(100, 10_000));

    for (int turn = 0; turn < 16; turn++) {
      standStill(200);
    }
    assertThat(ends).isEmpty();
    for (int turn = 0; turn < 3; turn++) {
      standStill(200);
    }

    assertThat(ends).containsExactly("redis");
  }

  @Test
  void aTurnThatWritesMuchIsOneTurn() {
    List<Recorded> sent = new ArrayList<>();
    for (int i = 0; i < MOST; i++) {
      Recorded waits = waiting(100, 2_000);
      sent.add(waits);
      channel.writeOneOutbound(command(waits));
      nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(200)); // classes are loaded
    }

    standStill(1);
    run(80);

    assertThat(ends).isEmpty();
  }

  @Test
  void theHardDeadlineEndsTheWaitOfALateProcess() {
    send(waiting(100, 2_000));
    run(5);

    standStill(1_500);
    assertThat(ends).isEmpty();
    standStill(1_500);
    run(2);

    assertThat(ends).singleElement().asString().startsWith("process ");
    assertThat(Long.parseLong(ends.get(0).substring(8))).isBetween(2_900L, 3_010L);
  }

  /** Replies that have arrived in the meantime are read before anything expires. */
  @Test
  void theSocketIsReadOnceMore() {
    TimedCommand<String, String, String> command = send(waiting(100, 2_000));
    run(99);
    nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(5));
    channel.advanceTimeBy(5, TimeUnit.MILLISECONDS);
    channel.runScheduledPendingTasks();
    assertThat(ends).as("the deadline has passed, and the last look is to come").isEmpty();

    unanswered.remove();
    command.complete();
    run(10);

    assertThat(ends).isEmpty();
  }

  @Test
  void anExpiredCommandStaysForItsReply() {
    TimedCommand<String, String, String> command = send(waiting(100, 2_000));
    run(200);

    assertThat(unanswered).contains(command);
    assertThat(command).isNotDone();
    run(3_000);
    assertThat(ends).containsExactly("redis");
  }

  @Test
  void commandsSentByAnExpiryAreTimedToo() {
    Recorded second = waiting(20, 2_000);
    send(
        new Recorded(100, 2_000) {
          @Override
          public void redisIsLate() {
            super.redisIsLate();
            send(second);
          }
        });
    run(110);
    run(40);

    assertThat(ends).containsExactly("redis", "redis");
  }

  @Test
  void aCommandInsideAnotherIsTimed() {
    Recorded waits = waiting(100, 2_000);
    channel.writeOneOutbound(new CommandWrapper<>(command(waits)));

    run(110);

    assertThat(ends).containsExactly("redis");
  }

  @Test
  void aCommandIsHandedOverOnce() {
    TimedCommand<String, String, String> command = send(waiting(100, 2_000));

    channel.writeOneOutbound(command);

    assertThat(unanswered).hasSize(1);
    assertThat(command).isCompletedExceptionally();
  }

  @Test
  void whileNothingWaitsNothingTicks() {
    TimedCommand<String, String, String> command = send(waiting(100, 2_000));
    unanswered.remove();
    command.complete();
    run(10);

    assertThat(channel.hasPendingTasks()).isFalse();
  }

  /** An idle loop of NIO spins before a tick is due. */
  @Test
  void theLastReplyEndsTheTicks() {
    TimedCommand<String, String, String> command = send(waiting(100, 2_000));
    answer(command);

    assertThat(channel.runScheduledPendingTasks()).isEqualTo(-1);
  }

  @Test
  void ticksGoOnWhileAnotherCommandWaits() {
    TimedCommand<String, String, String> command = send(waiting(100, 2_000));
    send(waiting(50, 2_000));
    answer(command);

    run(60);

    assertThat(ends).containsExactly("redis");
  }

  @Test
  void ticksBeginAgainWithTheNextCommand() {
    answer(send(waiting(100, 2_000)));
    run(70);
    send(waiting(50, 2_000));

    run(49);
    assertThat(ends).isEmpty();
    run(11);

    assertThat(ends).containsExactly("redis");
  }

  private void answer(TimedCommand<String, String, String> command) {
    unanswered.remove(command);
    command.complete();
    channel.pipeline().fireChannelReadComplete();
  }

  /** So Redis decides while the loop still collects. */
  @Test
  void decisionsThatTakeNoOtherAreSentWithinTheTurn() {
    Policy many = Policy.of("policy", SlidingWindowLogRule.of(10_000, Duration.ofSeconds(1)));
    LimitRequest costly = LimitRequest.of(many, Subject.global()).withCost(2_800);
    decisions(1, costly);
    assertThat(channel.<Object>readOutbound()).isNull();
    decisions(1, costly);
    assertThat(channel.<Object>readOutbound()).isInstanceOf(DecisionBatch.class);
  }

  @Test
  void aConsolidatedTurnIsFlushedOnceAtItsEnd() {
    List<String> done = new ArrayList<>();
    EmbeddedChannel consolidated = consolidated(done);
    for (int i = 0; i < 2; i++) {
      var unused = consolidated.pipeline().lastContext().writeAndFlush(ping());
    }
    assertThat(done).containsExactly("write", "write");
    consolidated.runPendingTasks();
    assertThat(done).containsExactly("write", "write", "flush");
  }

  @Test
  void whatWasWrittenIsSentBeforeTheChannelIsClosed() {
    List<String> done = new ArrayList<>();
    EmbeddedChannel consolidated = consolidated(done);
    var written = consolidated.pipeline().lastContext().writeAndFlush(ping());
    var closed = consolidated.pipeline().lastContext().close();
    assertThat(done).containsExactly("write", "flush", "close");
    assertThat(List.of(written, closed)).allMatch(ChannelFuture::isSuccess);
  }

  /** A channel whose turns are consolidated, and which only notes what it is to do. */
  private EmbeddedChannel consolidated(List<String> done) {
    return new EmbeddedChannel(
        new ChannelOutboundHandlerAdapter() {
          @Override
          public void write(ChannelHandlerContext context, Object message, ChannelPromise written) {
            done.add("write");
            written.setSuccess();
          }

          @Override
          public void flush(ChannelHandlerContext context) {
            done.add("flush");
          }

          @Override
          public void close(ChannelHandlerContext context, ChannelPromise closed) {
            done.add("close");
            closed.setSuccess();
          }
        },
        new UnansweredCommands(unanswered, MOST, true, nanos::get),
        new ChannelInboundHandlerAdapter());
  }

  /** The bound counts decisions, not their commands. */
  @Test
  void decisionsAboveTheBoundAreRejected() {
    List<TimedCommand<byte[], byte[], byte[]>> decisions = inOneTurn(MOST - 1, sent -> {});
    List<TimedCommand<byte[], byte[], byte[]>> more = inOneTurn(2, sent -> {});

    assertThat(decisions).noneMatch(TimedCommand::isDone);
    assertThat(more.get(0)).isNotDone();
    assertThat(more.get(1)).isCompletedExceptionally();

    RedisCommand<?, ?, ?> batch = unanswered.remove();
    batch.completeExceptionally(new IllegalStateException("as if the channel had ended"));
    assertThat(decisions).allMatch(TimedCommand::isCompletedExceptionally);
    assertThat(inOneTurn(MOST - 1, sent -> {})).noneMatch(TimedCommand::isDone);
  }

  @Test
  void aCollectedDecisionThatIsWithdrawnIsNotSent() {
    List<TimedCommand<byte[], byte[], byte[]>> decisions =
        inOneTurn(
            3,
            sent -> {
              assertThat(sent.get(0).isHandedOver()).isFalse();
              assertThat(sent.get(0).isHandedOverHere()).as("at the end of this turn").isTrue();
              assertThat(sent.get(0).withdraw()).isTrue();
            });

    assertThat(decisions.get(0)).isCompletedExceptionally();
    assertThat(unanswered)
        .singleElement()
        .isInstanceOfSatisfying(
            DecisionBatch.class,
            batch ->
                assertThat(batch.parts().stream().map(part -> decisions.indexOf(part)))
                    .containsExactly(1, 2));
  }

  /** Whatever Lettuce does with it after a reconnect. */
  @Test
  void aBatchIsHandedOverOnce() {
    List<TimedCommand<byte[], byte[], byte[]>> decisions = inOneTurn(2, sent -> {});
    RedisCommand<?, ?, ?> batch = unanswered.remove();

    channel.writeOneOutbound(batch);

    assertThat(unanswered).isEmpty();
    assertThat(decisions).allMatch(TimedCommand::isCompletedExceptionally);
  }

  /** As out of step: bytes that are no reply to any decision. */
  @Test
  void tooFewRepliesAreRepliesToNoDecision() {
    List<TimedCommand<byte[], byte[], byte[]>> decisions = inOneTurn(2, sent -> {});
    RedisCommand<?, ?, ?> batch = unanswered.remove();
    batch.getOutput().multi(1);
    batch.getOutput().set(ByteBuffer.wrap(new byte[] {'A'}));

    batch.complete();

    assertThat(decisions)
        .allSatisfy(
            decision ->
                assertThat(decision).isCompletedWithValueMatching(bytes -> bytes.length == 0));
  }

  /**
   * Sends decisions in one turn of the event loop.
   *
   * @param before runs before the turn ends
   */
  private List<TimedCommand<byte[], byte[], byte[]>> inOneTurn(
      int number, Consumer<List<TimedCommand<byte[], byte[], byte[]>>> before) {
    Policy once = Policy.of("policy", SlidingWindowLogRule.of(1, Duration.ofSeconds(1)));
    List<TimedCommand<byte[], byte[], byte[]>> decisions =
        decisions(number, LimitRequest.of(once, Subject.global()));
    before.accept(decisions);
    channel.runPendingTasks();
    return decisions;
  }

  /** Writes without running the tasks of the event loop, which is what the channel itself does. */
  private ChannelHandlerContext turn() {
    return channel.pipeline().lastContext();
  }

  private List<TimedCommand<byte[], byte[], byte[]>> decisions(int number, LimitRequest request) {
    BoundedCache<RuleStack, EncodedStack> stacks =
        new BoundedCache<>(1, stack -> new EncodedStack(stack, List.of(), () -> 0));
    List<TimedCommand<byte[], byte[], byte[]>> decisions = new ArrayList<>();
    for (int i = 0; i < number; i++) {
      TimedCommand<byte[], byte[], byte[]> decision =
          new TimedCommand<>(
              EncodedCall.of(
                  request, Mode.ACQUIRE, RedisSettings.defaults()::name, stacks::get, BATCHING));
      decision.awaitedBy(waiting(1_000, 2_000));
      var unused = turn().write(decision);
      decisions.add(decision);
    }
    return decisions;
  }

  private void fill() {
    for (int i = 0; i < MOST; i++) {
      unanswered.add(ping());
    }
  }

  private class Recorded implements TimedCommand.Waiter {

    private final long budget;
    private final long hardDue;

    Recorded(long budgetMillis, long hardMillis) {
      budget = TimeUnit.MILLISECONDS.toNanos(budgetMillis);
      hardDue = nanos.get() + TimeUnit.MILLISECONDS.toNanos(hardMillis);
    }

    @Override
    public long budgetNanos() {
      return budget;
    }

    @Override
    public long hardDueNanos() {
      return hardDue;
    }

    @Override
    public void redisIsLate() {
      ends.add("redis");
    }

    @Override
    public void processIsLate(long standstillNanos) {
      ends.add("process " + TimeUnit.NANOSECONDS.toMillis(standstillNanos));
    }
  }

  private Recorded waiting(long budgetMillis, long hardMillis) {
    return new Recorded(budgetMillis, hardMillis);
  }

  private TimedCommand<String, String, String> send(Recorded waits) {
    TimedCommand<String, String, String> command = command(waits);
    channel.writeOneOutbound(command);
    return command;
  }

  private static TimedCommand<String, String, String> command(Recorded waits) {
    TimedCommand<String, String, String> command =
        new TimedCommand<>(new Command<>(CommandType.PING, new StatusOutput<>(StringCodec.UTF8)));
    command.awaitedBy(waits);
    return command;
  }

  /** The loop runs on time. */
  private void run(long millis) {
    for (long i = 0; i < millis; i++) {
      standStill(1);
    }
  }

  /** The loop runs once, after this time. */
  private void standStill(long millis) {
    nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(millis));
    channel.advanceTimeBy(millis, TimeUnit.MILLISECONDS);
    channel.runScheduledPendingTasks();
  }

  private static AsyncCommand<String, String, String> ping() {
    return new AsyncCommand<>(
        new Command<>(CommandType.PING, new StatusOutput<>(StringCodec.UTF8)));
  }
}
