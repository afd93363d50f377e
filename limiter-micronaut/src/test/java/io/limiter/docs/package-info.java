// SPDX-License-Identifier: Apache-2.0
/**
 * Every snippet of the documentation, compiled and run: {@link io.limiter.docs.DocsIT} looks for
 * the pages' Java in the sources of this package, starts a server with their configuration, and
 * compares its answers with theirs.
 */
@Configuration
@Requires(property = "spec.name", value = "docs")
package io.limiter.docs;

import io.micronaut.context.annotation.Configuration;
import io.micronaut.context.annotation.Requires;
