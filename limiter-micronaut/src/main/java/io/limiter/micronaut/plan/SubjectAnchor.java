// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.Subject;
import io.limiter.core.rule.CalendarPeriod;
import io.limiter.core.rule.RuleStack;
import io.limiter.micronaut.annotation.PeriodAnchor;
import io.limiter.micronaut.definition.CallExpression;
import io.limiter.micronaut.exception.InvalidCallException.InvalidAnchorException;
import io.limiter.micronaut.exception.InvalidCallException.MissingSubjectException;
import io.limiter.micronaut.plan.NamedBeans.BeanRef;
import io.limiter.micronaut.subject.RequestSubjects;
import io.micronaut.core.annotation.Internal;
import io.micronaut.http.HttpRequest;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.util.Optional;
import java.util.Set;

/** Determines the day on which the periods of a subject begin: by a bean, or by the arguments. */
@Internal
public sealed interface SubjectAnchor {

  /** The day before it is known: with it periods begin as the calendar has them. */
  LocalDate USUAL = LocalDate.of(2024, 1, 1);

  /** The expression over the arguments of the method that gives it; empty if it is a bean. */
  default Optional<CallExpression> byArguments() {
    return Optional.empty();
  }

  /**
   * The day of the subject of a call. Runs code of the application.
   *
   * @param rules whose periods begin on it
   * @throws InvalidAnchorException if the arguments give no day
   */
  LocalDate of(Subject subject, CallValues call, RuleStack rules);

  /** The day of a subject that code names; the usual one if only a call has it. */
  LocalDate of(Subject subject);

  /**
   * Reads a day: a date, or, if all periods are months or all are weeks, the number of the day.
   *
   * @throws IllegalArgumentException if it is none; the message does not contain it
   */
  static LocalDate day(String text, RuleStack rules) {
    Set<CalendarPeriod> periods = Set.copyOf(rules.periodsOfSubject());
    boolean months = periods.equals(Set.of(CalendarPeriod.MONTH));
    boolean weeks = periods.equals(Set.of(CalendarPeriod.WEEK));
    try {
      if ((months || weeks) && text.length() <= 2) {
        int day = Integer.parseInt(text);
        if (day >= 1 && day <= (months ? 31 : 7)) {
          return USUAL.withDayOfMonth(day); // the first is a Monday
        }
      } else {
        return LocalDate.parse(text);
      }
    } catch (DateTimeException | NumberFormatException unreadable) {
      // Rejected below.
    }
    throw new IllegalArgumentException(
        "it must be a date such as 2024-01-31"
            + (months ? ", or a day of the month, 1 to 31" : "")
            + (weeks ? ", or a day of the week, 1 for Monday to 7" : ""));
  }

  /** A bean of the application. */
  record OfBean(BeanRef<PeriodAnchor> bean) implements SubjectAnchor {

    @Override
    public LocalDate of(Subject subject, CallValues call, RuleStack rules) {
      return asked(subject, call.request());
    }

    @Override
    public LocalDate of(Subject subject) {
      return asked(subject, Optional.empty());
    }

    private LocalDate asked(Subject subject, Optional<HttpRequest<?>> request) {
      LocalDate day = bean.object().get().anchor(RequestSubjects.valueOf(subject), request);
      if (day == null) {
        throw new IllegalStateException(
            "The anchor '%s' returned null: let it return a date for every subject"
                .formatted(bean));
      }
      return day;
    }

    @Override
    public String toString() {
      return bean.name();
    }
  }

  /** An expression over the arguments of the method. */
  record OfArguments(CallExpression expression) implements SubjectAnchor {

    @Override
    public Optional<CallExpression> byArguments() {
      return Optional.of(expression);
    }

    @Override
    public LocalDate of(Subject subject, CallValues call, RuleStack rules) {
      String text;
      try {
        text = call.text(expression);
      } catch (MissingSubjectException missing) {
        throw new InvalidAnchorException(String.valueOf(missing.getMessage()));
      }
      try {
        return day(text, rules);
      } catch (IllegalArgumentException unreadable) {
        throw new InvalidAnchorException(
            expression.mistake("the expression gives no day: " + unreadable.getMessage()));
      }
    }

    @Override
    public LocalDate of(Subject subject) {
      return USUAL;
    }

    @Override
    public String toString() {
      return expression.toString();
    }
  }
}
