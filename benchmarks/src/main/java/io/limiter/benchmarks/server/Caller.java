// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.server;

/**
 * Who calls, as an argument of a method: so that only the method's arguments tell it, and no
 * generator has to vary its requests.
 */
record Caller(String name) {}
