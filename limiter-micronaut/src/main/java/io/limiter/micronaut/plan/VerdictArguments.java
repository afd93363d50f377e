// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.Policy;
import io.limiter.core.Verdict;
import io.limiter.core.rule.SlidingWindowLog;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.type.Argument;
import java.time.Duration;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** The parameters of a method that take the verdict on its call: whatever else is passed there. */
@Internal
public final class VerdictArguments {

  /** Stands for the policy of a call that nothing limits; a policy needs a rule. */
  private static final Verdict UNLIMITED =
      Verdict.free(Policy.of("unlimited", SlidingWindowLog.of(1, Duration.ofSeconds(1))));

  private VerdictArguments() {}

  /** The verdict on a call that nothing limits: it is allowed, and has no rules. */
  public static Verdict unlimited() {
    return UNLIMITED;
  }

  public static boolean any(Argument<?>[] arguments) {
    return Arrays.stream(arguments).anyMatch(VerdictArguments::takesVerdict);
  }

  /** Whether a parameter is one of them. */
  public static boolean takesVerdict(Argument<?> argument) {
    return argument.getType() == Verdict.class;
  }

  /** Passes the verdict. */
  public static void set(Argument<?>[] arguments, @Nullable Object[] values, Verdict verdict) {
    for (int i = 0; i < arguments.length; i++) {
      if (takesVerdict(arguments[i])) {
        values[i] = verdict;
      }
    }
  }
}
