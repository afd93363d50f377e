// SPDX-License-Identifier: Apache-2.0
/**
 * One policy as one typed value, wherever it stands: an annotation, a file, a variable, a tier, the
 * shared settings and the endpoint are all read into a {@link
 * io.limiter.micronaut.definition.PolicyDefinition}. Plans are built from it.
 *
 * @since 0.1.0
 */
@NullMarked
package io.limiter.micronaut.definition;

import org.jspecify.annotations.NullMarked;
