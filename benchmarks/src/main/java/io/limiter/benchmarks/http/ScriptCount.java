// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

import io.limiter.benchmarks.BenchRedis;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The number of scripts that Redis has run since its start. The difference between two readings is
 * the number that a measurement caused, if there are no other clients.
 */
final class ScriptCount {

  private static final Pattern CALLS = Pattern.compile("cmdstat_(?:evalsha|eval):calls=(\\d+)");

  private ScriptCount() {}

  static long read(BenchRedis redis) {
    return in(redis.commands().info("commandstats"));
  }

  static long in(String statistics) {
    Matcher calls = CALLS.matcher(statistics);
    long sum = 0;
    while (calls.find()) {
      sum += Long.parseLong(calls.group(1));
    }
    return sum;
  }
}
