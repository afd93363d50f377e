// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.management;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.StoreException;
import io.limiter.core.Verdict;
import io.limiter.core.override.SubjectOverride;
import io.limiter.core.util.LogThrottle;
import io.limiter.core.util.NearestNames;
import io.limiter.micronaut.config.LimitSettings;
import io.limiter.micronaut.config.LimiterConfiguration.ManagementConfiguration;
import io.limiter.micronaut.config.LimiterConfiguration.OverridesConfiguration;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.config.SettingsRefresh;
import io.limiter.micronaut.config.SettingsRefresh.SettingsShare;
import io.limiter.micronaut.event.LimiterEvent;
import io.limiter.micronaut.event.SubjectDigest;
import io.limiter.micronaut.management.RequestBody.NamedSubject;
import io.limiter.micronaut.plan.LimitOverrides;
import io.limiter.micronaut.plan.LimitPolicies;
import io.limiter.micronaut.plan.LimitedPolicy;
import io.limiter.micronaut.subject.TierLookup;
import io.micronaut.context.BeanProvider;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.convert.ConversionService;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.annotation.Body;
import io.micronaut.http.exceptions.HttpStatusException;
import io.micronaut.json.JsonMapper;
import io.micronaut.management.endpoint.annotation.Endpoint;
import io.micronaut.management.endpoint.annotation.Read;
import io.micronaut.management.endpoint.annotation.Selector;
import io.micronaut.management.endpoint.annotation.Write;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;
import jakarta.inject.Named;
import jakarta.inject.Singleton;
import java.security.Principal;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The endpoint {@code limits}: the policies and who is denied most; one subject under a policy,
 * looked at, reset, or with its ban lifted; and whether a policy is only observed. With {@code
 * limiter.overrides.enabled} also other limits for one subject.
 *
 * <pre>
 * GET  /limits                     all policies, top talkers, shared settings
 * GET  /limits/{policy}            one of them
 * POST /limits                     {"forgetTalkers": true}
 * POST /limits/{policy}            {"observe": true}
 * POST /limits/{policy}/look       {"user": "ada"}
 * POST /limits/{policy}/reset
 * POST /limits/{policy}/lift-ban
 * POST /limits/{policy}/override      {"user": "ada", "counts": {"10-per-60s": 50}, "time": "2h"}
 * POST /limits/{policy}/end-override
 * </pre>
 *
 * <p>Its methods run on threads that may block. What continues after the store's answer does, too:
 * writing the audit line may block.
 */
@Internal
@Singleton
@Endpoint(id = LimitsEndpoint.ID, defaultEnabled = false, defaultSensitive = true)
@ExecuteOn(TaskExecutors.BLOCKING)
public final class LimitsEndpoint {

  /** Its name, and its path. */
  public static final String ID = "limits";

  private static final String LOOK = "look";
  private static final String RESET = "reset";
  private static final String LIFT_BAN = "lift-ban";
  private static final String OVERRIDE = "override";
  private static final String END_OVERRIDE = "end-override";
  private static final List<String> OPERATIONS =
      List.of(LOOK, RESET, LIFT_BAN, OVERRIDE, END_OVERRIDE);

  // Members of the body of an override.
  private static final String COUNTS = "counts";
  private static final String UNLIMITED = "unlimited";
  private static final String TIME = "time";
  private static final String COUNTS_EXAMPLE = "{\"10-per-60s\": 50}";

  private static final String OBSERVE = "observe";
  private static final String FORGET_TALKERS = "forgetTalkers";

  private final LimitPolicies policies;
  private final PoliciesConfiguration settings;
  private final Limiter limiter;
  private final BeanProvider<PolicyStatistics> statistics;
  private final BeanProvider<AuditLog> audit;
  private final SubjectDigest digest;
  private final SettingsRefresh own;
  private final Optional<SettingsShare> shared;
  private final Optional<LimitOverrides> overrides;
  private final Optional<TierLookup> tiers;
  private final ConversionService conversion;
  private final JsonMapper mapper;
  private final ExecutorService threads;
  private final boolean showSubjects;

  LimitsEndpoint(
      LimitPolicies policies,
      PoliciesConfiguration settings,
      Limiter limiter,
      BeanProvider<PolicyStatistics> statistics,
      BeanProvider<AuditLog> audit,
      SubjectDigest digest,
      SettingsRefresh own,
      Optional<SettingsShare> shared,
      Optional<LimitOverrides> overrides,
      Optional<TierLookup> tiers,
      ConversionService conversion,
      JsonMapper mapper,
      @Named(TaskExecutors.BLOCKING) ExecutorService threads,
      ManagementConfiguration management) {
    this.policies = policies;
    this.settings = settings;
    this.limiter = limiter;
    this.statistics = statistics;
    this.audit = audit;
    this.digest = digest;
    this.own = own;
    this.shared = shared.filter(SettingsShare::isShared);
    this.overrides = overrides.filter(LimitOverrides::isEnabled);
    this.tiers = tiers;
    this.conversion = conversion;
    this.mapper = mapper;
    this.threads = threads;
    this.showSubjects = management.showSubjects();
  }

  /** All policies, who is denied most by this instance, and the state of the shared settings. */
  @Read
  Map<String, Object> all() {
    Map<String, Object> view = new LinkedHashMap<>();
    view.put("policies", policies.names().stream().map(name -> view(policies.get(name))).toList());
    view.put("topTalkers", statistics.get().talkers(Optional.empty()));
    view.put("overrides", overrides(override -> true));
    shared.ifPresent(share -> view.put("sharedSettings", LimitViews.shared(share.status())));
    return view;
  }

  /** One policy, and who is denied most by it. */
  @Read
  Map<String, Object> one(@Selector String policy) {
    Map<String, Object> view = view(policy(policy));
    view.put("topTalkers", statistics.get().talkers(Optional.of(policy)));
    view.put("overrides", overrides(override -> override.policy().equals(policy)));
    return view;
  }

  /** Starts to count denials again. */
  @Write
  Map<String, Object> change(HttpRequest<?> request, @Nullable @Body String body) {
    RequestBody.read(
            mapper, body, List.of(FORGET_TALKERS), "{\"%s\": true}".formatted(FORGET_TALKERS))
        .requireTrue(FORGET_TALKERS);
    long before = statistics.get().denials();
    statistics.get().forgetTalkers();
    audit
        .get()
        .report(
            new LimiterEvent.Audit(
                who(request), "forget-talkers", "all", "", before + " denials", "0 denials"));
    return statistics.get().talkers(Optional.empty());
  }

  /** Changes a policy. */
  @Write
  CompletionStage<Map<String, Object>> change(
      HttpRequest<?> request, @Selector String policy, @Nullable @Body String body) {
    LimitedPolicy limited = policy(policy);
    boolean observe =
        RequestBody.read(mapper, body, List.of(OBSERVE), "{\"%s\": true}".formatted(OBSERVE))
            .flag(OBSERVE);
    boolean before = isObserved(limited);
    String name = limited.name() + '.' + OBSERVE;
    CompletionStage<Optional<String>> set =
        shared.isPresent()
            ? shared.get().set(name, Boolean.toString(observe))
            : CompletableFuture.completedFuture(own.set(name, Boolean.toString(observe)));
    LimiterEvent.Audit change =
        new LimiterEvent.Audit(
            who(request), OBSERVE, limited.name(), "", Boolean.toString(before), "");
    return audited(
        set,
        change,
        problem -> {
          if (problem.isPresent()) {
            throw new HttpStatusException(
                HttpStatus.CONFLICT,
                "The policy '%s' is unchanged: %s".formatted(limited.name(), problem.get()));
          }
          return Boolean.toString(observe);
        },
        () -> {
          Map<String, Object> view = view(limited);
          view.put("changed", shared.isPresent() ? "all instances" : "this instance");
          return view;
        });
  }

  /** Looks at a subject of a policy, or changes what is counted for it. */
  @Write
  CompletionStage<Map<String, Object>> subject(
      HttpRequest<?> request,
      @Selector String policy,
      @Selector String operation,
      @Nullable @Body String body) {
    LimitedPolicy limited = policy(policy);
    if (!OPERATIONS.contains(operation)) {
      List<String> nearest = NearestNames.of(OPERATIONS, operation);
      throw RequestBody.mistake(
          "There is no operation '%s': %s"
              .formatted(
                  RequestBody.quoted(operation),
                  nearest.isEmpty()
                      ? "use one of " + String.join(", ", OPERATIONS)
                      : "did you mean " + nearest.get(0) + "?"));
    }
    if (limited.methods().isEmpty()) {
      throw RequestBody.mistake(
          "The policy '%s' limits nothing now: enable it first, by %s.%s.enabled = true"
              .formatted(limited.name(), PoliciesConfiguration.PREFIX, limited.name()));
    }
    if (operation.equals(OVERRIDE) || operation.equals(END_OVERRIDE)) {
      return overridden(who(request), operation, limited, body);
    }
    NamedSubject named = subject(RequestBody.ofSubject(mapper, body, List.of()), limited);
    Map<String, Object> view = view(limited, named);
    return limiter
        .peek(named.request())
        .thenComposeAsync(
            before ->
                operation.equals(LOOK)
                    ? CompletableFuture.completedFuture(with(view, LimitViews.verdict(before)))
                    : changed(who(request), operation, limited, named, before, view),
            threads)
        .exceptionally(LimitsEndpoint::failed);
  }

  private NamedSubject subject(RequestBody body, LimitedPolicy policy) {
    LimitSettings known = settings.current();
    Set<String> names = new TreeSet<>(known.tiers());
    known.usualTier().ifPresent(names::add);
    return body.subject(
        policy,
        statistics.get(),
        names,
        caller -> tiers.flatMap(lookup -> lookup.remembered(caller)));
  }

  private Map<String, Object> view(LimitedPolicy policy, NamedSubject named) {
    Map<String, Object> view = new LinkedHashMap<>();
    view.put("policy", policy.name());
    named.tier().ifPresent(tier -> view.put("tier", tier));
    view.put("subject", digests(named.request()));
    if (showSubjects && !named.clear().isEmpty()) {
      view.put("clear", LogThrottle.oneLine(named.clear(), RequestBody.MAX_VALUE));
    }
    return view;
  }

  /** Gives a subject other limits, or the usual ones again. */
  private CompletionStage<Map<String, Object>> overridden(
      String who, String operation, LimitedPolicy policy, @Nullable String text) {
    LimitOverrides table =
        overrides.orElseThrow(
            () ->
                RequestBody.mistake(
                    "There are no overrides: set %s.enabled = true on all instances"
                        .formatted(OverridesConfiguration.PREFIX)));
    boolean begins = operation.equals(OVERRIDE);
    RequestBody body =
        RequestBody.ofSubject(mapper, text, begins ? List.of(COUNTS, UNLIMITED, TIME) : List.of());
    NamedSubject named = subject(body, policy);
    try {
      String tag = table.tag(named.request());
      Optional<SubjectOverride> before = of(tag, table.inForce());
      CompletionStage<List<SubjectOverride>> changing =
          begins ? put(table, named.request(), body) : table.remove(named.request());
      Map<String, Object> view = view(policy, named);
      return audited(
          changing,
          new LimiterEvent.Audit(
              who, operation, policy.name(), subjects(named), LimitViews.words(before), ""),
          all -> {
            Optional<SubjectOverride> after = of(tag, all);
            after.ifPresent(it -> view.put("override", LimitViews.override(it, digest.ofTag(tag))));
            return LimitViews.words(after);
          },
          () -> view);
    } catch (IllegalArgumentException mistake) { // a rule, a number or a time
      throw RequestBody.mistake(mistake.getMessage());
    }
  }

  private CompletionStage<List<SubjectOverride>> put(
      LimitOverrides table, LimitRequest subject, RequestBody body) {
    if (body.has(COUNTS) == body.has(UNLIMITED)) {
      throw RequestBody.mistake(
          "The body has %s of '%s' and '%s': give it one of them, such as \"%s\": %s"
              .formatted(
                  body.has(COUNTS) ? "both" : "none", COUNTS, UNLIMITED, COUNTS, COUNTS_EXAMPLE));
    }
    String given = body.text(TIME);
    Duration time =
        conversion
            .convert(given, Duration.class)
            .orElseThrow(
                () ->
                    RequestBody.mistake(
                        "The member '%s' is '%s': give it a time with its unit, 1s to 7d"
                            .formatted(TIME, RequestBody.quoted(given))));
    if (body.has(UNLIMITED)) {
      body.requireTrue(UNLIMITED);
      return table.unlimited(subject, time);
    }
    return table.put(subject, body.numbers(COUNTS, COUNTS_EXAMPLE), time);
  }

  private static Optional<SubjectOverride> of(String tag, List<SubjectOverride> overrides) {
    return overrides.stream().filter(override -> override.tag().equals(tag)).findFirst();
  }

  private List<Map<String, Object>> overrides(Predicate<SubjectOverride> some) {
    return overrides.map(LimitOverrides::inForce).orElse(List.of()).stream()
        .filter(some)
        .map(override -> LimitViews.override(override, digest.ofTag(override.tag())))
        .toList();
  }

  private String subjects(NamedSubject named) {
    return digests(named.request())
        + (showSubjects && !named.clear().isEmpty() ? " (" + named.clear() + ')' : "");
  }

  private CompletionStage<Map<String, Object>> changed(
      String who,
      String operation,
      LimitedPolicy policy,
      NamedSubject named,
      Verdict before,
      Map<String, Object> view) {
    LimiterEvent.Audit change =
        new LimiterEvent.Audit(
            who, operation, policy.name(), subjects(named), LimitViews.words(before), "");
    view.put("before", LimitViews.verdict(before));
    CompletionStage<Void> changing =
        operation.equals(RESET)
            ? limiter.reset(named.request())
            : limiter.liftBans(named.request());
    return audited(
        changing.thenCompose(done -> limiter.peek(named.request())),
        change,
        after -> {
          view.put("after", LimitViews.verdict(after));
          return LimitViews.words(after);
        },
        () -> view);
  }

  /** Reports a change once it is made, or has failed. */
  private <T> CompletionStage<Map<String, Object>> audited(
      CompletionStage<T> changing,
      LimiterEvent.Audit change,
      Function<T, String> after,
      Supplier<Map<String, Object>> answer) {
    return changing
        .thenApplyAsync(after, threads)
        .whenCompleteAsync(
            (state, failure) ->
                audit
                    .get()
                    .report(
                        new LimiterEvent.Audit(
                            change.who(),
                            change.change(),
                            change.policy(),
                            change.subject(),
                            change.before(),
                            failure == null
                                ? state
                                : "failed: " + unwrapped(failure).getMessage())),
            threads)
        .thenApply(state -> answer.get())
        .exceptionally(LimitsEndpoint::failed);
  }

  private static Map<String, Object> failed(Throwable failure) {
    Throwable cause = unwrapped(failure);
    if (cause instanceof StoreException away) {
      throw new HttpStatusException(
          HttpStatus.SERVICE_UNAVAILABLE,
          "The limit store does not answer (%s): %s".formatted(away.reason(), away.getMessage()));
    }
    if (cause instanceof IllegalStateException full) { // no room for another override
      throw new HttpStatusException(HttpStatus.CONFLICT, full.getMessage());
    }
    throw cause instanceof RuntimeException thrown ? thrown : new CompletionException(cause);
  }

  private static Throwable unwrapped(Throwable failure) {
    Throwable cause = failure.getCause();
    return failure instanceof CompletionException && cause != null ? unwrapped(cause) : failure;
  }

  private LimitedPolicy policy(String name) {
    try {
      return policies.get(name);
    } catch (IllegalArgumentException unknown) {
      throw RequestBody.mistake(unknown.getMessage());
    }
  }

  private Map<String, Object> view(LimitedPolicy policy) {
    Map<String, Object> view = LimitViews.policy(policy, isObserved(policy));
    view.put("decisions", statistics.get().decisions(policy.name()));
    return view;
  }

  private boolean isObserved(LimitedPolicy policy) {
    return settings.observed().contains(policy.name());
  }

  private String digests(LimitRequest request) {
    return request.allCharges().stream()
        .map(Charge::key)
        .map(digest::of)
        .distinct()
        .collect(Collectors.joining(","));
  }

  private static Map<String, Object> with(Map<String, Object> view, Map<String, Object> more) {
    view.putAll(more);
    return view;
  }

  private static String who(HttpRequest<?> request) {
    return request
        .getUserPrincipal()
        .map(Principal::getName)
        .filter(name -> !name.isBlank())
        .orElse("anonymous");
  }
}
