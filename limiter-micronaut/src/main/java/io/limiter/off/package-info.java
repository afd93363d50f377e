// SPDX-License-Identifier: Apache-2.0
/**
 * What is there while {@code limiter.enabled} is false: code that limits by itself goes on, and is
 * never refused. It stands beside {@code io.limiter.micronaut}, which is switched off as a whole.
 */
@Configuration
@Requires(property = "limiter.enabled", pattern = "(?i)\\s*(?:false|off|no)\\s*")
@NullMarked
package io.limiter.off;

import io.micronaut.context.annotation.Configuration;
import io.micronaut.context.annotation.Requires;
import org.jspecify.annotations.NullMarked;
