// SPDX-License-Identifier: Apache-2.0
/**
 * The reference model: what every store must answer, written for readability. It shares no code
 * with the stores: it searches for what they calculate, and lists what they sum up. Nothing in it
 * expires by itself.
 */
package io.limiter.core.model;
