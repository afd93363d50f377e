// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.limiter.core.DecidedBy;
import io.limiter.core.Limiter;
import io.limiter.core.Outcome;
import io.limiter.core.RuleVerdict;
import io.limiter.core.StoreException;
import io.limiter.core.Verdict;
import io.limiter.core.redis.RedisHealth.NodeListener;
import io.limiter.micronaut.call.AdmissionControl.VerdictListener;
import io.limiter.micronaut.call.ArrivingCall;
import io.limiter.micronaut.event.LimiterEvent;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.LimitPolicies;
import io.limiter.micronaut.plan.LimitedPolicy;
import io.micronaut.context.BeanProvider;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.HttpStatus;
import io.micronaut.http.exceptions.HttpStatusException;
import io.micronaut.http.sse.Event;
import io.micronaut.runtime.event.annotation.EventListener;
import jakarta.inject.Singleton;
import java.net.InetAddress;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.Flux;

/**
 * What the open pages are shown: each decision of the service, and each event of the limiter. A
 * page sees the calls from its own address, and of all others only the totals. Without an open page
 * a decision costs one look at a set.
 */
@Singleton
@Requires(missingProperty = Instances.BESIDE)
final class Live implements VerdictListener, NodeListener {

  /** The most open pages. */
  static final int MAX_PAGES = 50;

  /** The most calls that wait for a page; further ones replace the oldest. */
  static final int MAX_WAITING = 200;

  /** With ten frames in a second, a hundred calls in a second. */
  private static final int CALLS_OF_A_FRAME = 10;

  private static final Duration FRAME = Duration.ofMillis(100);

  /** An idle page hears from the service every five seconds, so that it sees when that ends. */
  private static final int BEAT = 50;

  /** What remains is looked up twice a second. */
  private static final int LOOK = 5;

  private static final Duration LONGEST_LOOK = Duration.ofSeconds(150);

  /** The cards that count addresses only: the service can look up what remains for a page. */
  private static final Set<String> BY_ADDRESS =
      Set.of(
          "articles",
          "search",
          "export",
          "items",
          "reports",
          "feed",
          "quota",
          "log",
          "window",
          "bucket",
          "leaky");

  private final Set<Page> pages = ConcurrentHashMap.newKeySet();
  private final String boot = Long.toHexString(System.nanoTime());
  private final AtomicInteger open = new AtomicInteger();
  private final Map<String, LongAdder> totals = new ConcurrentHashMap<>();
  private final Map<String, BooleanSupplier> breakers = new ConcurrentHashMap<>();
  private final @Nullable EmbeddedRedis redis;
  private volatile Supplier<Map<String, Object>> instances = Map::of;

  private final BeanProvider<Limiter> limiter;
  private final BeanProvider<LimitPolicies> policies;

  Live(
      Optional<EmbeddedRedis> redis,
      BeanProvider<Limiter> limiter,
      BeanProvider<LimitPolicies> policies) {
    this.redis = redis.orElse(null);
    this.limiter = limiter; // which needs this one
    this.policies = policies;
  }

  /** Adds the state of further instances to what the pages show. */
  void show(Supplier<Map<String, Object>> running) {
    instances = running;
  }

  /** The number of open pages. */
  int pages() {
    return open.get();
  }

  /**
   * The stream of one page, which ends with the connection.
   *
   * @param id by which the page marks its own calls
   * @throws HttpStatusException 503, if too many pages are open
   */
  Flux<Event<Map<String, Object>>> stream(HttpRequest<?> request, String id) {
    InetAddress address = request.getRemoteAddress().getAddress();
    Map<String, Object> you = Map.of("address", address.getHostAddress(), "here", Here.is(request));
    return Flux.defer(
        () -> {
          if (open.incrementAndGet() > MAX_PAGES) {
            open.decrementAndGet();
            return Flux.error(tooMany());
          }
          Page page = new Page(id, address);
          pages.add(page);
          return Flux.interval(FRAME)
              .onBackpressureDrop()
              .mapNotNull(tick -> page.frame(tick))
              .startWith(page.hello(you))
              .doFinally(
                  end -> {
                    pages.remove(page);
                    open.decrementAndGet();
                  });
        });
  }

  /** Before the response begins: a stream that has begun has its status. */
  void requireRoom() {
    if (open.get() >= MAX_PAGES) {
      throw tooMany();
    }
  }

  private static HttpStatusException tooMany() {
    return new HttpStatusException(
        HttpStatus.SERVICE_UNAVAILABLE,
        "%s pages are open: close one, and load this one again".formatted(MAX_PAGES));
  }

  @Override
  public void decided(ArrivingCall<?> decided, Verdict verdict) {
    if (pages.isEmpty() || verdict.decidedBy() == DecidedBy.NONE) {
      return;
    }
    LimitPlan plan = decided.plan();
    Optional<String> card = Cards.of(plan.method());
    if (card.isEmpty()) {
      return;
    }
    String outcome = outcome(verdict);
    count(card.get() + '.' + (outcome.equals("unavailable") ? "denied" : outcome));
    count("by." + verdict.decidedBy());
    Optional<HttpRequest<?>> request = decided.request();
    if (request.isEmpty() || card.get().equals(Flood.HOT)) { // a flood is not drawn
      return;
    }
    InetAddress from = request.get().getRemoteAddress().getAddress();
    String sender = request.get().getHeaders().get(PageController.PAGE);
    Map<String, Object> call = null;
    for (Page page : pages) {
      if (page.mayRead(from)) {
        call = call == null ? call(card.get(), outcome, plan, verdict) : call;
        boolean own = page.id.equals(sender);
        page.add(call, own);
        if (own && BY_ADDRESS.contains(card.get())) {
          page.watch(card.get(), verdict);
        }
      }
    }
  }

  private void count(String what) {
    totals.computeIfAbsent(what, key -> new LongAdder()).increment(); // cards by outcomes
  }

  private static String outcome(Verdict verdict) {
    if (verdict.outcome() == Outcome.ALLOWED) {
      return verdict.delay().isZero() ? "admitted" : "waited";
    }
    return verdict.outcome() == Outcome.LIMITED
        ? "denied"
        : verdict.outcome().name().toLowerCase(Locale.ROOT);
  }

  private static Map<String, Object> call(
      String card, String outcome, LimitPlan plan, Verdict verdict) {
    Map<String, Object> call = new LinkedHashMap<>();
    call.put("card", card);
    call.put("at", System.currentTimeMillis());
    call.put("order", verdict.decidedAtMicros()); // threads report calls in any order
    call.put("outcome", outcome);
    call.put("by", verdict.decidedBy().name());
    verdict.reason().ifPresent(reason -> call.put("reason", reason.name()));
    verdict.retryAfter().ifPresent(time -> call.put("retryMs", millisUp(time)));
    verdict.ban().ifPresent(time -> call.put("banMs", millisUp(time)));
    if (!verdict.delay().isZero()) {
      call.put("waitMs", millisUp(verdict.delay()));
    }
    if (plan.isObserved()) {
      call.put(
          "wouldDeny",
          !verdict.allowed()
              || verdict.rules().stream().anyMatch(RuleVerdict::violated)
              || verdict.duplicate().filter(RuleVerdict::violated).isPresent());
    }
    call.put("rules", verdict.rules().stream().map(Live::rule).toList());
    verdict.duplicate().ifPresent(guard -> call.put("guard", rule(guard)));
    return call;
  }

  private static Map<String, Object> rule(RuleVerdict verdict) {
    Map<String, Object> rule = new LinkedHashMap<>(Cards.rule(verdict.rule()));
    rule.put("left", verdict.remaining());
    rule.put("denies", verdict.denies());
    rule.put("resetMs", millisUp(verdict.resetAfter()));
    return rule;
  }

  private static long millisUp(Duration time) {
    return time.plusNanos(999_999).toMillis();
  }

  @Override
  public void added(String node, BooleanSupplier isLost) {
    breakers.putIfAbsent(node, isLost); // the demo has one Redis
  }

  @Override
  public void lost(String node, StoreException why) {} // comes as an event, too

  @Override
  public void back(String node) {}

  @EventListener
  void onLost(LimiterEvent.StoreLost lost) {
    report("Redis is lost: " + lost.reason() + ". The fallback decides");
  }

  @EventListener
  void onBack(LimiterEvent.StoreBack back) {
    report("Redis is back: it decides again");
  }

  @EventListener
  void onBan(LimiterEvent.CallerBanned banned) {
    report(
        "A caller of %s is banned for %s s".formatted(banned.policy(), banned.ban().toSeconds()));
  }

  @EventListener
  void onChange(LimiterEvent.PolicyChanged changed) {
    report("The policy %s has changed: %s".formatted(changed.policy(), changed.change()));
  }

  private void report(String event) {
    pages.forEach(page -> page.add(event));
  }

  private boolean isBreakerOpen() {
    return breakers.values().stream().anyMatch(BooleanSupplier::getAsBoolean);
  }

  private Map<String, Object> state() {
    Map<String, Object> state = new LinkedHashMap<>();
    state.put("redis", redis == null ? "other" : redis.state().replace("silent", "stopped"));
    state.put("breaker", isBreakerOpen() ? "open" : "closed");
    state.put("pages", pages());
    state.putAll(instances.get());
    return state;
  }

  private Map<String, Long> totals() {
    Map<String, Long> sums = new LinkedHashMap<>();
    totals.forEach((what, count) -> sums.put(what, count.sum()));
    return sums;
  }

  private record Watched(String policy, long until) {}

  /** One open page. */
  private final class Page {

    private final String id;
    private final InetAddress address;
    private final ArrayDeque<Map<String, Object>> calls = new ArrayDeque<>();
    private final ArrayDeque<String> events = new ArrayDeque<>();
    private final Map<String, Watched> watched = new ConcurrentHashMap<>(); // by card
    private final Map<String, Map<String, Long>> left = new ConcurrentHashMap<>();
    private Map<String, Map<String, Long>> leftShown = Map.of();
    private long dropped;
    private Map<String, Object> shown = Map.of();
    private Map<String, Long> counted = Map.of();

    Page(String id, InetAddress address) {
      this.id = id;
      this.address = address;
    }

    /** This machine has two addresses of its own, and is one visitor. */
    boolean mayRead(InetAddress from) {
      return from.equals(address) || (from.isLoopbackAddress() && address.isLoopbackAddress());
    }

    synchronized void add(Map<String, Object> call, boolean own) {
      if (calls.size() == MAX_WAITING) {
        calls.remove();
        dropped++;
      }
      Map<String, Object> seen = new LinkedHashMap<>(call);
      seen.put("own", own);
      calls.add(seen);
    }

    synchronized void add(String event) {
      if (events.size() < MAX_WAITING) {
        events.add(event);
      }
    }

    /** Looks up what remains until all is replenished. */
    void watch(String card, Verdict verdict) {
      Duration longest = Duration.ZERO;
      for (RuleVerdict rule : verdict.rules()) {
        longest = longest.compareTo(rule.resetAfter()) > 0 ? longest : rule.resetAfter();
      }
      longest = longest.compareTo(LONGEST_LOOK) > 0 ? LONGEST_LOOK : longest;
      long until = System.nanoTime() + longest.plusSeconds(1).toNanos();
      watched.put(card, new Watched(verdict.policy().name(), until));
      left.remove(card);
    }

    /**
     * Counts nothing. Skipped while Redis is away, since each such call would fail: a page then
     * reckons by itself, as for what is not watched.
     */
    private void look() {
      if (isBreakerOpen() || (redis != null && !redis.state().equals("running"))) {
        left.clear();
        return;
      }
      watched.values().removeIf(one -> System.nanoTime() - one.until > 0);
      left.keySet().retainAll(watched.keySet());
      watched.forEach(
          (card, one) -> {
            LimitedPolicy policy = policies.get().get(one.policy);
            var unused =
                limiter
                    .get()
                    .peek(policy.forAddress(address.getHostAddress()))
                    .thenAccept(verdict -> looked(card, one, verdict));
          });
    }

    private void looked(String card, Watched asked, Verdict verdict) {
      Map<String, Long> each = new LinkedHashMap<>();
      verdict.rules().forEach(rule -> each.put(rule.rule().name(), rule.remaining()));
      if (asked.equals(watched.get(card))) { // else a call came in between
        left.put(card, each);
      }
    }

    Event<Map<String, Object>> hello(Map<String, Object> you) {
      return Event.<Map<String, Object>>of(
              Map.of(
                  "you", you, "boot", boot, "state", state(), "totals", totals(), "now", millis()))
          .name("hello");
    }

    /** Null if there is nothing new. */
    synchronized @Nullable Event<Map<String, Object>> frame(long tick) {
      Map<String, Object> frame = new LinkedHashMap<>();
      Map<String, Object> state = state();
      if (!state.equals(shown)) {
        frame.put("state", state);
        shown = state;
      }
      Map<String, Long> sums = totals();
      if (!sums.equals(counted)) {
        frame.put("totals", sums);
        counted = sums;
      }
      if (!calls.isEmpty()) {
        List<Map<String, Object>> some = new ArrayList<>();
        while (some.size() < CALLS_OF_A_FRAME && !calls.isEmpty()) {
          some.add(calls.remove());
        }
        frame.put("calls", some);
      }
      if (tick % LOOK == 0) {
        look();
      }
      if (!left.equals(leftShown)) {
        leftShown = Map.copyOf(left);
        frame.put("left", leftShown);
      }
      if (!events.isEmpty()) {
        frame.put("events", List.copyOf(events));
        events.clear();
      }
      if (dropped > 0) {
        frame.put("dropped", dropped);
        dropped = 0;
      }
      if (frame.isEmpty() && tick % BEAT != 0) {
        return null;
      }
      frame.put("now", millis());
      return Event.<Map<String, Object>>of(frame).name("frame");
    }

    private long millis() {
      return System.currentTimeMillis();
    }
  }
}
