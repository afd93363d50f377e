// SPDX-License-Identifier: Apache-2.0
import org.jspecify.annotations.NullMarked;

/**
 * The engine of the limiter. Lettuce and Netty are needed only where limits are kept in Redis. What
 * is not exported may change at any time.
 */
@NullMarked
@SuppressWarnings("module") // the others are not there when this module is compiled
module io.limiter.core {
  requires static transitive org.jspecify;
  requires static transitive lettuce.core;
  requires static transitive io.netty.transport;
  requires static io.netty.buffer;
  requires static io.netty.common;
  requires static io.netty.handler;
  requires static io.netty.resolver;
  requires static io.netty.resolver.dns;
  requires static reactor.core;
  requires transitive org.slf4j;

  exports io.limiter.core;
  exports io.limiter.core.denycache;
  exports io.limiter.core.lease;
  exports io.limiter.core.memory;
  exports io.limiter.core.outage;
  exports io.limiter.core.redis;
  exports io.limiter.core.redis.cluster;
  exports io.limiter.core.rule;
  exports io.limiter.core.store;
  exports io.limiter.core.util to
      io.limiter.idempotency,
      io.limiter.management,
      io.limiter.micronaut;
}
