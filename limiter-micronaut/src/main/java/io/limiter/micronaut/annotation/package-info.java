// SPDX-License-Identifier: Apache-2.0
/** What a person writes on a method. Nothing here knows how a limit is kept. */
@NullMarked
package io.limiter.micronaut.annotation;

import org.jspecify.annotations.NullMarked;
