// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.cluster;

import io.lettuce.core.RedisAsyncCommandsImpl;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.AsyncCommand;
import io.lettuce.core.protocol.Command;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.protocol.RedisCommand;
import io.limiter.core.redis.connection.TimedCommand;
import java.util.List;

/**
 * Commands about keys of a slot that is migrating to this node. ASKING applies to the next command
 * of a connection only, and threads share connections; so each ASKING is written together with its
 * command.
 */
final class AskingCommands extends RedisAsyncCommandsImpl<byte[], byte[]> {

  private final StatefulRedisConnection<byte[], byte[]> connection;

  AskingCommands(StatefulRedisConnection<byte[], byte[]> connection) {
    super(connection, ByteArrayCodec.INSTANCE);
    this.connection = connection;
  }

  @Override
  public <T> AsyncCommand<byte[], byte[], T> dispatch(RedisCommand<byte[], byte[], T> command) {
    TimedCommand<byte[], byte[], T> sent = new TimedCommand<>(command);
    connection.dispatch(
        List.of(
            new Command<>(
                CommandType.ASKING,
                new StatusOutput<>(ByteArrayCodec.INSTANCE),
                new CommandArgs<>(ByteArrayCodec.INSTANCE)),
            sent));
    return sent;
  }
}
