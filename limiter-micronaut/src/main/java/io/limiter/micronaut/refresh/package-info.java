// SPDX-License-Identifier: Apache-2.0
/** The endpoint {@code refresh} of micronaut-management, which answers when the limits hold. */
@Configuration
@Requires(classes = Endpoint.class)
@NullMarked
package io.limiter.micronaut.refresh;

import io.micronaut.context.annotation.Configuration;
import io.micronaut.context.annotation.Requires;
import io.micronaut.management.endpoint.annotation.Endpoint;
import org.jspecify.annotations.NullMarked;
