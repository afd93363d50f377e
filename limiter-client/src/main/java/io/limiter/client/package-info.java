// SPDX-License-Identifier: Apache-2.0
/**
 * Clients that obey the rate limits of other services. It needs no other module of the limiter.
 * {@code limiter.enabled: false} disables it: calls are then sent at once.
 */
@Configuration
@Requires(
    property = "limiter.enabled",
    pattern = "(?i)(?!\\s*(?:false|off|no)\\s*$).*",
    defaultValue = "true")
@NullMarked
package io.limiter.client;

import io.micronaut.context.annotation.Configuration;
import io.micronaut.context.annotation.Requires;
import org.jspecify.annotations.NullMarked;
