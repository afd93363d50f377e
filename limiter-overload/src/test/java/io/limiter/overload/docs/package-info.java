// SPDX-License-Identifier: Apache-2.0
/** The sources that docs/overload.md shows. */
@Configuration
@Requires(property = "spec.name", value = "overload-docs")
package io.limiter.overload.docs;

import io.micronaut.context.annotation.Configuration;
import io.micronaut.context.annotation.Requires;
