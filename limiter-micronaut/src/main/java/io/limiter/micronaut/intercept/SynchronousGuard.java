// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.intercept;

import io.limiter.micronaut.exception.LimitDeniedException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Guards a method that returns its result itself. */
final class SynchronousGuard {

  private SynchronousGuard() {}

  static @Nullable Object enter(GuardedCall call, Supplier<@Nullable Object> method) {
    Admission admission;
    try {
      admission = call.awaitAdmission();
    } catch (LimitDeniedException denied) {
      if (call.closesWebSocket(denied)) {
        return null;
      }
      throw denied;
    }
    return call.isHandedOn()
        ? handOn(call, admission.handedOn(), method)
        : run(call, admission, () -> call.enter(admission, method));
  }

  /** The thread that runs the method sees to its end, unless none takes it. */
  private static @Nullable Object handOn(
      GuardedCall call, Admission admission, Supplier<@Nullable Object> method) {
    call.handOn(rest -> run(call, admission, rest));
    try {
      return call.enter(admission, method);
    } catch (Throwable failure) {
      failed(call, admission, failure);
      throw failure;
    }
  }

  private static @Nullable Object run(
      GuardedCall call, Admission admission, Supplier<@Nullable Object> method) {
    Object result;
    try {
      result = method.get();
    } catch (Throwable failure) {
      failed(call, admission, failure);
      throw failure;
    }
    call.awaitReturned(admission, result);
    return result;
  }

  /** What the method has thrown goes before whatever may happen now. */
  private static void failed(GuardedCall call, Admission admission, Throwable failure) {
    try {
      call.awaitFailed(admission);
    } catch (RuntimeException second) {
      failure.addSuppressed(second);
    }
  }
}
