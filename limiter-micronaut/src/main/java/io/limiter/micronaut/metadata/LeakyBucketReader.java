// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.core.rule.LeakyBucket;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** Creates a leaky bucket from a {@code @RateRule}. */
final class LeakyBucketReader {

  private static final String QUEUE = "queue";
  private static final String MAX_WAIT = "maxWait";

  private LeakyBucketReader() {}

  static LeakyBucket read(AnnotationMembers rule, long count, Duration window) {
    int queue = rule.annotation().intValue(QUEUE).orElse(0);
    if (queue < 1 || queue > LeakyBucket.MAX_QUEUE) {
      throw rule.error(
          QUEUE,
          queue,
          "set how many calls may wait for their turn, 1 to %d; if no call is to wait, write "
              + "algorithm = TOKEN_BUCKET with count = 1".formatted(LeakyBucket.MAX_QUEUE));
    }
    Duration maxWait = rule.has(MAX_WAIT) ? maxWait(rule) : untilTheLast(queue, count, window);
    try {
      return LeakyBucket.of(count, window, queue, maxWait).withFair(!rule.isFalse("fair"));
    } catch (IllegalArgumentException e) {
      String member = rule.has(MAX_WAIT) ? MAX_WAIT : QUEUE;
      throw rule.error(member, rule.raw(member), String.valueOf(e.getMessage()));
    }
  }

  private static Duration maxWait(AnnotationMembers rule) {
    TimeUnit unit = rule.constant("timeUnit", TimeUnit.class).orElse(RateRuleReader.DEFAULT_UNIT);
    Duration maxWait = AnnotatedTimes.read(rule, MAX_WAIT, 0, unit);
    if (maxWait.compareTo(LeakyBucket.MAX_WAIT) > 0) {
      throw rule.error(
          MAX_WAIT,
          rule.raw(MAX_WAIT) + " " + unit,
          "the client's connection stays open meanwhile: give it at most 5 minutes");
    }
    return maxWait;
  }

  /** Whole milliseconds, rounded up, so that the queue's last place can be used. */
  private static Duration untilTheLast(int queue, long count, Duration window) {
    double millis = Math.ceil((double) window.toNanos() / 1e6 / count * queue);
    double longest = LeakyBucket.MAX_WAIT.toMillis();
    return Duration.ofMillis((long) Math.max(1, Math.min(millis, longest)));
  }
}
