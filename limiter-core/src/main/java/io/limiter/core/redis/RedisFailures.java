// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import java.util.concurrent.CancellationException;

/** Names what went wrong in Redis, in words that carry no key and no secret. */
final class RedisFailures {

  private RedisFailures() {}

  static StoreException translate(Throwable failure) {
    if (failure instanceof StoreException known) {
      return known;
    }
    if (failure instanceof RedisCommandExecutionException reply) {
      return new StoreException(
          FailureReason.ERROR,
          "Redis answered with the error " + prefix(String.valueOf(reply.getMessage())),
          null);
    }
    if (failure instanceof RedisException refused
        && String.valueOf(refused.getMessage()).contains("queue size exceeded")) {
      return new StoreException(
          FailureReason.OVERLOADED, "Too many commands wait for Redis to answer", refused);
    }
    if (failure instanceof RedisException || failure instanceof CancellationException) {
      return new StoreException(FailureReason.DISCONNECTED, "Redis is not connected", failure);
    }
    return new StoreException(FailureReason.ERROR, "Redis could not be asked", failure);
  }

  /** The first word of an error reply: the rest may quote keys or arguments. */
  private static String prefix(String message) {
    int space = message.indexOf(' ');
    return space < 0 ? message : message.substring(0, space);
  }
}
