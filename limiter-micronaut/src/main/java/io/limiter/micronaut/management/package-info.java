// SPDX-License-Identifier: Apache-2.0
/**
 * The endpoint {@code limits} of micronaut-management, and what is collected for it: no bean of it
 * exists while it is off, which is the default. And the endpoint {@code refresh}.
 */
@Configuration
@Requires(classes = Endpoint.class)
@NullMarked
package io.limiter.micronaut.management;

import io.micronaut.context.annotation.Configuration;
import io.micronaut.context.annotation.Requires;
import io.micronaut.management.endpoint.annotation.Endpoint;
import org.jspecify.annotations.NullMarked;
