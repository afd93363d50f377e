// SPDX-License-Identifier: Apache-2.0
/**
 * Makes micronaut-security read its own annotations on methods whose limits have expressions. This
 * package is outside of {@code io.limiter.micronaut}, since such a method needs it also while
 * {@code limiter.enabled} is false.
 */
@Configuration
@Requires(classes = SecuredAnnotationRule.class)
@NullMarked
package io.limiter.security;

import io.micronaut.context.annotation.Configuration;
import io.micronaut.context.annotation.Requires;
import io.micronaut.security.rules.SecuredAnnotationRule;
import org.jspecify.annotations.NullMarked;
