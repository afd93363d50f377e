// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import io.limiter.core.Charge;
import io.limiter.core.LimitRequest;
import io.limiter.core.Limiter;
import io.limiter.core.StoreException;
import io.limiter.core.Verdict;
import io.limiter.core.util.LogThrottle;
import io.limiter.management.ListedCaller.Kind;
import io.limiter.management.SubjectBody.NamedSubject;
import io.limiter.micronaut.config.LimitSettings;
import io.limiter.micronaut.config.LimiterConfiguration.GateConfiguration;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.config.SettingsRefresh;
import io.limiter.micronaut.config.SettingsRefresh.SettingsShare;
import io.limiter.micronaut.event.LimiterEvent;
import io.limiter.micronaut.event.SubjectDigest;
import io.limiter.micronaut.exception.InvalidCallException;
import io.limiter.micronaut.plan.EndpointPart;
import io.limiter.micronaut.plan.LimitPolicies;
import io.limiter.micronaut.plan.LimitedPolicy;
import io.limiter.micronaut.subject.CallerLists;
import io.limiter.micronaut.subject.TierLookup;
import io.micronaut.context.annotation.Requires;
import io.micronaut.core.annotation.Introspected;
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
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The endpoint {@code limits}: the policies and who is denied most; one subject under a policy,
 * looked at, with what it has used, reset, or with its ban lifted; and whether a policy is only
 * observed. With {@code limiter.overrides.enabled} also other limits for one subject, and callers
 * that are blocked or exempt at run time.
 *
 * <pre>
 * GET  /limits                     all policies, top talkers, overrides, callers, shared settings
 * GET  /limits/{policy}            one of them
 * POST /limits                     {"forgetTalkers": true}
 * POST /limits/{policy}            {"observe": true}
 * POST /limits/{policy}/look       {"user": "ada"}
 * POST /limits/{policy}/usage
 * POST /limits/{policy}/reset
 * POST /limits/{policy}/lift-ban
 * POST /limits/{policy}/override      {"user": "ada", "counts": {"10-per-60s": 50}, "time": "2h"}
 * POST /limits/{policy}/end-override
 * POST /limits/block       {"address": "203.0.113.7", "time": "15m", "reason": "scraping"}
 * POST /limits/exempt      {"user": "ada", "time": "2h"}
 * POST /limits/end-block   {"address": "203.0.113.7"}
 * POST /limits/end-exempt  {"user": "ada"}
 * </pre>
 *
 * <p>Its methods run on threads that may block. So do the continuations after the store's answer,
 * since writing the audit line may block.
 */
@Singleton
@Requires(classes = Endpoint.class)
@Endpoint(id = LimitsEndpoint.ID, defaultEnabled = false, defaultSensitive = true)
@ExecuteOn(TaskExecutors.BLOCKING)
final class LimitsEndpoint {

  /** Its name, and its path. */
  static final String ID = "limits";

  private static final String LOOK = "look";
  private static final String USAGE = "usage";
  private static final String RESET = "reset";
  private static final String LIFT_BAN = "lift-ban";
  private static final String OVERRIDE = "override";
  private static final String END_OVERRIDE = "end-override";
  private static final List<String> OPERATIONS =
      List.of(LOOK, USAGE, RESET, LIFT_BAN, OVERRIDE, END_OVERRIDE);

  private static final String END = "end-";

  /** They change lists of callers, and take precedence over policies with such a name. */
  private static final List<String> LISTS =
      List.of("block", "exempt", END + "block", END + "exempt");

  private static final String OBSERVE = "observe";

  @Introspected
  record TalkersBody(Boolean forgetTalkers) {}

  @Introspected
  record PolicyBody(Boolean observe) {}

  /**
   * The members of a body with an override that do not name its subject.
   *
   * @param counts by the names of rules
   * @param unlimited true instead of counts
   */
  @Introspected
  record OverrideBody(Map<String, Long> counts, @Nullable Boolean unlimited, Duration time) {}

  /** The members of a body that name a caller: one of them. */
  @Introspected
  record CallerBody(@Nullable String address, @Nullable String user) {

    static final String EXAMPLE = "{\"address\": \"203.0.113.7\"}";
  }

  /**
   * The members of a body that lists a caller.
   *
   * @param everyone true if a wide network is meant, or the caller of the request itself
   */
  @Introspected
  record ListingBody(Duration time, @Nullable String reason, @Nullable Boolean everyone) {

    static final String EXAMPLE = "{\"address\": \"203.0.113.7\", \"time\": \"15m\"}";
  }

  private final LimitPolicies policies;
  private final PoliciesConfiguration settings;
  private final GateConfiguration gate;
  private final Limiter limiter;
  private final PolicyStatistics statistics;
  private final AuditLog audit;
  private final SubjectDigest digest;
  private final SettingsRefresh own;
  private final Optional<SettingsShare> shared;
  private final Optional<LimitOverrides> overrides;
  private final CallerLists lists;
  private final Optional<TierLookup> tiers;
  private final List<EndpointPart> parts;
  private final BodyReader bodies;
  private final ExecutorService threads;
  private final boolean showSubjects;

  LimitsEndpoint(
      LimitPolicies policies,
      PoliciesConfiguration settings,
      GateConfiguration gate,
      Limiter limiter,
      PolicyStatistics statistics,
      AuditLog audit,
      SubjectDigest digest,
      SettingsRefresh own,
      Optional<SettingsShare> shared,
      Optional<LimitOverrides> overrides,
      CallerLists lists,
      Optional<TierLookup> tiers,
      List<EndpointPart> parts,
      ConversionService conversion,
      JsonMapper mapper,
      @Named(TaskExecutors.BLOCKING) ExecutorService threads,
      ManagementConfiguration management) {
    this.policies = policies;
    this.settings = settings;
    this.gate = gate;
    this.limiter = limiter;
    this.statistics = statistics;
    this.audit = audit;
    this.digest = digest;
    this.own = own;
    this.shared = shared.filter(SettingsShare::isShared);
    this.overrides = overrides;
    this.lists = lists;
    this.tiers = tiers;
    this.parts = parts;
    this.bodies = new BodyReader(mapper, conversion);
    this.threads = threads;
    this.showSubjects = management.showSubjects();
  }

  /** All policies, who is denied most by this instance, and the state of the shared settings. */
  @Read
  Map<String, Object> all() {
    Map<String, Object> view = new LinkedHashMap<>();
    view.put("policies", policies.names().stream().map(name -> view(policies.get(name))).toList());
    view.put("topTalkers", statistics.talkers(Optional.empty()));
    view.put("overrides", overrides(override -> true));
    view.put("callers", callers());
    shared.ifPresent(share -> view.put("sharedSettings", LimitViews.shared(share.status())));
    parts.forEach(part -> part.all(view));
    return view;
  }

  /** One policy, and who is denied most by it. */
  @Read
  Map<String, Object> one(@Selector String policy) {
    Map<String, Object> view = view(policy(policy));
    view.put("topTalkers", statistics.talkers(Optional.of(policy)));
    view.put("overrides", overrides(override -> override.policy().equals(policy)));
    return view;
  }

  /** Resets the counts of denials. */
  @Write
  Map<String, Object> change(HttpRequest<?> request, @Nullable @Body String body) {
    String example = "{\"forgetTalkers\": true}";
    if (!bodies.read(body, example, TalkersBody.class).as(TalkersBody.class).forgetTalkers()) {
      throw BodyReader.mistake(
          "The member 'forgetTalkers' is false: it can only be true, as in " + example);
    }
    long before = statistics.denials();
    statistics.forgetTalkers();
    audit.report(
        new LimiterEvent.Audit(
            who(request), "forget-talkers", "all", "", before + " denials", "0 denials"));
    return statistics.talkers(Optional.empty());
  }

  /** Changes a policy, or a list of callers. */
  @Write
  CompletionStage<Map<String, Object>> change(
      HttpRequest<?> request, @Selector String policy, @Nullable @Body String body) {
    if (LISTS.contains(policy)) {
      return listed(request, policy, body);
    }
    LimitedPolicy limited = policy(policy);
    boolean observe =
        bodies.read(body, "{\"observe\": true}", PolicyBody.class).as(PolicyBody.class).observe();
    boolean before = isObserved(limited);
    String name = limited.name() + '.' + OBSERVE;
    CompletionStage<Optional<String>> set =
        shared.isPresent()
            ? shared.get().set(name, Boolean.toString(observe))
            : CompletableFuture.completedFuture(own.set(name, Boolean.toString(observe)));
    Map<String, Object> view = new LinkedHashMap<>();
    return audited(
        set,
        after ->
            new LimiterEvent.Audit(
                who(request), OBSERVE, limited.name(), "", Boolean.toString(before), after),
        problem -> {
          if (problem.isPresent()) {
            throw new HttpStatusException(
                HttpStatus.CONFLICT,
                "The policy '%s' is unchanged: %s".formatted(limited.name(), problem.get()));
          }
          view.putAll(view(limited));
          view.put("changed", shared.isPresent() ? "all instances" : "this instance");
          return Boolean.toString(observe);
        },
        view);
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
      throw BodyReader.mistake(
          "There is no operation '%s': %s"
              .formatted(BodyReader.quoted(operation), BodyReader.oneOf(OPERATIONS, operation)));
    }
    if (limited.methods().isEmpty()) {
      throw BodyReader.mistake(
          "The policy '%s' limits nothing now: enable it first, by %s.%s.enabled = true"
              .formatted(limited.name(), PoliciesConfiguration.PREFIX, limited.name()));
    }
    if (operation.equals(OVERRIDE) || operation.equals(END_OVERRIDE)) {
      return overridden(who(request), operation, limited, body);
    }
    SubjectBody read =
        bodies.read(body, SubjectBody.EXAMPLE, SubjectBody.class).as(SubjectBody.class);
    NamedSubject named = subject(read, limited);
    Map<String, Object> view = view(limited, named);
    return limiter
        .peek(named.request())
        .thenComposeAsync(
            before -> {
              boolean looks = operation.equals(LOOK);
              if (!looks && !operation.equals(USAGE)) {
                return changed(who(request), operation, limited, named, before, view);
              }
              view.putAll(looks ? LimitViews.verdict(before) : LimitViews.usage(before));
              return CompletableFuture.completedFuture(view);
            },
            threads)
        .exceptionally(LimitsEndpoint::failed);
  }

  /**
   * The subjects that a body names, under the rules of the tier that it names, else of a tier that
   * is cached for one of them, else of the default tier.
   */
  private NamedSubject subject(SubjectBody body, LimitedPolicy policy) {
    Optional<String> tier =
        Optional.ofNullable(body.tier())
            .map(this::tier)
            .or(
                () ->
                    tiers.flatMap(
                        lookup ->
                            body.callers()
                                .flatMap(caller -> lookup.remembered(caller).stream())
                                .findFirst()));
    try {
      return body.named(tier.map(policy::inTier).orElse(policy), statistics);
    } catch (IllegalArgumentException | InvalidCallException mistake) { // of what it counts
      throw BodyReader.mistake(mistake.getMessage());
    }
  }

  private String tier(String name) {
    LimitSettings known = settings.current();
    Set<String> names = new TreeSet<>(known.tiers());
    known.usualTier().ifPresent(names::add);
    if (!names.contains(name)) {
      throw BodyReader.mistake(
          "There is no tier '%s': use one of %s"
              .formatted(
                  BodyReader.quoted(name), names.isEmpty() ? "none" : String.join(", ", names)));
    }
    return name;
  }

  private Map<String, Object> view(LimitedPolicy policy, NamedSubject named) {
    Map<String, Object> view = new LinkedHashMap<>();
    view.put("policy", policy.name());
    named.tier().ifPresent(tier -> view.put("tier", tier));
    view.put("subject", digests(named.request()));
    if (showSubjects) {
      view.put("clear", LogThrottle.oneLine(named.clear(), BodyReader.MAX_TEXT));
    }
    return view;
  }

  /** Sets or ends the override of a subject. */
  private CompletionStage<Map<String, Object>> overridden(
      String who, String operation, LimitedPolicy policy, @Nullable String text) {
    LimitOverrides table = enabled("overrides");
    boolean begins = operation.equals(OVERRIDE);
    BodyReader.BodyMembers body =
        begins
            ? bodies.read(text, SubjectBody.EXAMPLE, SubjectBody.class, OverrideBody.class)
            : bodies.read(text, SubjectBody.EXAMPLE, SubjectBody.class);
    NamedSubject named = subject(body.as(SubjectBody.class), policy);
    try {
      String tag = table.tag(named.request());
      Optional<SubjectOverride> before = of(tag, table.inForce());
      CompletionStage<List<SubjectOverride>> changing =
          begins
              ? put(table, named.request(), body.as(OverrideBody.class))
              : table.remove(named.request());
      Map<String, Object> view = view(policy, named);
      return audited(
          changing,
          after ->
              new LimiterEvent.Audit(
                  who, operation, policy.name(), subjects(named), LimitViews.words(before), after),
          all -> {
            Optional<SubjectOverride> after = of(tag, all);
            after.ifPresent(it -> view.put("override", LimitViews.override(it, digest.ofTag(tag))));
            return LimitViews.words(after);
          },
          view);
    } catch (IllegalArgumentException mistake) { // a rule, a number or a time
      throw BodyReader.mistake(mistake.getMessage());
    }
  }

  private LimitOverrides enabled(String what) {
    return overrides.orElseThrow(
        () ->
            BodyReader.mistake(
                "There are no %s: set %s.enabled = true on all instances"
                    .formatted(what, OverridesConfiguration.PREFIX)));
  }

  /** Lists a caller as blocked or exempt, or ends that. */
  private CompletionStage<Map<String, Object>> listed(
      HttpRequest<?> request, String operation, @Nullable String text) {
    LimitOverrides table = enabled("callers listed at run time");
    boolean begins = !operation.startsWith(END);
    BodyReader.BodyMembers body =
        begins
            ? bodies.read(text, ListingBody.EXAMPLE, CallerBody.class, ListingBody.class)
            : bodies.read(text, CallerBody.EXAMPLE, CallerBody.class);
    ListingBody listing =
        begins ? body.as(ListingBody.class) : new ListingBody(ListedCaller.MAX_TIME, null, true);
    String who = who(request);
    Kind kind = operation.endsWith("block") ? Kind.BLOCK : Kind.EXEMPT;
    ListedCaller caller = caller(kind, body.as(CallerBody.class), listing, who);
    if (!Boolean.TRUE.equals(listing.everyone())) {
      requireNarrow(caller, request);
    }
    Map<String, Object> view = LimitViews.caller(caller);
    return table
        .allListed()
        .exceptionally(away -> table.listed()) // then the change fails, and is audited
        .thenCompose(
            known -> {
              Optional<ListedCaller> before = of(caller, known);
              before.ifPresent(it -> view.put("before", LimitViews.entry(it)));
              return audited(
                  begins ? table.list(caller) : table.unlist(caller.tag()),
                  after ->
                      new LimiterEvent.Audit(
                          who,
                          operation,
                          "all",
                          caller.type() + ' ' + caller.name(),
                          LimitViews.listing(before),
                          after),
                  all -> {
                    Optional<ListedCaller> after = of(caller, all);
                    after.ifPresent(it -> view.put("after", LimitViews.entry(it)));
                    return LimitViews.listing(after);
                  },
                  view);
            });
  }

  private static ListedCaller caller(Kind kind, CallerBody named, ListingBody listing, String who) {
    if ((named.address() == null) == (named.user() == null)) {
      throw BodyReader.mistake(
          "The body names %s: specify one of address and user, such as %s"
              .formatted(named.user() == null ? "no caller" : "two callers", CallerBody.EXAMPLE));
    }
    String reason = listing.reason() == null ? "" : listing.reason();
    try {
      return named.address() != null
          ? ListedCaller.ofAddress(kind, named.address(), listing.time(), reason, who)
          : ListedCaller.ofUser(kind, named.user(), listing.time(), reason, who);
    } catch (IllegalArgumentException mistake) { // an address, a time or a length
      throw BodyReader.mistake(mistake.getMessage());
    }
  }

  /** Rejects what is likely a mistake. */
  private void requireNarrow(ListedCaller caller, HttpRequest<?> request) {
    boolean wide = caller.addresses().isWide();
    if (wide
        || (caller.kind() == Kind.BLOCK
            && lists.names(caller.addresses(), caller.user(), request))) {
      throw BodyReader.mistake(
          "%s '%s' %s: if that is meant, add \"everyone\": true"
              .formatted(
                  caller.user().isEmpty() ? "The address" : "The user",
                  BodyReader.quoted(caller.name()),
                  wide
                      ? "is wider than a /8 of IPv4 or a /16 of IPv6"
                      : "is your own, so you could not end the block by this endpoint"));
    }
  }

  private static Optional<ListedCaller> of(ListedCaller caller, List<ListedCaller> all) {
    return all.stream().filter(each -> each.tag().equals(caller.tag())).findFirst();
  }

  private List<Map<String, Object>> callers() {
    return overrides.map(LimitOverrides::listed).orElse(List.of()).stream()
        .map(
            caller -> {
              Map<String, Object> view = LimitViews.caller(caller);
              view.putAll(LimitViews.entry(caller));
              return view;
            })
        .toList();
  }

  private static CompletionStage<List<SubjectOverride>> put(
      LimitOverrides table, LimitRequest subject, OverrideBody body) {
    boolean unlimited = Boolean.TRUE.equals(body.unlimited());
    if (unlimited != body.counts().isEmpty()) {
      throw BodyReader.mistake(
          "The body has %s of 'counts' and 'unlimited': specify one of them, such as \"counts\": {\"10-per-60s\": 50}"
              .formatted(unlimited ? "both" : "none"));
    }
    return unlimited
        ? table.unlimited(subject, body.time())
        : table.put(subject, body.counts(), body.time());
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
    return digests(named.request()) + (showSubjects ? " (" + named.clear() + ')' : "");
  }

  private CompletionStage<Map<String, Object>> changed(
      String who,
      String operation,
      LimitedPolicy policy,
      NamedSubject named,
      Verdict before,
      Map<String, Object> view) {
    view.put("before", LimitViews.verdict(before));
    CompletionStage<Void> changing =
        operation.equals(RESET)
            ? limiter.reset(named.request())
            : limiter.liftBans(named.request());
    return audited(
        changing.thenCompose(done -> limiter.peek(named.request())),
        after ->
            new LimiterEvent.Audit(
                who, operation, policy.name(), subjects(named), LimitViews.words(before), after),
        after -> {
          view.put("after", LimitViews.verdict(after));
          return LimitViews.words(after);
        },
        view);
  }

  /**
   * Reports a change once it is made, or has failed.
   *
   * @param report the audit of it, by the state after it
   * @param after the state after it; completes the view
   */
  private <T> CompletionStage<Map<String, Object>> audited(
      CompletionStage<T> changing,
      Function<String, LimiterEvent.Audit> report,
      Function<T, String> after,
      Map<String, Object> view) {
    return changing
        .thenApplyAsync(after, threads)
        .whenCompleteAsync(
            (state, failure) ->
                audit.report(
                    report.apply(
                        failure == null ? state : "failed: " + unwrapped(failure).getMessage())),
            threads)
        .thenApply(state -> view)
        .exceptionally(LimitsEndpoint::failed);
  }

  private static Map<String, Object> failed(Throwable failure) {
    Throwable cause = unwrapped(failure);
    if (cause instanceof StoreException away) {
      throw new HttpStatusException(
          HttpStatus.SERVICE_UNAVAILABLE,
          "The limit store does not answer (%s): %s".formatted(away.reason(), away.getMessage()));
    }
    if (cause instanceof IllegalStateException full) { // no room for another entry
      throw new HttpStatusException(
          HttpStatus.CONFLICT, Objects.requireNonNullElse(full.getMessage(), "no room"));
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
      throw BodyReader.mistake(unknown.getMessage());
    }
  }

  private Map<String, Object> view(LimitedPolicy policy) {
    Map<String, Object> view = LimitViews.policy(policy, isObserved(policy));
    if (gate.enabled()) {
      view.put("decidedIn", policy.places());
    }
    view.put("decisions", statistics.decisions(policy.name()));
    parts.forEach(part -> part.policy(policy, view));
    List<Map<String, Object>> trials = statistics.trials(policy.name());
    if (!trials.isEmpty()) {
      view.put("trials", trials);
    }
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

  private static String who(HttpRequest<?> request) {
    return request
        .getUserPrincipal()
        .map(Principal::getName)
        .filter(name -> !name.isBlank())
        .orElse("anonymous");
  }
}
