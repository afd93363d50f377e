// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metrics;

import io.limiter.core.DecidedBy;
import io.limiter.core.FailureReason;
import io.limiter.core.Outcome;
import io.limiter.core.RuleVerdict;
import io.limiter.core.StoreException;
import io.limiter.core.Verdict;
import io.limiter.core.redis.RedisHealth.NodeListener;
import io.limiter.core.rule.Rule;
import io.limiter.core.store.StoreListener;
import io.limiter.micronaut.call.AdmissionControl;
import io.limiter.micronaut.call.AdmissionControl.VerdictListener;
import io.limiter.micronaut.call.ArrivingCall;
import io.limiter.micronaut.call.LimitWarnings.Warning;
import io.limiter.micronaut.call.LimitWarnings.WarningListener;
import io.limiter.micronaut.config.SettingsRefresh.SettingsShare;
import io.limiter.micronaut.plan.EndpointPart;
import io.limiter.micronaut.plan.EndpointPart.Meters;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlanRegistry;
import io.limiter.micronaut.plan.PolicyPlan;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micronaut.context.BeanContext;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.context.event.StartupEvent;
import jakarta.annotation.PreDestroy;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The meters {@code limiter.*}. Each is looked up once and kept: a decision costs the lookup of its
 * policy's meters, and an increment. They count from the start of the application on: the registry
 * is a bean that may need beans with limits, so it is not asked for earlier.
 */
@Singleton
@Requires(classes = MeterRegistry.class)
@Requires(beans = MeterRegistry.class)
@SuppressWarnings("EnumOrdinal") // indexes of arrays in this process
final class LimiterMeters
    implements VerdictListener,
        WarningListener,
        StoreListener,
        NodeListener,
        ApplicationEventListener<StartupEvent> {

  /** The most values of the tag {@code policy}, beside {@value #OTHER}. */
  static final int MAX_POLICIES = 1_000;

  /** The most values of the tag {@code rule} in one policy, beside {@value #OTHER}. */
  static final int MAX_RULES = 100;

  private static final String OTHER = "other";
  private static final String NONE = "none";
  private static final String POLICY = "policy";
  private static final String RULE = "rule";
  private static final String OUTCOME = "outcome";

  /** The bounds of the histogram of {@code limiter.store}; the default deadline is one of them. */
  private static final Duration[] STORE_BOUNDS =
      IntStream.of(500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 1_000_000)
          .mapToObj(micros -> Duration.of(micros, ChronoUnit.MICROS))
          .toArray(Duration[]::new);

  private static final int DECIDERS = DecidedBy.values().length;
  private static final int OUTCOMES = Outcome.values().length;
  private static final int REASONS = FailureReason.values().length;

  private final BeanContext beans;
  private final Map<String, BooleanSupplier> breakers = new ConcurrentHashMap<>();
  private final Map<String, PolicyMeters> policies = new ConcurrentHashMap<>();

  /** The timers of the store: by the reason of its failure, and last that of its decisions. */
  private final AtomicReferenceArray<@Nullable Timer> store =
      new AtomicReferenceArray<>(REASONS + 1);

  /** The meters that read beans of this application; they end with it, the counts stay. */
  private final Queue<Meter> states = new ConcurrentLinkedQueue<>();

  /** Null until the application has started, and after its end. */
  private volatile @Nullable MeterRegistry registry;

  LimiterMeters(BeanContext beans) {
    this.beans = beans;
  }

  @Override
  public void onApplicationEvent(StartupEvent started) {
    MeterRegistry found = beans.getBean(MeterRegistry.class);
    addStates(new States(found, states));
    registry = found;
    breakers.forEach((node, open) -> addBreaker(found, node, open));
  }

  /** The registry may be that of several applications, and outlive this one. */
  @PreDestroy
  void close() {
    MeterRegistry meters = registry;
    registry = null;
    if (meters != null) {
      states.forEach(meters::remove);
    }
  }

  private void addStates(Meters meters) {
    AdmissionControl calls = beans.getBean(AdmissionControl.class);
    meters.gauge("limiter.waiting", "Calls that wait for their turn", calls::waiting);
    beans
        .findBean(SettingsShare.class)
        .filter(SettingsShare::isShared)
        .ifPresent(share -> addShared(meters, share));
    meters.count(
        "limiter.result.cost.clamped",
        "Results and items whose actual cost was out of range",
        beans.getBean(PlanRegistry.Source.class).parts().clampedCosts()::sum);
    beans.getBeansOfType(EndpointPart.class).forEach(part -> part.meters(meters));
  }

  private static void addShared(Meters meters, SettingsShare share) {
    meters.gauge(
        "limiter.shared.settings.version",
        "The version of the shared settings in use, 0 if there are none",
        () -> share.status().version().orElse(0));
    meters.gauge(
        "limiter.shared.settings.problem",
        "1 while the shared settings cannot be read or used, else 0",
        () -> share.status().problem().isPresent() ? 1 : 0);
  }

  /**
   * Adds meters that read beans of this application.
   *
   * @param added ends them with it, and is their strong reference
   */
  private record States(MeterRegistry registry, Queue<Meter> added) implements Meters {

    @Override
    public void gauge(String name, String description, LongSupplier now, String... tags) {
      added.add(
          Gauge.builder(name, now::getAsLong)
              .tags(tags)
              .description(description)
              .register(registry));
    }

    @Override
    public void count(String name, String description, LongSupplier now, String... tags) {
      added.add(
          FunctionCounter.builder(name, added, any -> now.getAsLong())
              .tags(tags)
              .description(description)
              .register(registry));
    }
  }

  private void addBreaker(MeterRegistry meters, String node, BooleanSupplier isLost) {
    new States(meters, states)
        .gauge(
            "limiter.breaker",
            "1 while a Redis node is lost: its breaker is open, or it has no connection; else 0",
            () -> isLost.getAsBoolean() ? 1 : 0,
            "node",
            node);
  }

  @Override
  public void added(String node, BooleanSupplier isLost) {
    breakers.put(node, isLost); // as many as there are breakers: those are bounded
    MeterRegistry meters = registry;
    if (meters != null) { // else the start adds it
      addBreaker(meters, node, isLost);
    }
  }

  @Override
  public void lost(String node, StoreException why) {}

  @Override
  public void back(String node) {}

  @Override
  public void ended(long nanos, @Nullable FailureReason failure) {
    MeterRegistry meters = registry;
    if (meters == null) {
      return;
    }
    int index = failure == null ? REASONS : failure.ordinal();
    Timer timer = store.get(index);
    if (timer == null) {
      timer =
          Timer.builder("limiter.store")
              .tag(OUTCOME, failure == null ? "decided" : TagValues.of(failure))
              .description("The time until Redis has decided a call, or has failed to")
              .serviceLevelObjectives(STORE_BOUNDS)
              .register(meters);
      store.set(index, timer);
    }
    timer.record(nanos, TimeUnit.NANOSECONDS);
  }

  @Override
  public void decided(ArrivingCall<?> call, Verdict verdict) {
    LimitPlan plan = call.plan();
    MeterRegistry meters = registry;
    if (meters == null || verdict.decidedBy() == DecidedBy.NONE) {
      return;
    }
    List<PolicyPlan> policies = plan.policies();
    if (verdict.allowed()) {
      for (int i = 0; i < policies.size(); i++) {
        policy(policies.get(i).name()).of(NONE).decision(meters, verdict).increment();
      }
    } else {
      policy(plan.denying(verdict).name())
          .of(verdict.denying().map(RuleVerdict::rule).map(Rule::name).orElse(NONE))
          .decision(meters, verdict)
          .increment();
    }
    for (int i = 0; plan.observesSome() && i < policies.size(); i++) {
      if (policies.get(i).observesSome()) {
        observe(meters, plan, policies.get(i), verdict);
        if (verdict.allowed() || plan.isObserved()) {
          tried(meters, policies.get(i), verdict);
        }
      }
    }
  }

  @Override
  public void warned(Warning warning) {
    MeterRegistry meters = registry;
    if (meters != null) {
      policy(warning.policy()).of(warning.rule().rule().name()).nearLimit(meters).increment();
    }
  }

  @Override
  public void streamCut(Verdict denied) {
    MeterRegistry meters = registry;
    if (meters != null) {
      policy(denied.policy().name())
          .of(denied.denying().map(rule -> rule.rule().name()).orElse(NONE))
          .cut(meters)
          .increment();
    }
  }

  /** Counts a call that an observed policy would have denied, for the first rule that would. */
  private void observe(MeterRegistry meters, LimitPlan plan, PolicyPlan policy, Verdict verdict) {
    Optional<RuleVerdict> denying = policy.wouldDeny(verdict);
    if (denying.isPresent() || (plan.isObserved() && !verdict.allowed())) {
      policy(policy.name())
          .of(denying.map(RuleVerdict::rule).map(Rule::name).filter(policy::hasRule).orElse(NONE))
          .observed(meters)
          .increment();
    }
  }

  /** Counts a call that rules on trial would have denied, for the first that would. */
  private void tried(MeterRegistry meters, PolicyPlan policy, Verdict verdict) {
    policy
        .wouldDenyOnTrial(verdict)
        .ifPresent(rule -> policy(policy.name()).of(rule.rule().name()).trial(meters).increment());
  }

  private PolicyMeters policy(String name) {
    PolicyMeters known = policies.get(name);
    if (known != null) {
      return known;
    }
    String tag = policies.size() < MAX_POLICIES ? name : OTHER;
    return policies.computeIfAbsent(tag, PolicyMeters::new);
  }

  /** The meters of one policy. */
  private static final class PolicyMeters {

    private final String policy;
    private final RuleMeters none;
    private final Map<String, RuleMeters> rules = new ConcurrentHashMap<>();

    PolicyMeters(String policy) {
      this.policy = policy;
      this.none = new RuleMeters(policy, NONE);
    }

    RuleMeters of(String rule) {
      if (rule.equals(NONE)) {
        return none;
      }
      RuleMeters known = rules.get(rule);
      if (known != null) {
        return known;
      }
      String tag = rules.size() < MAX_RULES ? rule : OTHER;
      return rules.computeIfAbsent(tag, name -> new RuleMeters(policy, name));
    }
  }

  /** The meters of one rule of a policy, or of its calls that no rule denies. */
  private static final class RuleMeters {

    private final String policy;
    private final String rule;
    private final AtomicReferenceArray<@Nullable Counter> decisions =
        new AtomicReferenceArray<>(OUTCOMES * DECIDERS);
    private volatile @Nullable Counter observed;
    private volatile @Nullable Counter trial;

    RuleMeters(String policy, String rule) {
      this.policy = policy;
      this.rule = rule;
    }

    Counter decision(MeterRegistry meters, Verdict verdict) {
      int index = verdict.outcome().ordinal() * DECIDERS + verdict.decidedBy().ordinal();
      Counter counter = decisions.get(index);
      if (counter == null) {
        counter =
            counter("limiter.decisions", "Decisions on calls of limited methods")
                .tag(OUTCOME, TagValues.of(verdict.outcome()))
                .tag("decided.by", TagValues.of(verdict.decidedBy()))
                .register(meters);
        decisions.set(index, counter);
      }
      return counter;
    }

    Counter observed(MeterRegistry meters) {
      Counter counter = observed;
      if (counter == null) {
        counter =
            counter("limiter.observed", "Calls that an observed policy would have denied")
                .register(meters);
        observed = counter;
      }
      return counter;
    }

    /** Rarely used, so the registry looks it up. */
    Counter nearLimit(MeterRegistry meters) {
      return counter("limiter.near.limit", "Subjects that came near a limit, once a period")
          .register(meters);
    }

    /** Rarely used, so the registry looks it up. */
    Counter cut(MeterRegistry meters) {
      return counter("limiter.stream.cut", "Streams that ended because a step was denied")
          .register(meters);
    }

    Counter trial(MeterRegistry meters) {
      Counter counter = trial;
      if (counter == null) {
        counter =
            counter("limiter.trial.denied", "Admitted calls that rules on trial would have denied")
                .register(meters);
        trial = counter;
      }
      return counter;
    }

    private Counter.Builder counter(String name, String description) {
      return Counter.builder(name).tag(POLICY, policy).tag(RULE, rule).description(description);
    }
  }

  /** The words of verdicts as values of tags and attributes, such as {@code deny_cache}. */
  static final class TagValues {

    private static final Map<Enum<?>, String> WORDS =
        Stream.<Enum<?>[]>of(Outcome.values(), DecidedBy.values(), FailureReason.values())
            .flatMap(Stream::of)
            .collect(
                Collectors.toMap(
                    Function.identity(), word -> word.name().toLowerCase(Locale.ROOT)));

    private TagValues() {}

    static String of(Enum<?> word) {
      return WORDS.getOrDefault(word, "other");
    }
  }
}
