// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.call;

import io.limiter.core.LimitRequest;
import io.limiter.core.Verdict;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.subject.CountedSubject;
import io.limiter.micronaut.subject.SubjectSource;
import io.micronaut.core.annotation.Internal;
import java.util.function.Function;

/**
 * Receives each call that gate or guard denies. Runs on the thread that denies it, often an event
 * loop: it must not block or throw.
 */
@Internal
public interface DenialListener {

  /**
   * A call is denied: its method is not entered.
   *
   * @param asked what the store was asked, which names the subjects
   * @param who finds the subject of a source in clear; during this call only. It may fail
   */
  void denied(
      LimitPlan plan,
      LimitRequest asked,
      Verdict verdict,
      Function<SubjectSource, CountedSubject> who);
}
