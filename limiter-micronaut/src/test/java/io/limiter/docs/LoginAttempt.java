// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

@RateLimiter(
    beforeSecurity = true,
    failedOn = 401,
    rules = @RateRule(count = 5, time = 900, counts = Counts.FAILURES))
@Retention(RetentionPolicy.RUNTIME)
@interface LoginAttempt {}
