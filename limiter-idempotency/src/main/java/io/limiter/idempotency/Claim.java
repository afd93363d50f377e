// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.limiter.core.StateKey;

/**
 * One attempt to run a submission. Arrays are not copied.
 *
 * @param token {@value #TOKEN_BYTES} random bytes, which no other claim has
 * @param head {@link Fingerprints#BYTES} bytes of method, path and query
 * @param body as many bytes of the body; none as long as it is not known
 */
@SuppressWarnings("ArrayRecordComponent") // compared by identity, if at all
record Claim(StateKey key, byte[] token, byte[] head, byte[] body) {

  static final int TOKEN_BYTES = 16;

  Claim withBody(byte[] fingerprint) {
    return new Claim(key, token, head, fingerprint);
  }

  /** Without the token. */
  @Override
  public String toString() {
    return "Claim[%s]".formatted(key);
  }
}
