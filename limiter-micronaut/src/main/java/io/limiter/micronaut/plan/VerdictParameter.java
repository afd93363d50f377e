// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.Policy;
import io.limiter.core.Verdict;
import io.limiter.core.rule.SlidingWindowLogRule;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.type.Argument;
import java.time.Duration;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** The parameter of a limited method that takes the verdict on its call, denied or not. */
@Internal
public final class VerdictParameter {

  /** Stands for the policy of a call that nothing limits; a policy needs a rule. */
  private static final Verdict UNLIMITED =
      Verdict.free(Policy.of("unlimited", SlidingWindowLogRule.of(1, Duration.ofSeconds(1))));

  private VerdictParameter() {}

  /** The verdict on a call that nothing limits: it is allowed, and has no rules. */
  public static Verdict unlimited() {
    return UNLIMITED;
  }

  /** Whether one of these parameters of a method takes the verdict on its call. */
  public static boolean takeVerdict(Argument<?>[] arguments) {
    return Arrays.stream(arguments).anyMatch(VerdictParameter::takesVerdict);
  }

  /** Whether this parameter takes the verdict on a call: whatever else is passed there. */
  public static boolean takesVerdict(Argument<?> argument) {
    return argument.getType() == Verdict.class;
  }

  /** Passes the verdict to the parameters that take it. */
  public static void passVerdict(
      Argument<?>[] arguments, @Nullable Object[] values, Verdict verdict) {
    for (int i = 0; i < arguments.length; i++) {
      if (takesVerdict(arguments[i])) {
        values[i] = verdict;
      }
    }
  }
}
