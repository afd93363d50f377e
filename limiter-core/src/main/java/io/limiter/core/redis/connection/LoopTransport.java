// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.lettuce.core.resource.Transports;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.channel.ReflectiveChannelFactory;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Checks whether Lettuce can connect on an event loop. Lettuce uses the native transport that it
 * finds on the class path, whatever the server uses, and a channel of one transport cannot be
 * registered on a loop of another.
 */
public final class LoopTransport {

  private LoopTransport() {}

  /** The transport that Lettuce uses, for messages, such as {@code NioSocketChannel}. */
  public static String name() {
    return Transports.socketChannelClass().getSimpleName();
  }

  /** Whether such a channel can be registered on this loop. Completes on the loop; never fails. */
  public static CompletionStage<Boolean> matches(EventLoop loop) {
    CompletableFuture<Boolean> matches = new CompletableFuture<>();
    Channel channel = new ReflectiveChannelFactory<>(Transports.socketChannelClass()).newChannel();
    var unused =
        loop.register(channel)
            .addListener(
                registered -> {
                  channel.unsafe().closeForcibly();
                  matches.complete(registered.isSuccess());
                });
    return matches;
  }
}
