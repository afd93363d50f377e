// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.PreventDuplicate;
import io.limiter.micronaut.annotation.RateRule;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

@RateRule(count = 20, time = 60)
@PreventDuplicate(within = 10)
@Retention(RetentionPolicy.RUNTIME)
@interface NewSubmission {}
