// SPDX-License-Identifier: Apache-2.0
/**
 * What every store must answer, written to be read. It shares no code with the stores: what they
 * calculate is searched for here, and what they sum up is listed. Nothing in it ever expires by
 * itself.
 */
package io.limiter.core.model;
