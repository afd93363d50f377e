// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateRule;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

@RateRule(count = 5, time = 1)
@RateRule(count = 20, time = 1, limitType = LimitType.GLOBAL, name = "for-all")
@Retention(RetentionPolicy.RUNTIME)
@interface Expensive {}
