// SPDX-License-Identifier: Apache-2.0
/** Utilities that several packages of the limiter share. Not part of the API. */
package io.limiter.core.util;
