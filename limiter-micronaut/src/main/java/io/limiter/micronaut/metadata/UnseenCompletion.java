// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import io.limiter.micronaut.plan.DuplicateGuard;
import io.limiter.micronaut.plan.PlannedCharge;
import io.micronaut.inject.ExecutableMethod;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;

/** Rejects settings that depend on a call's completion if the method's result does not show it. */
final class UnseenCompletion {

  // By name, since the classes may be absent.
  private static final Set<String> OF_KOTLIN =
      Set.of("kotlinx.coroutines.Deferred", "kotlinx.coroutines.Job");

  private UnseenCompletion() {}

  static void reject(
      ExecutableMethod<?, ?> method, AnnotationMembers rule, PlannedCharge.CountedCalls kind) {
    if (!isUnseen(method)
        || kind == PlannedCharge.CountedCalls.ALL
        || kind == PlannedCharge.CountedCalls.WAITING) {
      return;
    }
    throw kind == PlannedCharge.CountedCalls.IN_FLIGHT
        ? rule.error(
            "algorithm",
            "CONCURRENCY_LIMIT",
            remedy(method) + ", or limit how often it is called, with another algorithm")
        : rule.error("counts", kind, remedy(method) + ", or count all of its calls");
  }

  static void reject(
      ExecutableMethod<?, ?> method, AnnotationMembers limiter, DuplicateGuard.Release release) {
    if (!isUnseen(method) || release instanceof DuplicateGuard.Release.Never) {
      return;
    }
    String remedy = remedy(method) + ", or write releaseOnFailure = false";
    limiter.reject("releaseOn", remedy + " in its place");
    throw limiter.error("preventDuplicate", true, remedy);
  }

  private static boolean isUnseen(ExecutableMethod<?, ?> method) {
    Class<?> result = method.getReturnType().getType();
    return (Future.class.isAssignableFrom(result)
            && !CompletionStage.class.isAssignableFrom(result))
        || OF_KOTLIN.contains(result.getName());
  }

  private static String remedy(ExecutableMethod<?, ?> method) {
    return "the method returns "
        + method.getReturnType().getType().getName()
        + ", which does not show when its calls end: return a CompletionStage or a Publisher";
  }
}
