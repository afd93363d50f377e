// SPDX-License-Identifier: Apache-2.0
package io.limiter.processor;

import io.limiter.core.rule.Counting;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.FixedWindowRule.Alignment;
import io.limiter.core.rule.LeakyBucketRule;
import io.limiter.core.rule.Rule;
import io.limiter.core.rule.TokenBucketRule;
import io.limiter.micronaut.plan.CompletionPlan.Failure;
import io.limiter.micronaut.plan.DuplicateGuard;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlannedCharge;
import io.limiter.micronaut.plan.PlannedCharge.Cost;
import io.limiter.micronaut.subject.ClientAddress;
import io.limiter.micronaut.subject.SubjectSource;
import java.time.Duration;
import java.util.regex.Pattern;

/** Words for rules, for people who read the documentation of an API. */
final class RuleWords {

  private static final Pattern ARGUMENT = Pattern.compile("(?!this\\b)\\w+(\\??\\.\\w+(\\(\\))?)*");
  private static final Pattern ADDRESS =
      Pattern.compile("ctx\\[[^]]*" + ClientAddress.class.getSimpleName() + "\\]\\.of\\(\\w+\\)");

  private RuleWords() {}

  /** Such as {@code 10 calls in 60 s for each user}. */
  static String of(Rule rule, PlannedCharge planned, LimitPlan plan) {
    String units = units(planned, plan);
    String numbers;
    if (rule.holdsPermits()) {
      numbers = "%s calls at the same time".formatted(rule.count());
    } else if (rule instanceof TokenBucketRule bucket) {
      numbers =
          "%s %s at once, and %s more in each %s"
              .formatted(rule.count(), units, bucket.refill(), time(bucket.interval()));
    } else if (rule instanceof LeakyBucketRule bucket) {
      numbers =
          "%s %s in %s, evenly; up to %s wait"
              .formatted(rule.count(), units, time(rule.window()), bucket.queue());
    } else if (rule instanceof CustomRule own) {
      numbers =
          "%s %s in %s, by an algorithm of the service"
              .formatted(own.count(), units, time(own.window()));
    } else {
      numbers = "%s %s in %s".formatted(rule.count(), units, window(rule));
    }
    return numbers + " for " + subject(planned.source());
  }

  /** Such as {@code 1 equal submission in 5 s for each client address}. */
  static String of(DuplicateGuard guard) {
    Rule rule = guard.stack().rules().get(0);
    return "%s equal submission%s in %s for %s"
        .formatted(
            rule.count(),
            rule.count() == 1 ? "" : "s",
            time(rule.window()),
            subject(guard.submitter()));
  }

  private static String units(PlannedCharge planned, LimitPlan plan) {
    Counting counting = planned.rules().counting();
    Failure failure = plan.outcomes().failures().get(planned.rules());
    if (failure != null && failure.counted().isPresent()) {
      return "calls with certain answers";
    }
    if (counting == Counting.FAILURES) {
      return "failed calls";
    }
    if (counting == Counting.SUCCESSES) {
      return "successful calls";
    }
    return planned.cost().equals(Cost.ONE) ? "calls" : "units";
  }

  private static String subject(SubjectSource source) {
    return switch (source.kind()) {
      case ADDRESS -> "each client address";
      case EVERYBODY -> "all callers together";
      case SUBMITTER, USER -> "each user";
      case HEADER -> {
        SubjectSource.Header header = (SubjectSource.Header) source;
        yield "each %s the header %s"
            .formatted(header.address() ? "client address in" : "value of", header.name());
      }
      case EXPRESSION -> {
        String text = ((SubjectSource.Expression) source).expression().toString();
        yield expression(text.substring(2, text.length() - 1).strip());
      }
      case RESOLVER -> "each caller";
    };
  }

  /** An argument and its parts are of the API; beans, classes and code are not. */
  private static String expression(String code) {
    if (ADDRESS.matcher(code).matches()) {
      return "each client address";
    }
    return ARGUMENT.matcher(code).matches()
        ? "each value of the argument " + code.replace("?", "").replace("()", "")
        : "each value that the service computes";
  }

  private static String window(Rule rule) {
    return rule instanceof FixedWindowRule fixed
        ? fixed
            .alignment()
            .flatMap(Alignment::calendar)
            .map(each -> "each " + each)
            .orElseGet(() -> time(rule.window()))
        : time(rule.window());
  }

  private static String time(Duration time) {
    return time.toNanosPart() == 0 ? time.toSeconds() + " s" : time.toMillis() + " ms";
  }
}
