// SPDX-License-Identifier: Apache-2.0
/**
 * One instance that protects itself from overload: it counts what is in flight, adapts the number
 * that it allows to what it measures itself, and answers 503 beyond it, to the least critical
 * first. It needs no Redis, and nothing of the other modules needs it.
 */
@Configuration
@Requires(
    property = "limiter.enabled",
    pattern = "(?i)(?!\\s*(?:false|off|no)\\s*$).*",
    defaultValue = "true")
@NullMarked
package io.limiter.overload;

import io.micronaut.context.annotation.Configuration;
import io.micronaut.context.annotation.Requires;
import org.jspecify.annotations.NullMarked;
