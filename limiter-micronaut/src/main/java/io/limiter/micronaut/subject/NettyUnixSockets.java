// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.subject;

import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpRequestWrapper;
import io.micronaut.http.server.netty.NettyHttpRequest;
import jakarta.inject.Singleton;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;

/** Detects Unix domain sockets of Netty, with any transport. */
@Singleton
@Requires(classes = NettyHttpRequest.class)
final class NettyUnixSockets implements UnixSockets {

  /** The channel type of epoll and kqueue, which may be absent. */
  private static final String NATIVE = "io.netty.channel.unix.DomainSocketAddress";

  @Override
  public boolean serve(HttpRequest<?> request) {
    HttpRequest<?> innermost = request;
    while (innermost instanceof HttpRequestWrapper<?> wrapper) {
      innermost = wrapper.getDelegate();
    }
    if (!(innermost instanceof NettyHttpRequest<?> netty)) {
      return false;
    }
    SocketAddress peer = netty.getChannelHandlerContext().channel().remoteAddress();
    return peer instanceof UnixDomainSocketAddress
        || (peer != null && peer.getClass().getName().equals(NATIVE));
  }
}
