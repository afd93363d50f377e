// SPDX-License-Identifier: Apache-2.0
/** What several packages of the limiter need and applications do not: no API. */
package io.limiter.core.util;
