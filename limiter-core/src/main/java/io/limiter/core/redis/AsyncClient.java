// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.RedisChannelWriter;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisReactiveCommandsImpl;
import io.lettuce.core.RedisURI;
import io.lettuce.core.StatefulRedisConnectionImpl;
import io.lettuce.core.api.reactive.RedisReactiveCommands;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.json.JsonParser;
import io.lettuce.core.protocol.PushHandler;
import io.lettuce.core.resource.ClientResources;
import java.time.Duration;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Opens connections whose synchronous and reactive commands are made when they are first asked for.
 * Nobody asks for them here, and the synchronous ones are a proxy for hundreds of methods: it was a
 * quarter of what a service does to start.
 */
class AsyncClient extends RedisClient {

  AsyncClient(ClientResources resources) {
    super(resources, new RedisURI());
  }

  @Override
  protected <K, V> StatefulRedisConnectionImpl<K, V> newStatefulRedisConnection(
      RedisChannelWriter writer, PushHandler pushes, RedisCodec<K, V> codec, Duration timeout) {
    return new AsyncConnection<>(writer, pushes, codec, timeout, getOptions().getJsonParser());
  }

  private static final class AsyncConnection<K, V> extends StatefulRedisConnectionImpl<K, V> {

    private volatile @Nullable RedisCommands<K, V> blocking;
    private volatile @Nullable RedisReactiveCommands<K, V> publishing;

    AsyncConnection(
        RedisChannelWriter writer,
        PushHandler pushes,
        RedisCodec<K, V> codec,
        Duration timeout,
        Supplier<JsonParser> parser) {
      super(writer, pushes, codec, timeout, parser);
    }

    /** While the connection is made. */
    @Override
    @SuppressWarnings("NullAway")
    protected RedisCommands<K, V> newRedisSyncCommandsImpl() {
      return null;
    }

    /** The same. */
    @Override
    @SuppressWarnings("NullAway")
    protected RedisReactiveCommandsImpl<K, V> newRedisReactiveCommandsImpl() {
      return null;
    }

    @Override
    public RedisCommands<K, V> sync() {
      RedisCommands<K, V> made = blocking;
      if (made == null) {
        made = super.newRedisSyncCommandsImpl();
        blocking = made;
      }
      return made;
    }

    @Override
    public RedisReactiveCommands<K, V> reactive() {
      RedisReactiveCommands<K, V> made = publishing;
      if (made == null) {
        made = super.newRedisReactiveCommandsImpl();
        publishing = made;
      }
      return made;
    }
  }
}
