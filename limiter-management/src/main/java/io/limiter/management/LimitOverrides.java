// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import io.limiter.core.Charge;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.redis.RedisScripts;
import io.limiter.core.rule.CustomRule;
import io.limiter.core.rule.Rule;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.context.event.StartupEvent;
import io.micronaut.core.annotation.Internal;
import jakarta.annotation.PreDestroy;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Temporary limits for single subjects. They take effect on all instances that share one Redis,
 * within {@code limiter.overrides.interval}. The bean exists if {@code limiter.overrides.enabled}
 * is true. While {@code limiter.enabled} is false there are no overrides.
 *
 * <pre>{@code
 * overrides.put(policies.get("api").forUser("ada"), Map.of("100-per-60s", 500L), Duration.ofHours(2));
 * overrides.unlimited(policies.get("api").forAddress("192.0.2.7"), Duration.ofMinutes(30));
 * }</pre>
 *
 * <p>Units that the subject has used still count. A rule keeps its name and its time. Rules without
 * a count in the override, bans and duplicate guards are unchanged, but a subject without limits
 * has no bans. While Redis is away the overrides last read hold for their time; if it loses its
 * data, the usual limits hold.
 *
 * <p>Callers can be blocked or exempt in the same way, in addition to those of {@code
 * limiter.block} and {@code limiter.exempt}:
 *
 * <pre>{@code
 * overrides.list(ListedCaller.ofAddress(Kind.BLOCK, "203.0.113.7", Duration.ofMinutes(15), "scraping", "ops"));
 * }</pre>
 *
 * <p>No method blocks. Each stage completes on a thread of its own, with all overrides, or all
 * callers, that hold then. It fails with a {@link StoreException} if Redis does not answer, and
 * with an {@link IllegalStateException} if there are 1,000 already.
 */
@Singleton
@OverridesConfiguration.Enabled
public final class LimitOverrides implements ApplicationEventListener<StartupEvent> {

  private static final Logger LOG = LoggerFactory.getLogger(LimitOverrides.class);

  /** Changes that wait for Redis; more are rejected. */
  private static final int MAX_WAITING = 100;

  /** The time between attempts of the first read, and how many of them fail silently. */
  private static final long FIRST_MILLIS = 100;

  private static final int MAX_FIRST = 20;

  private final OverrideTable<SubjectOverride> table;
  private final OverridesInForce inForce;
  private final OverrideTable<ListedCaller> callers;
  private final RunTimeLists lists;
  private final OverridesConfiguration configuration;
  private final boolean used;

  // Changes and reads run one after another, so that none is undone by one that began before it.
  private final ScheduledThreadPoolExecutor thread;

  // Only that thread uses them.
  private String problem = "";
  private int failures; // of the first read, which is repeated soon; negative once it has succeeded

  @Inject
  LimitOverrides(
      @Nullable RedisScripts redis,
      OverridesInForce inForce,
      RunTimeLists lists,
      OverridesConfiguration configuration) {
    this(
        table(redis, "overrides", "overrides", SubjectOverride::of),
        inForce,
        table(redis, "callers", ListedCaller.ENTRIES, ListedCaller::read),
        lists,
        configuration,
        true);
  }

  private static <E extends OverrideTable.Entry<E>> OverrideTable<E> table(
      @Nullable RedisScripts redis, String name, String entries, OverrideTable.Reader<E> reader) {
    return redis == null
        ? new OverrideTable.InMemory<>(entries)
        : new RedisOverrides<>(redis, name, entries, reader);
  }

  private LimitOverrides(
      OverrideTable<SubjectOverride> table,
      OverridesInForce inForce,
      OverrideTable<ListedCaller> callers,
      RunTimeLists lists,
      OverridesConfiguration configuration,
      boolean used) {
    this.table = table;
    this.inForce = inForce;
    this.callers = callers;
    this.lists = lists;
    this.configuration = configuration;
    this.used = used;
    this.thread =
        new ScheduledThreadPoolExecutor(
            1,
            task -> {
              Thread thread = new Thread(task, "limiter-overrides");
              thread.setDaemon(true);
              return thread;
            });
  }

  /** Overrides while the limiter is disabled. They have no effect, since no limit exists. */
  @Internal
  public static LimitOverrides unused() {
    OverrideTable<SubjectOverride> none = new OverrideTable.InMemory<>("overrides");
    return new LimitOverrides(
        none,
        new OverridesInForce(none::tag),
        new OverrideTable.InMemory<>(ListedCaller.ENTRIES),
        new RunTimeLists(),
        new OverridesConfiguration(false, Duration.ofSeconds(2)),
        false);
  }

  @Internal
  @Override
  public void onApplicationEvent(StartupEvent started) {
    readAfter(0);
  }

  /** Stands for the subject of a state key, see {@link SubjectOverride#tag()}. */
  @Internal
  public String tag(StateKey key) {
    return table.tag(key);
  }

  /**
   * Sets the counts of a subject. They replace those of an earlier override, which has no count of
   * a further rule, such as one of another tier: there is one override for each subject.
   *
   * @param subject a request for the subject, as a {@link io.limiter.micronaut.plan.LimitedPolicy}
   *     makes it
   * @param counts by the names of the rules in code or in header fields, at least one. A rule is
   *     found by its name in code whatever its numbers become, as in another tier
   * @param time for which they hold, 1 s to 7 days
   * @throws IllegalArgumentException if the request is for several subjects or has no rules, if it
   *     has no rule of a name, or if a rule cannot have a count, or would admit none of its calls
   * @return fails with an {@link IllegalStateException} if an earlier override has other rules
   */
  public CompletionStage<List<SubjectOverride>> put(
      LimitRequest subject, Map<String, Long> counts, Duration time) {
    if (!used) {
      return all();
    }
    if (counts.isEmpty()) {
      throw new IllegalArgumentException(
          "An override without counts: specify the count of a rule, or use unlimited");
    }
    List<Rule> rules = new ArrayList<>();
    Map<Rule, Integer> costs = new HashMap<>();
    for (Charge charge : enforced(subject)) {
      rules.addAll(charge.stack().rules());
      charge.stack().rules().forEach(rule -> costs.merge(rule, charge.cost(), Math::max));
    }
    Map<String, String> codeNames = subject.policy().codeNames();
    counts.forEach(
        (name, count) -> {
          List<Rule> named =
              rules.stream()
                  .filter(
                      rule -> rule.name().equals(name) || name.equals(codeNames.get(rule.name())))
                  .toList();
          if (named.isEmpty()) {
            throw new IllegalArgumentException(
                "The policy '%s' has no rule '%s' for this subject: use one of %s"
                    .formatted(
                        subject.policy().name(),
                        name,
                        String.join(", ", rules.stream().map(Rule::name).distinct().toList())));
          }
          named.forEach(rule -> requireAdmits(rule.withCount(count), costs.getOrDefault(rule, 1)));
        });
    return change(subject, counts, time);
  }

  /** A count of 0 closes what it limits; another one below the cost of each call is a mistake. */
  private static void requireAdmits(Rule rule, int cost) {
    boolean counted = rule.count() > 0 && !(rule instanceof CustomRule);
    if (counted && rule.capacity() < cost) {
      throw new IllegalArgumentException(
          "With a count of %s the rule '%s' admits %s at once, and a call costs %s, so no call could be admitted: use %s or more"
              .formatted(rule.count(), rule.name(), rule.capacity(), cost, cost));
    }
  }

  /**
   * Lets a subject pass without limits; duplicate guards stay.
   *
   * @param subject a request for the subject, as a {@link io.limiter.micronaut.plan.LimitedPolicy}
   *     makes it
   * @param time for which this holds, 1 s to 7 days
   * @throws IllegalArgumentException if the request is for several subjects, or has no rules
   */
  public CompletionStage<List<SubjectOverride>> unlimited(LimitRequest subject, Duration time) {
    return used ? change(subject, Map.of(), time) : all();
  }

  private CompletionStage<List<SubjectOverride>> change(
      LimitRequest subject, Map<String, Long> counts, Duration time) {
    SubjectOverride override =
        new SubjectOverride(tag(subject), subject.policy().name(), counts, time);
    var unused = OverrideTable.requireTime(override.left());
    return run(() -> table.all().thenCompose(all -> put(override, all)));
  }

  private CompletionStage<List<SubjectOverride>> put(
      SubjectOverride override, List<SubjectOverride> all) {
    for (SubjectOverride earlier : all) {
      Set<String> lost = new TreeSet<>(earlier.counts().keySet());
      lost.removeAll(override.counts().keySet());
      if (earlier.tag().equals(override.tag()) && !override.unlimited() && !lost.isEmpty()) {
        return CompletableFuture.failedFuture(
            new IllegalStateException(
                "The subject has an override with counts of %s, which this one does not have: end that one first, or specify these too"
                    .formatted(String.join(", ", lost))));
      }
    }
    return table.put(override);
  }

  /**
   * Ends the override of a subject, if there is one.
   *
   * @throws IllegalArgumentException if the request is for several subjects, or has no rules
   */
  public CompletionStage<List<SubjectOverride>> remove(LimitRequest subject) {
    return remove(tag(subject));
  }

  /**
   * Ends the override with a tag, if there is one.
   *
   * @param tag as {@link #all} gives it
   */
  public CompletionStage<List<SubjectOverride>> remove(String tag) {
    return run(() -> table.remove(tag));
  }

  /** The overrides that hold on this instance, as it has last read them. */
  public List<SubjectOverride> inForce() {
    return inForce.all();
  }

  /** All overrides that hold. */
  public CompletionStage<List<SubjectOverride>> all() {
    return run(() -> table.all());
  }

  /**
   * The tag of the subject of a request.
   *
   * @throws IllegalArgumentException if the request is for several subjects, or has no rules
   */
  public String tag(LimitRequest subject) {
    List<Charge> enforced = enforced(subject);
    List<String> tags = enforced.stream().map(Charge::key).map(StateKey::tag).distinct().toList();
    if (tags.size() != 1) {
      throw new IllegalArgumentException(
          tags.isEmpty()
              ? "The policy '%s' has no rules for this subject that an override could change"
                  .formatted(subject.policy().name())
              : "A request under the policy '%s' for %s subjects: make an override for each of them"
                  .formatted(subject.policy().name(), tags.size()));
    }
    return tag(enforced.get(0).key());
  }

  /**
   * The charges that an override changes. Rules on trial, and others that are only observed, count
   * under keys of their own, and stay as they are; not those of a policy that is observed as a
   * whole.
   */
  private static List<Charge> enforced(LimitRequest subject) {
    List<Charge> enforced =
        subject.charges().stream().filter(charge -> !charge.observed()).toList();
    return enforced.isEmpty() ? subject.charges() : enforced;
  }

  /**
   * Blocks or exempts a caller. That replaces an earlier entry for it.
   *
   * @return all callers that are listed then
   */
  public CompletionStage<List<ListedCaller>> list(ListedCaller caller) {
    return used ? run(() -> callers.put(caller), lists::use) : allListed();
  }

  /**
   * Ends the entry of a caller, if there is one.
   *
   * @param tag as {@link ListedCaller#tag} gives it
   * @return all callers that are listed then
   */
  public CompletionStage<List<ListedCaller>> unlist(String tag) {
    return run(() -> callers.remove(tag), lists::use);
  }

  /** All callers that are listed at run time. */
  public CompletionStage<List<ListedCaller>> allListed() {
    return run(callers::all, lists::use);
  }

  /** The callers that are listed on this instance, as it has last read them. */
  public List<ListedCaller> listed() {
    return lists.all();
  }

  private CompletionStage<List<SubjectOverride>> run(
      Supplier<CompletionStage<List<SubjectOverride>>> change) {
    return run(change, inForce::use);
  }

  private <E> CompletionStage<List<E>> run(
      Supplier<CompletionStage<List<E>>> change, Consumer<List<E>> use) {
    if (thread.getQueue().size() > MAX_WAITING) {
      return overloaded("Too many changes wait for Redis: try again later");
    }
    try {
      return CompletableFuture.supplyAsync(() -> use(change.get(), use), thread);
    } catch (RejectedExecutionException stopped) {
      return overloaded("The service is shutting down");
    }
  }

  private static <E> CompletionStage<List<E>> overloaded(String message) {
    return CompletableFuture.failedFuture(
        new StoreException(FailureReason.OVERLOADED, message, null));
  }

  /** Waits for Redis, within its deadline, on the thread of this bean. */
  private static <E> List<E> use(CompletionStage<List<E>> found, Consumer<List<E>> use) {
    List<E> all = found.toCompletableFuture().join();
    use.accept(all);
    return all;
  }

  private void readAfter(long millis) {
    if (!thread.isShutdown()) {
      var unused = thread.schedule(this::read, millis, TimeUnit.MILLISECONDS);
    }
  }

  private void read() {
    try {
      CompletionStage<List<SubjectOverride>> overrides = table.all();
      CompletionStage<List<ListedCaller>> listed = callers.all();
      try {
        var unused = use(listed, lists::use);
      } finally { // either is used without the other
        var unused = use(overrides, inForce::use);
      }
      failures = -1;
      problem = "";
    } catch (RuntimeException failure) { // the next turn comes
      String message = String.valueOf(failure.getMessage());
      boolean starting = failures >= 0 && failures++ < MAX_FIRST; // not connected yet
      if (!starting && !message.equals(problem)) {
        problem = message;
        LOG.warn(
            "Overrides, or callers that are blocked or exempt at run time, cannot be read, so the last ones read stay in effect until they expire: {}",
            message);
      }
    }
    long interval = configuration.interval().toMillis();
    readAfter(failures >= 0 ? Math.min(FIRST_MILLIS, interval) : interval);
  }

  @PreDestroy
  void close() {
    thread.shutdownNow();
  }
}
