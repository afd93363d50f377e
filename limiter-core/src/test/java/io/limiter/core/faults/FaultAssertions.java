// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.faults;

import static io.limiter.core.faults.FaultBench.ANSWERED;
import static io.limiter.core.faults.FaultBench.NOISE;
import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.Verdict;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What must be true of the answers to a load, whatever happened to the store. */
final class FaultAssertions {

  private FaultAssertions() {}

  /** Every call had its answer in time. */
  static void assertAnsweredInTime(Collection<TimedVerdict> answers) {
    assertThat(answers).isNotEmpty();
    List<Duration> latencies = answers.stream().map(TimedVerdict::latency).sorted().toList();
    assertThat(latencies.get(latencies.size() - 1))
        .as("slowest of %d answers", latencies.size())
        .isLessThan(ANSWERED.multipliedBy(NOISE));
    assertThat(latencies.get(latencies.size() / 2)).as("median").isLessThan(ANSWERED);
    assertThat(answers).as("failed").allMatch(answer -> answer.verdict().isPresent());
  }

  /** Nothing failed, except for the few that a pause of this machine made late. */
  static void assertDecidedByRedis(Collection<TimedVerdict> answers) {
    assertThat(reasons(answers))
        .isSubsetOf(FailureReason.TIMEOUT, FailureReason.PROCESS_LATE, FailureReason.BREAKER_OPEN);
    assertThat(fromStore(answers)).hasSizeGreaterThanOrEqualTo(answers.size() * 9 / 10);
  }

  /** No subject got more from this source than the rule allows, plus what the fault excuses. */
  static void assertNotOverAdmitted(
      Collection<TimedVerdict> answers, DecidedBy source, long most, Duration window) {
    assertNotOverAdmitted(
        answers.stream()
            .filter(answer -> answer.verdict().filter(v -> v.decidedBy() == source).isPresent())
            .toList(),
        most,
        window);
  }

  /** Like the above, of Redis and the fallback together. */
  static void assertNotOverAdmitted(Collection<TimedVerdict> answers, long most, Duration window) {
    AtomicLong number = new AtomicLong();
    List<OverAdmissionChecker.Admission> admissions =
        answers.stream()
            .filter(answer -> answer.verdict().filter(Verdict::allowed).isPresent())
            .map(
                answer ->
                    new OverAdmissionChecker.Admission(
                        answer.subject(),
                        answer.sent(),
                        answer.answered(),
                        Long.toString(number.incrementAndGet())))
            .toList();
    assertThat(admissions).as("admitted").isNotEmpty();
    assertThat(new OverAdmissionChecker(most, window).violations(admissions)).isEmpty();
  }

  /** No call got the reply of another, if these are answers to {@link #unlikeCalls}. */
  static void assertEachGotItsOwnReply(Collection<TimedVerdict> answers) {
    List<Long> used =
        fromStore(answers).stream()
            .map(verdict -> verdict.rules().get(0))
            .map(rule -> rule.rule().count() - rule.remaining())
            .toList();
    assertThat(used)
        .as("units used, according to the replies")
        .allMatch(units -> units >= 1 && units < 1_000);
  }

  static List<Verdict> fromStore(Collection<TimedVerdict> answers) {
    return answers.stream()
        .flatMap(answer -> answer.verdict().stream())
        .filter(verdict -> verdict.decidedBy() == DecidedBy.STORE)
        .toList();
  }

  /** The fallback decided for these reasons, and because the breaker had opened for them. */
  static void assertFellBack(Collection<TimedVerdict> answers, FailureReason... why) {
    assertThat(reasons(answers))
        .containsAnyOf(why)
        .isSubsetOf(Stream.concat(Stream.of(why), Stream.of(FailureReason.BREAKER_OPEN)).toList());
  }

  /** Why the fallback decided, each reason once. */
  static Set<FailureReason> reasons(Collection<TimedVerdict> answers) {
    return answers.stream()
        .flatMap(answer -> answer.verdict().stream())
        .flatMap(verdict -> verdict.reason().stream())
        .collect(Collectors.toSet());
  }
}
