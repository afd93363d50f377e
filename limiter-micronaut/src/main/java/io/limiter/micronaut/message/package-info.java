// SPDX-License-Identifier: Apache-2.0
/** What people are told, in their language. */
@NullMarked
package io.limiter.micronaut.message;

import org.jspecify.annotations.NullMarked;
