// SPDX-License-Identifier: Apache-2.0
/**
 * What operators see and change while a service runs: the endpoint {@code limits} of
 * micronaut-management, with what is collected for it, other limits for single subjects, and
 * callers that are blocked or exempt for a time. Each is off by default, and no bean of it exists
 * then.
 *
 * @since 0.1.0
 */
@Configuration
@Requires(
    property = "limiter.enabled",
    pattern = "(?i)(?!\\s*(?:false|off|no)\\s*$).*",
    defaultValue = "true")
@NullMarked
package io.limiter.management;

import io.micronaut.context.annotation.Configuration;
import io.micronaut.context.annotation.Requires;
import org.jspecify.annotations.NullMarked;
