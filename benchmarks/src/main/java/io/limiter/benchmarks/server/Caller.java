// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.server;

/**
 * The caller, as an argument of a method: so only the method's arguments identify it, and
 * generators need not vary their requests.
 */
record Caller(String name) {}
