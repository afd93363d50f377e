// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.Policy;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.rule.SlidingWindowLogRule;
import java.time.Duration;

/** What the pages show of the limiter without annotations. */
final class FromCode {

  private FromCode() {}

  static void failures(Limiter limiter, String name, Verdict verdict) {
    Policy failures =
        Policy.of("login-failures", SlidingWindowLogRule.of(3, Duration.ofMinutes(1)));
    LimitRequest byUser = LimitRequest.of(failures, new Subject("user", name));

    limiter.peek(byUser); // check without counting
    limiter.record(byUser); // count without checking
    limiter.acquire(byUser); // check and count; refund(verdict) gives it back
    limiter.reset(byUser); // forget
  }
}
