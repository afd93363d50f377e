// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.limiter.core.StoreException;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** Where a call goes on whose answer sends it elsewhere. */
public interface Redirects {

  /** Where every answer is the call's result. */
  Redirects NONE = failure -> null;

  /**
   * Null if the failure is the call's result; else it proves that nothing ran. The stage may fail
   * with a {@link StoreException}.
   */
  @Nullable CompletionStage<CallTarget> after(Throwable failure);
}
