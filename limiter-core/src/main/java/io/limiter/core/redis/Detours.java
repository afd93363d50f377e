// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.StoreException;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** Where a call goes on whose answer sends it elsewhere. */
interface Detours {

  /** Where every answer is the call's result. */
  Detours NONE = failure -> null;

  /**
   * Null if the failure is the call's result; else it proves that nothing ran. The stage may fail
   * with a {@link StoreException}.
   */
  @Nullable CompletionStage<Hop> after(Throwable failure);
}
