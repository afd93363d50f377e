// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.limiter.core.StoreException;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** Where a call continues after a reply that redirects it. */
public interface Redirects {

  /** Every reply is the call's result. */
  Redirects NONE = failure -> null;

  /**
   * Returns null if the failure is the call's result; otherwise the failure proves that nothing
   * ran. The stage may fail with a {@link StoreException}.
   */
  @Nullable CompletionStage<CallTarget> after(Throwable failure);
}
