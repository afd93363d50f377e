// SPDX-License-Identifier: Apache-2.0
/** The sources that docs/outgoing-calls.md shows. */
@Configuration
@Requires(property = "spec.name", value = "client-docs")
package io.limiter.client.docs;

import io.micronaut.context.annotation.Configuration;
import io.micronaut.context.annotation.Requires;
