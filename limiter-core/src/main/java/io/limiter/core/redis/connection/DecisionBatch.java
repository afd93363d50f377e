// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.CommandOutput;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.protocol.CommandWrapper;
import io.limiter.core.redis.wire.DecisionBatching;
import io.limiter.core.redis.wire.EncodedCall;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One EVALSHA for several decisions. Each of them ends as if it had been sent alone: with its own
 * reply or error, or with the error or the end of the whole command.
 */
final class DecisionBatch extends Command<byte[], byte[], List<Object>> {

  private final List<TimedCommand<byte[], byte[], byte[]>> parts;
  private final Consumer<DecisionBatch> ended;
  private final AtomicBoolean over = new AtomicBoolean();

  /**
   * @param parts commands with an {@link EncodedCall}, which may share one
   * @param ended runs once, before the decisions end
   */
  DecisionBatch(
      DecisionBatching batching,
      List<TimedCommand<byte[], byte[], byte[]>> parts,
      Consumer<DecisionBatch> ended) {
    super(
        CommandType.EVALSHA,
        new Replies(parts.size()),
        batching.together(parts.stream().map(part -> (EncodedCall) part.getDelegate()).toList()));
    this.parts = parts;
    this.ended = ended;
  }

  /** The batch in a message that Lettuce writes; null if there is none. */
  static @Nullable DecisionBatch of(Object message) {
    if (message instanceof DecisionBatch batch) {
      return batch;
    }
    return message instanceof CommandWrapper<?, ?, ?> wrapper
        ? CommandWrapper.unwrap(wrapper, DecisionBatch.class)
        : null;
  }

  /** The decisions, in the order in which Redis takes them. */
  List<TimedCommand<byte[], byte[], byte[]>> parts() {
    return parts;
  }

  /** Whether Redis has replied that it does not have the script, so that nothing ran. */
  boolean isScriptMissing() {
    return getOutput().hasError() && getOutput().getError().startsWith("NOSCRIPT");
  }

  @Override
  public void complete() {
    super.complete();
    if (!end()) {
      return;
    }
    CommandOutput<byte[], byte[], List<Object>> output = getOutput();
    if (output.hasError()) {
      String error = output.getError();
      fail(
          isScriptMissing()
              ? new RedisNoScriptException(error)
              : new RedisCommandExecutionException(error));
      return;
    }
    List<Object> replies = output.get();
    boolean inStep = replies.size() == parts.size();
    for (int i = 0; i < parts.size(); i++) {
      Object reply = inStep ? replies.get(i) : Replies.NONE;
      if (reply instanceof RedisCommandExecutionException failure) {
        parts.get(i).completeExceptionally(failure);
      } else { // a missing reply becomes an empty one, which fits no decision
        parts.get(i).complete(reply instanceof byte[] bytes ? bytes : new byte[0]);
      }
    }
  }

  @Override
  public boolean completeExceptionally(Throwable failure) {
    boolean first = super.completeExceptionally(failure);
    if (end()) {
      fail(failure);
    }
    return first;
  }

  @Override
  public void cancel() {
    super.cancel();
    if (end()) {
      parts.forEach(part -> part.cancel());
    }
  }

  private boolean end() {
    if (!over.compareAndSet(false, true)) {
      return false;
    }
    ended.accept(this);
    return true;
  }

  private void fail(Throwable failure) {
    parts.forEach(part -> part.completeExceptionally(failure));
  }

  /** The elements of the reply: bytes or errors. */
  private static final class Replies extends CommandOutput<byte[], byte[], List<Object>> {

    static final Object NONE = new Object();

    private boolean array;

    Replies(int size) {
      super(ByteArrayCodec.INSTANCE, new ArrayList<>(size));
    }

    @Override
    public void multi(int count) {
      array = true;
    }

    @Override
    public void set(@Nullable ByteBuffer bytes) {
      output.add(bytes == null ? NONE : codec.decodeValue(bytes));
    }

    @Override
    public void set(long number) {
      output.add(NONE);
    }

    @Override
    public void setError(ByteBuffer error) {
      if (array) {
        output.add(new RedisCommandExecutionException(decodeString(error)));
      } else {
        super.setError(error);
      }
    }
  }
}
