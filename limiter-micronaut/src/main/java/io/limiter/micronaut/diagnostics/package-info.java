// SPDX-License-Identifier: Apache-2.0

/**
 * Warnings about limits that may not do what their author expects. Nothing depends on them: without
 * this package, each limit and each error is the same.
 */
@NullMarked
package io.limiter.micronaut.diagnostics;

import org.jspecify.annotations.NullMarked;
