// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.http;

/**
 * The results of a generator.
 *
 * @param perSecond answers in a second
 * @param answers of any status
 * @param denied those whose status was not 2xx
 * @param errors requests without an answer: connections that broke, and answers that took too long
 * @param p50Micros half of the answers took this long at most
 * @param p99Micros 99 of 100
 */
public record LoadResult(
    double perSecond, long answers, long denied, long errors, double p50Micros, double p99Micros) {}
