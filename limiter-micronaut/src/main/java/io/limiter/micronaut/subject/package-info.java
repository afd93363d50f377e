// SPDX-License-Identifier: Apache-2.0
/** Who is counted, and what makes two submissions the same. */
@NullMarked
package io.limiter.micronaut.subject;

import org.jspecify.annotations.NullMarked;
