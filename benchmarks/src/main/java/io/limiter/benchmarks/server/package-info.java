// SPDX-License-Identifier: Apache-2.0
/**
 * A service for any load generator: the same method without a limit and with limits of each kind.
 * Other services of this jar do not have its beans.
 */
@Configuration
@Requires(property = BenchmarkService.NO_OP)
@NullMarked
package io.limiter.benchmarks.server;

import io.micronaut.context.annotation.Configuration;
import io.micronaut.context.annotation.Requires;
import org.jspecify.annotations.NullMarked;
