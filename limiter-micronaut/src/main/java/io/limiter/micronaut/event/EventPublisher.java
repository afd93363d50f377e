// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.event;

import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.Outcome;
import io.limiter.core.RuleVerdict;
import io.limiter.core.StoreException;
import io.limiter.core.Verdict;
import io.limiter.core.redis.RedisHealth.NodeListener;
import io.limiter.core.rule.Rule;
import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.call.AdmissionControl.DenialListener;
import io.limiter.micronaut.call.ArrivingCall;
import io.limiter.micronaut.call.LimitWarnings.Warning;
import io.limiter.micronaut.call.LimitWarnings.WarningListener;
import io.limiter.micronaut.config.LimiterConfiguration.EventsConfiguration;
import io.limiter.micronaut.plan.EndpointPart;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlanGeneration;
import io.limiter.micronaut.plan.PlanListener;
import io.micronaut.context.BeanContext;
import io.micronaut.context.event.ApplicationEventPublisher;
import io.micronaut.core.annotation.Internal;
import jakarta.annotation.PreDestroy;
import jakarta.inject.Inject;
import jakarta.inject.Singleton;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Publishes each {@link LimiterEvent} on a thread of its own, and logs each denial at DEBUG. The
 * thread starts with the first event and ends after ten seconds without one. An event without a
 * listener is not created, except for the first of its type: the listeners are looked up on that
 * thread.
 */
@Internal
@Singleton
public final class EventPublisher
    implements DenialListener, WarningListener, NodeListener, PlanListener, EndpointPart {

  /** Receives a line for each denial. */
  static final String DENIALS = "io.limiter.denials";

  private static final Logger LOG = LoggerFactory.getLogger(EventPublisher.class);
  private static final Logger DENIAL_LOG = LoggerFactory.getLogger(DENIALS);

  // One bit for each type of event.
  static {
    Objects.requireNonNull(
        PublishedDenial.class); // loads it now, not when an event loop denies first
  }

  private static final int DENIED = 1;
  private static final int DUPLICATE = 2;
  private static final int BANNED = 4;
  private static final int LOST = 8;
  private static final int BACK = 16;
  private static final int POLICY = 32;
  private static final int AUDIT = 64;
  private static final int NEAR = 128;

  /** Longer than the calls of one command take to be answered. */
  private static final Duration SAME_BAN = Duration.ofSeconds(1);

  private static final int MAX_BEGUN = 1_024;

  private final BeanContext context;
  private final ApplicationEventPublisher<LimiterEvent.CallDenied> denied;
  private final ApplicationEventPublisher<LimiterEvent.DuplicateDenied> duplicates;
  private final ApplicationEventPublisher<LimiterEvent.CallerBanned> bans;
  private final ApplicationEventPublisher<LimiterEvent.StoreLost> lost;
  private final ApplicationEventPublisher<LimiterEvent.StoreBack> back;
  private final ApplicationEventPublisher<LimiterEvent.PolicyChanged> policies;
  private final ApplicationEventPublisher<LimiterEvent.Audit> audits;
  private final ApplicationEventPublisher<LimiterEvent.NearLimit> warnings;

  private final SubjectDigest digest;
  private final int maxWaiting;
  private final Executor thread;
  private final Runnable publishing = this::publishAll;

  /** Each is an event, a {@link PublishedDenial} or a {@link Warning}. */
  private final Queue<Object> queue = new ConcurrentLinkedQueue<>();

  /** The events in the queue, and the one that is being published. */
  private final AtomicInteger waiting = new AtomicInteger();

  /** The types that are known to have no listeners. */
  private volatile int unheard;

  /** The types that are known to have some; only the publishing thread uses this. */
  private int heard;

  /**
   * When bans last began, by the digests of their subjects. Calls that Redis decides together have
   * one time, so each of them sees the whole of a ban that one of them began. Only the publishing
   * thread uses this.
   */
  private final Map<String, Long> begun = new LinkedHashMap<>();

  private final LongAdder dropped = new LongAdder();
  private final LogThrottle drops = new LogThrottle();
  private final LogThrottle failures = new LogThrottle();

  /** One publisher for each type of event, and where they are from. */
  @Singleton
  record Publishers(
      BeanContext context,
      ApplicationEventPublisher<LimiterEvent.CallDenied> denied,
      ApplicationEventPublisher<LimiterEvent.DuplicateDenied> duplicates,
      ApplicationEventPublisher<LimiterEvent.CallerBanned> bans,
      ApplicationEventPublisher<LimiterEvent.StoreLost> lost,
      ApplicationEventPublisher<LimiterEvent.StoreBack> back,
      ApplicationEventPublisher<LimiterEvent.PolicyChanged> policies,
      ApplicationEventPublisher<LimiterEvent.Audit> audits,
      ApplicationEventPublisher<LimiterEvent.NearLimit> warnings) {}

  @Inject
  EventPublisher(Publishers publishers, EventsConfiguration events, SubjectDigest digest) {
    this(publishers, events, digest, ownThread());
  }

  EventPublisher(
      Publishers publishers, EventsConfiguration events, SubjectDigest digest, Executor thread) {
    this.context = publishers.context();
    this.denied = publishers.denied();
    this.duplicates = publishers.duplicates();
    this.bans = publishers.bans();
    this.lost = publishers.lost();
    this.back = publishers.back();
    this.policies = publishers.policies();
    this.audits = publishers.audits();
    this.warnings = publishers.warnings();
    this.digest = digest;
    if (DENIAL_LOG.isDebugEnabled()) {
      digest.prepare();
    }
    this.maxWaiting = events.queueSize();
    this.thread = thread;
  }

  private static Executor ownThread() {
    ThreadPoolExecutor one =
        new ThreadPoolExecutor(
            1,
            1,
            10,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(), // of one task at most: see offer()
            task -> {
              Thread thread = new Thread(task, "limiter-events");
              thread.setDaemon(true);
              return thread;
            },
            new ThreadPoolExecutor.DiscardPolicy()); // the service stops
    one.allowCoreThreadTimeOut(true);
    return one;
  }

  @Override
  public void meters(Meters meters) {
    meters.count(
        "limiter.events.dropped",
        "Events that were dropped because listeners were too slow",
        this::dropped);
  }

  /** How many events were dropped since the start, because listeners were slower than events. */
  long dropped() {
    return dropped.sum();
  }

  @Override
  public void denied(ArrivingCall<?> denied, LimitRequest asked, Verdict verdict) {
    LimitPlan plan = denied.plan();
    if (DENIAL_LOG.isDebugEnabled()) {
      DeniedPart call = DeniedPart.of(asked, verdict);
      DENIAL_LOG.debug(
          "policy={} rule={} outcome={} retry-after={} decided-by={} subject={}",
          verdict.policy().name(),
          call.rule().isEmpty() ? "none" : call.rule(),
          verdict.outcome(),
          verdict.retryAfter().map(Duration::toString).orElse("unknown"),
          verdict.decidedBy(),
          digest.of(call.charge().key()));
    }
    if (verdict.outcome() == Outcome.DUPLICATE) {
      offerDenial(DUPLICATE, plan, asked, verdict);
      return;
    }
    offerDenial(DENIED, plan, asked, verdict);
    if (verdict.outcome() == Outcome.BANNED
        && (unheard & BANNED) == 0
        && verdict.decidedBy() != DecidedBy.DENY_CACHE // the store has decided the first one
        && DeniedPart.of(asked, verdict).banBegins(verdict)) {
      offerDenial(BANNED, plan, asked, verdict);
    }
  }

  private LimiterEvent.CallDenied denial(PublishedDenial of) {
    Verdict verdict = of.verdict;
    DeniedPart call = DeniedPart.of(of.asked, verdict);
    return new LimiterEvent.CallDenied(
        verdict.policy().name(),
        of.plan.method(),
        verdict.outcome(),
        call.rule(),
        verdict.retryAfter(),
        verdict.decidedBy(),
        digest.of(call.charge().key()));
  }

  private LimiterEvent.DuplicateDenied duplicate(PublishedDenial of) {
    Verdict verdict = of.verdict;
    return new LimiterEvent.DuplicateDenied(
        verdict.policy().name(),
        of.plan.method(),
        verdict.retryAfter(),
        verdict.decidedBy(),
        digest.of(DeniedPart.of(of.asked, verdict).charge().key()));
  }

  private void publishBan(PublishedDenial of) {
    Verdict verdict = of.verdict;
    Duration ban = verdict.ban().orElse(Duration.ZERO);
    String subject = digest.of(DeniedPart.of(of.asked, verdict).charge().key());
    if (beginsAgain(subject, of.nanos, ban)) {
      publish(
          BANNED,
          bans,
          () ->
              new LimiterEvent.CallerBanned(
                  verdict.policy().name(), of.plan.method(), ban, subject));
    }
  }

  /** Whether it is another ban than the last one of this subject. */
  private boolean beginsAgain(String subject, long nanos, Duration ban) {
    Long last = begun.remove(subject);
    begun.put(subject, nanos);
    if (begun.size() > MAX_BEGUN) {
      begun.remove(begun.keySet().iterator().next()); // the one that began first
    }
    Duration same = ban.compareTo(SAME_BAN) < 0 ? ban : SAME_BAN;
    return last == null || nanos - last >= same.toNanos();
  }

  @Override
  public void warned(Warning warning) {
    offer(NEAR, warning);
  }

  private LimiterEvent.NearLimit nearLimit(Warning warning) {
    RuleVerdict rule = warning.rule();
    return new LimiterEvent.NearLimit(
        warning.policy(),
        warning.method(),
        rule.rule().name(),
        rule.used(),
        rule.remaining(),
        rule.resetAfter(),
        digest.of(warning.charge().key()));
  }

  @Override
  public void lost(String node, StoreException why) {
    offer(LOST, new LimiterEvent.StoreLost(node, why.reason(), String.valueOf(why.getMessage())));
  }

  @Override
  public void back(String node) {
    offer(BACK, new LimiterEvent.StoreBack(node));
  }

  /** Publishes each policy whose rules are others now. */
  @Override
  public void changed(PlanGeneration before, PlanGeneration now) {
    Map<String, List<Rule>> old = before.rules();
    Map<String, List<Rule>> current = now.rules();
    Stream.concat(old.keySet().stream(), current.keySet().stream())
        .distinct()
        .sorted()
        .forEach(
            policy -> {
              List<Rule> until = old.getOrDefault(policy, List.of());
              List<Rule> from = current.getOrDefault(policy, List.of());
              if (!until.equals(from)) {
                offer(
                    POLICY,
                    new LimiterEvent.PolicyChanged(
                        policy, "The configuration was refreshed", until, from));
              }
            });
  }

  /** Publishes a change that was made by hand. Any thread may call this. */
  public void audit(LimiterEvent.Audit change) {
    offer(AUDIT, change);
  }

  /**
   * A denial, which becomes an event if that has listeners.
   *
   * @param type the bit of its type
   * @param nanos when a ban begins, by {@link System#nanoTime}; otherwise 0
   */
  private record PublishedDenial(
      int type, LimitPlan plan, LimitRequest asked, Verdict verdict, long nanos) {}

  private void offerDenial(int type, LimitPlan plan, LimitRequest asked, Verdict verdict) {
    if ((unheard & type) == 0) {
      offer(
          type,
          new PublishedDenial(type, plan, asked, verdict, type == BANNED ? System.nanoTime() : 0));
    }
  }

  /**
   * Queues an event, or drops it where too many wait.
   *
   * @param type the bit of its type
   */
  private void offer(int type, Object event) {
    if ((unheard & type) != 0) {
      return;
    }
    // Several threads at once may exceed the bound by one each.
    if (waiting.get() >= maxWaiting) {
      drop();
      return;
    }
    queue.add(event);
    if (waiting.getAndIncrement() == 0) {
      thread.execute(publishing);
    }
  }

  private void publish(Object next) {
    if (next instanceof PublishedDenial denial) {
      switch (denial.type) {
        case DUPLICATE -> publish(DUPLICATE, duplicates, () -> duplicate(denial));
        case BANNED -> publishBan(denial);
        default -> publish(DENIED, denied, () -> denial(denial));
      }
    } else if (next instanceof Warning warning) {
      publish(NEAR, warnings, () -> nearLimit(warning));
    } else if (next instanceof LimiterEvent.StoreLost event) {
      publish(LOST, lost, () -> event);
    } else if (next instanceof LimiterEvent.StoreBack event) {
      publish(BACK, back, () -> event);
    } else if (next instanceof LimiterEvent.PolicyChanged event) {
      publish(POLICY, policies, () -> event);
    } else if (next instanceof LimiterEvent.Audit event) {
      publish(AUDIT, audits, () -> event);
    }
  }

  private <E extends LimiterEvent> void publish(
      int type, ApplicationEventPublisher<E> publisher, Supplier<E> event) {
    if ((heard & type) == 0) {
      if (publisher.isEmpty()) { // makes the listeners, which are beans of the application
        unheard = unheard | type; // only this thread writes
        return;
      }
      heard |= type;
    }
    publisher.publishEvent(event.get());
  }

  private void publishAll() {
    do {
      Object next = queue.remove(); // there is one: it is counted after it is added
      try {
        publish(next);
      } catch (Throwable failure) { // of a listener; the others still run, whatever it is
        long times = context.isRunning() ? failures.count() : 0; // one that stops has no listeners
        if (times > 0) {
          LOG.error(
              "A listener has failed for an event of the limiter. Occurrences since the last message: {}",
              times,
              failure);
        }
      }
    } while (waiting.decrementAndGet() > 0);
  }

  private void drop() {
    dropped.increment();
    long times = drops.count();
    if (times > 0) {
      LOG.warn(
          "Events are dropped, since listeners are slower than events: {} since the last message. Make the listeners faster, or raise limiter.events.queue-size, {}",
          times,
          maxWaiting);
    }
  }

  @PreDestroy
  void close() {
    unheard = -1; // nothing would publish what is offered from now on
    if (thread instanceof ThreadPoolExecutor own) {
      own.shutdown();
    }
  }
}
