// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.plan;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.Policy;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.rule.SlidingWindowLog;
import io.limiter.micronaut.annotation.Anonymous;
import io.limiter.micronaut.exception.DenialText;
import io.limiter.micronaut.subject.CountedSubject;
import io.limiter.micronaut.subject.SubjectSource;
import io.limiter.micronaut.thread.WarmUpStep;
import io.micronaut.core.annotation.Internal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.ToIntFunction;
import java.util.stream.Stream;

/** How one method is limited. Immutable, and made once for each method. */
@Internal
public final class LimitPlan {

  private final String method;
  private final Policy policy;
  private final List<PlannedCharge> quotas;
  private final Optional<DuplicateGuard> duplicates;
  private final Map<String, DenialText> texts;
  private final CompletionPlan outcomes;
  private final DenialPlan denials;
  private final boolean decidedByRequest;
  private final boolean beforeSecurity;
  private final boolean countsUsers;

  /**
   * @param method the method's class, name and parameter types
   * @param name the name of its policy
   * @param quotas what it takes from which subjects; none only if there is a duplicate guard
   * @param texts the texts of denials, by the name of the rule that denies
   * @param failure which of its calls have failed
   * @param denials the treatment of calls that are denied
   * @param beforeSecurity whether they are decided before security; then the request decides them
   */
  public LimitPlan(
      String method,
      String name,
      List<PlannedCharge> quotas,
      Optional<DuplicateGuard> duplicates,
      Map<String, DenialText> texts,
      CompletionPlan.Failure failure,
      DenialPlan denials,
      boolean beforeSecurity) {
    this.denials = denials;
    this.beforeSecurity = beforeSecurity;
    this.method = method;
    this.quotas = quotas;
    this.duplicates = duplicates;
    this.texts = texts;
    this.outcomes = CompletionPlan.of(quotas, failure);
    this.policy =
        new Policy(
            name,
            quotas.isEmpty() ? duplicates.orElseThrow().limit() : quotas.get(0).limit(),
            quotas.stream().map(PlannedCharge::rules).toList(),
            duplicates.map(DuplicateGuard::stack));
    this.countsUsers =
        Stream.concat(
                quotas.stream().map(PlannedCharge::source),
                duplicates.stream().map(DuplicateGuard::submitter))
            .anyMatch(SubjectSource.User.class::isInstance);
    this.decidedByRequest =
        quotas.stream()
                .noneMatch(
                    quota -> quota.source().needsArguments() || quota.cost().needsArguments())
            && duplicates
                .filter(
                    guard ->
                        guard.submission().needsArguments() || guard.submitter().needsArguments())
                .isEmpty();
  }

  /**
   * A plan of no method, for a {@link WarmUpStep}: it admits one call of an address in a second, or
   * one submission, and denies the next.
   *
   * @param limit what is limited, and nothing else is limited under this name
   * @param submissions whether it has a duplicate guard and no rule, else the reverse
   * @param text the text of a denial
   */
  public static LimitPlan ofWarmUp(String limit, boolean submissions, DenialText text) {
    RuleStack stack = RuleStack.of(List.of(SlidingWindowLog.of(1, Duration.ofSeconds(1))));
    SubjectSource source = new SubjectSource.Address();
    PlannedCharge quota =
        new PlannedCharge(limit, source, stack, stack, Cost.Fixed.ONE, Optional.empty());
    DuplicateGuard guard =
        new DuplicateGuard(
            limit,
            source,
            stack,
            new Submission.ByCaller(),
            Optional.empty(),
            new DuplicateGuard.Release.OnFailure(),
            text);
    return new LimitPlan(
        WarmUpStep.POLICY,
        WarmUpStep.POLICY,
        submissions ? List.of() : List.of(quota),
        submissions ? Optional.of(guard) : Optional.empty(),
        Map.of(stack.rules().get(0).name(), text),
        CompletionPlan.Failure.USUAL,
        new DenialPlan(WarmUpStep.POLICY, false, false),
        false);
  }

  /** The method's class, name and parameter types. */
  public String method() {
    return method;
  }

  /**
   * The policy that verdicts on its calls bear: its name, and all its rules, as they are for
   * callers that the source of their subject identifies.
   */
  public Policy policy() {
    return policy;
  }

  public List<PlannedCharge> quotas() {
    return quotas;
  }

  public Map<String, DenialText> texts() {
    return texts;
  }

  public Optional<DuplicateGuard> duplicates() {
    return duplicates;
  }

  /** What the end of its calls decides. */
  public CompletionPlan outcomes() {
    return outcomes;
  }

  /**
   * Whether the request alone decides, so that the gate can, before arguments are bound and the
   * body is read.
   */
  public boolean decidedByRequest() {
    return decidedByRequest;
  }

  /** Whether a rule, or the duplicate guard, counts the user who is logged in, by USER_ID. */
  public boolean countsUsers() {
    return countsUsers;
  }

  /** Whether the gate decides before security, so that security does not see denied requests. */
  public boolean beforeSecurity() {
    return beforeSecurity;
  }

  /** After which outcomes a submission may be made again. */
  public DuplicateGuard.Release release() {
    return duplicates.map(DuplicateGuard::release).orElseGet(DuplicateGuard.Release.Never::new);
  }

  /** Whether it makes a difference how a call ends, or that its caller leaves while it waits. */
  public boolean countsByCompletion() {
    return outcomes.decide() || duplicates.isPresent();
  }

  /** Whether a call may have to wait for its turn. */
  public boolean waits() {
    return outcomes.waits();
  }

  /** Whether the method has a parameter for the verdict. */
  public boolean takesVerdict() {
    return denials.takesVerdict();
  }

  /** Whether a call may enter the method on this verdict. */
  public boolean admits(Verdict verdict) {
    return denials.admit(verdict);
  }

  /**
   * The request to the store for one call; empty if the call is charged nothing.
   *
   * @param who finds the subject of a source
   * @param what finds the content by which a submission is compared with others; empty if it
   *     duplicates none
   * @param price computes the units of the call
   */
  public Optional<LimitRequest> request(
      Function<SubjectSource, CountedSubject> who,
      Function<Submission, Optional<String>> what,
      ToIntFunction<Cost> price) {
    Optional<String> content = duplicates.flatMap(guard -> what.apply(guard.submission()));
    List<Charge> charges = new ArrayList<>(quotas.size());
    Cost priced = Cost.Fixed.ONE;
    int units = 1;
    for (PlannedCharge quota : quotas) {
      if (!isPermit(quota) && !quota.cost().equals(priced)) { // once for those of one annotation
        priced = quota.cost();
        units = price.applyAsInt(priced);
      }
      charges.add(charge(quota, who.apply(quota.source()), units));
    }
    Optional<Charge> submission =
        duplicates.flatMap(guard -> submission(guard, charges, who, content));
    return charges.isEmpty() && submission.isEmpty()
        ? Optional.empty()
        : Optional.of(asked(new LimitRequest(policy, charges, submission)));
  }

  /**
   * The sources that count a method's calls, each once, irrespective of how calls without a subject
   * are limited; that of the duplicate guard only if all submissions of a submitter are equal.
   */
  List<SubjectSource> sources() {
    return Stream.concat(
            quotas.stream().map(PlannedCharge::source),
            guardBySubmitter().stream().map(DuplicateGuard::submitter))
        .map(source -> source.withAnonymous(Anonymous.ADDRESS))
        .distinct()
        .toList();
  }

  /**
   * The duplicate guard, if it needs nothing of a call but its submitter; otherwise no subject
   * alone names a submission.
   */
  Optional<DuplicateGuard> guardBySubmitter() {
    return duplicates.filter(guard -> guard.submission() instanceof Submission.ByCaller);
  }

  /**
   * The part of a call's request that some sources count, at the cost of the annotation; 1 unit
   * where the arguments of a call determine it. Empty if they count nothing.
   *
   * @param some selects sources
   * @param who finds the subject of a source
   */
  Optional<LimitRequest> part(
      Predicate<SubjectSource> some, Function<SubjectSource, CountedSubject> who) {
    List<RuleStack> stacks = new ArrayList<>();
    List<Charge> charges = new ArrayList<>();
    for (PlannedCharge quota : quotas) {
      if (some.test(quota.source())) {
        int units = quota.cost() instanceof Cost.Fixed fixed ? fixed.units() : 1;
        stacks.add(quota.rules());
        charges.add(charge(quota, who.apply(quota.source()), units));
      }
    }
    Optional<Charge> submission =
        guardBySubmitter()
            .filter(guard -> some.test(guard.submitter()))
            .map(
                guard ->
                    submission(
                        guard,
                        StateKey.of(guard.limit(), who.apply(guard.submitter()).subject()),
                        ""));
    if (charges.isEmpty() && submission.isEmpty()) {
      return Optional.empty();
    }
    Policy counted =
        new Policy(
            policy.name(),
            charges.isEmpty() ? submission.get().limit() : charges.get(0).limit(),
            stacks,
            submission.map(Charge::stack));
    return Optional.of(asked(new LimitRequest(counted, charges, submission)));
  }

  /** A concurrency limit has one place for a call, whatever it costs. */
  private static Charge charge(PlannedCharge quota, CountedSubject counted, int units) {
    RuleStack stack = quota.rules(counted.anonymous());
    StateKey key = StateKey.of(quota.limit(), counted.subject()).of(stack);
    return new Charge(quota.limit(), key, stack, isPermit(quota) ? 1 : units);
  }

  private static boolean isPermit(PlannedCharge quota) {
    return quota.rules().permitDuration().isPresent();
  }

  private LimitRequest asked(LimitRequest request) {
    return denials.observed() ? request.observe() : request;
  }

  /** The key of the submitter; its hash is known already where a rule counts the same subject. */
  private StateKey submitter(
      DuplicateGuard guard, List<Charge> charges, Function<SubjectSource, CountedSubject> who) {
    for (int i = 0; i < quotas.size(); i++) {
      if (quotas.get(i).limit().equals(guard.limit())
          && quotas.get(i).source().equals(guard.submitter())) {
        return charges.get(i).key();
      }
    }
    return StateKey.of(guard.limit(), who.apply(guard.submitter()).subject());
  }

  /**
   * The submitter is looked up even if there is nothing to submit: it may be missing, which is an
   * error.
   */
  private Optional<Charge> submission(
      DuplicateGuard guard,
      List<Charge> charges,
      Function<SubjectSource, CountedSubject> who,
      Optional<String> content) {
    StateKey submitter = submitter(guard, charges, who);
    return content.map(text -> submission(guard, submitter, text));
  }

  /** No method's description has a line break, so no content can make one look like another. */
  private Charge submission(DuplicateGuard guard, StateKey submitter, String content) {
    return new Charge(
        guard.limit(), submitter.duplicates(method + '\n' + content), guard.stack(), 1);
  }

  /** The text of the annotations for a denied call; a ban has none. */
  public DenialText text(Verdict verdict) {
    return DenialPlan.text(verdict, texts, duplicates);
  }
}
