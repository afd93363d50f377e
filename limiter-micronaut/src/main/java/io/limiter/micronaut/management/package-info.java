// SPDX-License-Identifier: Apache-2.0
/**
 * The endpoint {@code limits} of micronaut-management, and what is collected for it. Without the
 * endpoint, which is off by default, there is no bean of this package.
 */
@Configuration
@Requires(classes = Endpoint.class)
@NullMarked
package io.limiter.micronaut.management;

import io.micronaut.context.annotation.Configuration;
import io.micronaut.context.annotation.Requires;
import io.micronaut.management.endpoint.annotation.Endpoint;
import org.jspecify.annotations.NullMarked;
