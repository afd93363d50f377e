// SPDX-License-Identifier: Apache-2.0
/**
 * Lets micronaut-security read its own annotations on methods whose limits have expressions. It
 * stands beside {@code io.limiter.micronaut}, since such a method needs it also while {@code
 * limiter.enabled} is false.
 */
@Configuration
@Requires(classes = SecuredAnnotationRule.class)
@NullMarked
package io.limiter.security;

import io.micronaut.context.annotation.Configuration;
import io.micronaut.context.annotation.Requires;
import io.micronaut.security.rules.SecuredAnnotationRule;
import org.jspecify.annotations.NullMarked;
