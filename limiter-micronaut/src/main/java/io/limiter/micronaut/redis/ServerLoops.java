// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import io.micronaut.context.annotation.Requires;
import io.micronaut.http.netty.channel.EventLoopGroupConfiguration;
import io.micronaut.http.netty.channel.EventLoopGroupRegistry;
import io.micronaut.http.server.netty.configuration.NettyHttpServerConfiguration;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.EventExecutor;
import jakarta.inject.Singleton;
import java.util.ArrayList;
import java.util.List;

/** The event loops that serve requests. */
@Singleton
@Requires(classes = NettyHttpServerConfiguration.class)
@Requires(beans = {NettyHttpServerConfiguration.class, EventLoopGroupRegistry.class})
final class ServerLoops {

  private final EventLoopGroup workers;

  ServerLoops(NettyHttpServerConfiguration server, EventLoopGroupRegistry registry) {
    NettyHttpServerConfiguration.Worker configured = server.getWorker();
    String name = configured == null ? EventLoopGroupConfiguration.DEFAULT : configured.getName();
    this.workers = registry.getEventLoopGroup(name).orElseGet(registry::getDefaultEventLoopGroup);
  }

  /** The first event loops, at most this many. */
  List<EventLoop> loops(int max) {
    List<EventLoop> loops = new ArrayList<>();
    for (EventExecutor worker : workers) {
      if (worker instanceof EventLoop loop && loops.size() < max) {
        loops.add(loop);
      }
    }
    return loops;
  }
}
