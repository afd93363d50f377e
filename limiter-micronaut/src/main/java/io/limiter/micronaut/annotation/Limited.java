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
 * Marks a method as limited, whichever annotation says so: the one thing that the guard is bound
 * to. It stands on the limiter's own annotations; nobody writes it on a method. Methods that bear
 * it are handed to the plan builder when the context starts.
 */
@Internal
@Inherited
@Documented
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.ANNOTATION_TYPE)
@Around
@Executable(processOnStartup = true)
public @interface Limited {}
