// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateRule;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.concurrent.TimeUnit;

@RateRule(count = 1, time = 60, subject = "#{phone}")
@RateRule(count = 10, time = 1, timeUnit = TimeUnit.HOURS, subject = "#{phone}")
@RateRule(count = 1_000, time = 1, timeUnit = TimeUnit.HOURS, limitType = LimitType.GLOBAL)
@Retention(RetentionPolicy.RUNTIME)
@interface SmsCode {}
