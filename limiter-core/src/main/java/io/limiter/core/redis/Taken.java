// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.Readings;

/** What Redis found for a call, and how the units are known that the call took. */
interface Taken extends Readings {

  /** The stamp of the units of one charge, as {@code refund.lua} wants it. */
  byte[] stamp(int charge);
}
