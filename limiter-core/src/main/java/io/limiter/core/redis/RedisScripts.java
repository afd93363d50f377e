// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

/**
 * The scripts of the store. Tests put their own clock into copies of them.
 *
 * @param decide decides one call
 * @param refund gives back what a call took
 */
record RedisScripts(RedisScript decide, RedisScript refund) {

  static RedisScripts load() {
    return new RedisScripts(RedisScript.load("decide.lua"), RedisScript.load("refund.lua"));
  }
}
