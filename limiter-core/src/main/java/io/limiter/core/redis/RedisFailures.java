// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import java.io.IOException;
import java.util.concurrent.CancellationException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Names what went wrong in Redis, in words that carry no key and no secret. */
final class RedisFailures {

  /** What Lettuce says when its queue of commands to send, or of answers to come, is full. */
  private static final Pattern FULL = Pattern.compile("(queue|stack) size exceeded");

  private static final Pattern CODE = Pattern.compile("[A-Z]+");

  private RedisFailures() {}

  static StoreException translate(Throwable failure) {
    if (failure instanceof StoreException known) {
      return known;
    }
    if (failure instanceof RedisCommandExecutionException reply) {
      return new StoreException(
          FailureReason.ERROR,
          "Redis answered with the error " + code(String.valueOf(reply.getMessage())),
          null);
    }
    if (failure instanceof RedisException refused
        && FULL.matcher(String.valueOf(refused.getMessage())).find()) {
      return new StoreException(
          FailureReason.OVERLOADED, "Too many commands wait for Redis to answer", refused);
    }
    // Lettuce hands the socket's own failure to the oldest command as it is.
    if (failure instanceof RedisException
        || failure instanceof IOException
        || failure instanceof CancellationException) {
      return new StoreException(FailureReason.DISCONNECTED, "Redis is not connected", failure);
    }
    return new StoreException(FailureReason.ERROR, "Redis could not be asked", failure);
  }

  /** The code that an error reply begins with: the rest may quote keys or arguments. */
  private static String code(String message) {
    Matcher code = CODE.matcher(message);
    return code.lookingAt() ? code.group() : "that has no code";
  }
}
