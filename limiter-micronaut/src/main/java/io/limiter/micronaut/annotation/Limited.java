// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.annotation;

import io.micronaut.aop.Around;
import io.micronaut.context.annotation.Executable;
import io.micronaut.core.annotation.Internal;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a method as limited, whichever annotation limits it; the guard is bound to this annotation
 * alone. It is a meta-annotation of the limiter's own annotations and is not written on methods.
 * The plan builder receives the methods that carry it when the context starts.
 */
@Internal
@Inherited
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.ANNOTATION_TYPE)
@Around
@Executable(processOnStartup = true)
public @interface Limited {}
