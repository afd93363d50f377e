// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.recorder;

import io.limiter.core.Charge;
import io.limiter.core.DecidedBy;
import io.limiter.core.LimitRequest;
import io.limiter.core.Outcome;
import io.limiter.core.RuleVerdict;
import io.limiter.core.StateKey;
import io.limiter.core.Verdict;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.RedisSettings.KeySecret;
import io.limiter.core.rule.Rule;
import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.call.AdmissionControl.VerdictListener;
import io.limiter.micronaut.call.ArrivingCall;
import io.limiter.micronaut.plan.EndpointPart;
import io.limiter.micronaut.plan.LimitPlan;
import io.limiter.micronaut.plan.PlannedCharge;
import io.limiter.micronaut.plan.PolicyPlan;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.exceptions.ConfigurationException;
import jakarta.annotation.PreDestroy;
import jakarta.inject.Singleton;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes a line for each decided call, policy and subject. The threads of calls only add to a
 * bounded queue. One thread takes from it twenty times a second, so that no call wakes it.
 *
 * <p>Of a policy that counts several subjects each has its own name in the file, such as {@code
 * login:USER_ID}: a call is one line of each, and each is replayed by itself.
 */
@Singleton
@Requires(property = RecorderConfiguration.FILE)
final class CallRecorder implements VerdictListener, EndpointPart {

  /**
   * The first line of a file. Times are microseconds since 1970; subjects are digests with {@code
   * limiter.redis.key-secret}, else with a random key of this process.
   */
  static final String HEADER = "time,policy,subject,cost,outcome";

  /** Calls that wait to be written; half a kilobyte each. */
  static final int MAX_WAITING = 16_384;

  private static final Logger LOG = LoggerFactory.getLogger(CallRecorder.class);

  private static final long INTERVAL_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
  private static final long CLOSE_MILLIS = 5_000;

  /** Bytes that are written at once. */
  private static final int CHUNK = 1 << 16;

  /** Plans whose names are kept. */
  private static final int MAX_PLANS = 10_000;

  private final String path;
  private final RecorderFile file;
  private final double share;
  private final KeySecret secret;
  private final long seed;

  private final Queue<DecidedCall> queue = new ConcurrentLinkedQueue<>();
  private final AtomicInteger waiting = new AtomicInteger();
  private final LongAdder written = new LongAdder();
  private final LongAdder dropped = new LongAdder();
  private final LogThrottle drops = new LogThrottle();
  private final LogThrottle failures = new LogThrottle();
  private final Thread thread;
  private volatile boolean closed;

  // Of the writing thread.
  private final IdentityHashMap<LimitPlan, List<NamedCharge>> names = new IdentityHashMap<>();
  private final StringBuilder lines = new StringBuilder();
  private int count;

  /** A call, whose lines the writing thread makes. */
  private record DecidedCall(
      LimitPlan whole, LimitPlan plan, LimitRequest asked, Verdict verdict, long micros) {}

  /**
   * A charge of a plan.
   *
   * @param name its policy, and its subject if there are several, ready to be written
   * @param anonymousName the name for a caller without the subject, whose rules may be others
   */
  private record NamedCharge(PlannedCharge planned, String name, String anonymousName) {

    String name(Charge charge) {
      return charge.stack().equals(planned.anonymousRules()) ? anonymousName : name;
    }
  }

  CallRecorder(RecorderConfiguration settings, Optional<RedisSettings> redis) {
    this.path = Objects.requireNonNull(settings.file());
    this.share = settings.share();
    this.secret = redis.flatMap(RedisSettings::keySecret).orElseGet(KeySecret::random);
    this.seed = secret.tag(new StateKey("recorder", "")).hashCode();
    try {
      this.file =
          new RecorderFile(
              Path.of(path).toAbsolutePath(), HEADER, settings.maxSize(), settings.files());
      open();
    } catch (IOException | InvalidPathException failure) {
      throw new ConfigurationException(
          "%s = %s: the file cannot be written (%s): set it to a new file, or one of the recorder, in a directory that exists and can be written"
              .formatted(RecorderConfiguration.FILE, path, failure),
          failure);
    }
    this.thread = new Thread(this::run, "limiter-recorder");
    thread.setDaemon(true);
    thread.start();
  }

  private void open() throws IOException {
    try {
      file.open();
    } catch (RecorderFile.InUseException failure) { // until the instance that this replaces stops
      reportUnwritten(failure);
    }
  }

  @Override
  public void meters(Meters meters) {
    meters.count("limiter.recorder.lines", "Lines that the recorder has written", written::sum);
    meters.count(
        "limiter.recorder.dropped",
        "Calls and lines that the recorder has dropped, because it was too slow or could not write",
        dropped::sum);
  }

  @Override
  public void decided(ArrivingCall<?> call, Verdict verdict) {
    LimitRequest asked = call.asked();
    if (asked == null || verdict.decidedBy() == DecidedBy.NONE || !isSampled(asked)) {
      return;
    }
    // Several threads at once may exceed the bound by one each.
    if (waiting.get() >= MAX_WAITING || closed) {
      drop();
      return;
    }
    boolean timed = verdict.decidedBy() == DecidedBy.STORE || isCached(verdict);
    long micros =
        timed && verdict.decidedAtMicros() > 0
            ? verdict.decidedAtMicros()
            : System.currentTimeMillis() * 1_000;
    waiting.incrementAndGet();
    queue.add(new DecidedCall(call.whole(), call.plan(), asked, verdict, micros));
  }

  private static boolean isCached(Verdict verdict) {
    return verdict.decidedBy() == DecidedBy.DENY_CACHE;
  }

  private boolean isSampled(LimitRequest asked) {
    for (int c = 0; c < asked.charges().size(); c++) {
      if (isSampled(asked.charge(c).key())) {
        return true;
      }
    }
    return false;
  }

  /** By the subject alone, so that all of its calls are recorded, or none. */
  private boolean isSampled(StateKey key) {
    if (share >= 1) {
      return true;
    }
    long hash = (key.tag().hashCode() + (seed << 32)) * 0x9E3779B97F4A7C15L;
    hash = (hash ^ (hash >>> 32)) * 0xD6E8FEB86659FD93L;
    hash ^= hash >>> 32;
    return (hash >>> 11) * 0x1p-53 < share;
  }

  private void drop() {
    dropped.increment();
    long times = drops.count();
    if (times > 0) {
      LOG.warn(
          "Calls are not recorded in {}, since they are more than its disk takes: {} since the last message. Record fewer subjects by {}.share",
          path,
          times,
          RecorderConfiguration.PREFIX);
    }
  }

  private void run() {
    boolean last;
    do {
      last = closed;
      try {
        writeWaiting();
      } catch (RuntimeException failure) { // of a rule of the application
        dropped.increment();
        failures.report(LOG, "A call is not recorded in " + path, failure);
      }
      if (!last) {
        LockSupport.parkNanos(this, INTERVAL_NANOS);
      }
    } while (!last);
    try {
      file.close();
    } catch (IOException failure) {
      LOG.warn("{} = {} was not closed", RecorderConfiguration.FILE, path, failure);
    }
  }

  private void writeWaiting() {
    for (DecidedCall next = queue.poll(); next != null; next = queue.poll()) {
      waiting.decrementAndGet();
      add(next);
      if (lines.length() >= CHUNK) {
        writeLines();
      }
    }
    writeLines();
  }

  private void writeLines() {
    if (count == 0) {
      return;
    }
    try {
      file.write(ByteBuffer.wrap(lines.toString().getBytes(StandardCharsets.UTF_8)));
      written.add(count);
    } catch (IOException failure) {
      dropped.add(count);
      reportUnwritten(failure);
    }
    lines.setLength(0);
    count = 0;
  }

  private void reportUnwritten(IOException failure) {
    long times = failures.count();
    if (times > 0) {
      LOG.warn(
          "{} = {} cannot be written, and calls are not recorded: {}. {}; the next calls are tried again. Occurrences since the last message: {}",
          RecorderConfiguration.FILE,
          path,
          failure instanceof RecorderFile.InUseException
              ? failure.getMessage()
              : failure.toString(),
          failure instanceof RecorderFile.InUseException
              ? "Or wait until it stops"
              : "Free the disk or lower " + RecorderConfiguration.PREFIX + ".max-size",
          times);
    }
  }

  private void add(DecidedCall call) {
    if (names.size() > MAX_PLANS) {
      names.clear(); // of plans before refreshes
    }
    List<NamedCharge> plan = names.computeIfAbsent(call.plan, any -> names(any, call.whole));
    List<Charge> charges = call.asked.charges();
    List<String> named = new ArrayList<>(charges.size());
    for (int c = 0; c < charges.size(); c++) {
      named.add(plan.get(c).name(charges.get(c)));
    }
    for (int c = 0; c < charges.size(); c++) {
      StateKey key = charges.get(c).key();
      // Rules on trial count the same subject under a key of their own.
      if (named.indexOf(named.get(c)) == c && isSampled(key)) {
        String outcome = outcome(call, plan, named, c); // runs code of the application
        lines.append(call.micros).append(',').append(named.get(c)).append(',');
        lines.append(secret.tag(key)).append(',').append(charges.get(c).cost()).append(',');
        lines.append(outcome).append('\n');
        count++;
      }
    }
  }

  /**
   * What the rules of one policy and subject say. Without {@code other}, a replay of these rules
   * over the lines counts as the service has.
   */
  private static String outcome(
      DecidedCall call, List<NamedCharge> plan, List<String> named, int first) {
    Verdict verdict = call.verdict;
    if (verdict.allowed() && !call.plan.observesSome()) {
      return "admitted";
    }
    List<Charge> charges = call.asked.charges();
    boolean denied = false;
    boolean observed = false;
    boolean trial = false;
    for (int c = first; c < charges.size(); c++) {
      Charge charge = charges.get(c);
      if (named.get(c).equals(named.get(first))) {
        boolean onTrial = plan.get(c).planned().trial();
        boolean violated =
            verdict.rules().stream()
                .anyMatch(rule -> violates(rule, charge) && !(isCached(verdict) && isOver(rule)));
        boolean bans = verdict.outcome() == Outcome.BANNED && charge.stack().ban().isPresent();
        denied |= !charge.observed() && (violated || bans);
        trial |= violated && onTrial;
        observed |= violated && charge.observed() && !onTrial;
      }
    }
    if (!verdict.allowed()) {
      return denied ? "denied" : "other";
    }
    return observed ? "observed" : trial ? "trial" : "admitted";
  }

  private static boolean violates(RuleVerdict verdict, Charge charge) {
    String name = verdict.rule().name();
    return verdict.violated()
        && charge.stack().rules().stream().map(Rule::name).anyMatch(name::equals);
  }

  /** The deny cache repeats what a rule denied while another one of the call still denies it. */
  private static boolean isOver(RuleVerdict verdict) {
    return verdict.retryAfter().filter(Duration::isZero).isPresent();
  }

  private static List<NamedCharge> names(LimitPlan plan, LimitPlan whole) {
    return plan.policies().stream()
        .flatMap(policy -> policy.charges().stream().map(charge -> named(policy, charge, whole)))
        .toList();
  }

  private static NamedCharge named(PolicyPlan policy, PlannedCharge charge, LimitPlan whole) {
    List<PlannedCharge> all =
        whole.policies().stream()
            .filter(each -> each.name().equals(policy.name()))
            .flatMap(each -> Stream.concat(Stream.of(each), each.tiers().values().stream()))
            .flatMap(each -> each.charges().stream())
            .toList();
    String name = policy.name();
    String method = whole.method();
    String limit = limit(charge);
    boolean usual = List.of(method, method + ' ' + name, name).contains(limit);
    if (all.stream().map(PlannedCharge::source).distinct().count() > 1) {
      String source = charge.source().written();
      name += ':' + source.substring(source.indexOf("= ") + 2);
    }
    if (!usual && all.stream().map(CallRecorder::limit).distinct().count() > 1) {
      name += ':' + limit; // the key of its annotation, or its condition
    }
    boolean same = charge.rules().rules().equals(charge.anonymousRules().rules());
    return new NamedCharge(charge, column(name), same ? column(name) : column(name + ":anonymous"));
  }

  /** The limit without the suffix of rules that are only observed, or on trial. */
  private static String limit(PlannedCharge charge) {
    return charge.observed()
        ? charge.limit().replaceFirst(" (observed|trial)$", "")
        : charge.limit();
  }

  private static String column(String name) {
    String line = LogThrottle.oneLine(name, 1_000);
    return line.matches("[^\",]*") ? line : '"' + line.replace("\"", "\"\"") + '"';
  }

  /** Writes what waits, within a bound. */
  @PreDestroy
  void close() {
    closed = true;
    LockSupport.unpark(thread);
    try {
      thread.join(CLOSE_MILLIS);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
    if (thread.isAlive()) {
      LOG.warn(
          "{} = {} is too slow to write the last calls, so {} and those of one write are not recorded",
          RecorderConfiguration.FILE,
          path,
          waiting.get());
    }
  }
}
