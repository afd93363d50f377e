// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static java.util.concurrent.TimeUnit.MICROSECONDS;

import io.lettuce.core.ScriptOutputType;
import io.limiter.core.Charge;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest;
import io.limiter.core.LimitStore;
import io.limiter.core.Mode;
import io.limiter.core.Policy;
import io.limiter.core.StateKey;
import io.limiter.core.StoreException;
import io.limiter.core.Subject;
import io.limiter.core.Verdict;
import io.limiter.core.redis.RedisHealth.NodeListener;
import io.limiter.core.redis.wire.ChargeReply;
import io.limiter.core.redis.wire.DecisionBatching;
import io.limiter.core.redis.wire.DecisionScripts;
import io.limiter.core.redis.wire.DecisionScripts.RedisScript;
import io.limiter.core.redis.wire.EncodedCall;
import io.limiter.core.redis.wire.EncodedStack;
import io.limiter.core.rule.FixedWindowRule;
import io.limiter.core.rule.RuleStack;
import io.limiter.core.util.BoundedCache;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.LongSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Decides in Redis 6.2 or later, with one EVALSHA for a call, or for the calls that meet in one
 * turn of an event loop, each of which is decided by itself. In a Redis Cluster it sends one for
 * each slot with keys of the call, so one for each subject; if a call of several subjects is denied
 * there, it gives back what it has taken from some of them. Redis' clock is the only clock. Each
 * key expires when its state is not needed any more, after a sixteenth of that time and a second in
 * addition; a subject takes about 8 bytes a unit.
 *
 * <p>After consecutive failures it fails immediately for about a second at a time, with the reason
 * {@code BREAKER_OPEN}. Decisions, refunds and resets behave alike in this respect.
 *
 * <p>Stages complete on the event loop of the connection, which may also serve HTTP requests, and
 * at the hard deadline on a thread of the store.
 */
public final class RedisStore implements LimitStore {

  /**
   * The most stacks whose encoding is cached. A service has one or two for each method; further
   * stacks are encoded at each call.
   */
  private static final int MAX_ENCODED = 4_096;

  /**
   * Resets are a script too, so that they have the same deadline as decisions and are repeated
   * under the same conditions.
   */
  private static final RedisScript RESET = RedisScript.of("return redis.call('DEL', unpack(KEYS))");

  /** Large enough that no check is denied; a denied check would write nothing. */
  private static final LimitRequest HEALTH =
      LimitRequest.of(
          Policy.of("io.limiter.health", FixedWindowRule.of(1_000_000, Duration.ofMillis(1))),
          Subject.global());

  private final RedisSettings settings;
  private final RedisScript decide;
  private final @Nullable DecisionBatching batching;
  private final RedisNodes nodes;
  private final UnitScripts units;
  private final RedisHealth health;

  // Not created for each call.
  private final Function<StateKey, byte[]> names;
  private final Function<RuleStack, EncodedStack> stacks;

  /**
   * Creates a store over open connections, which are closed with the store.
   *
   * @param connections supplies the connections
   * @param settings how it uses Redis
   */
  public RedisStore(ConnectionSource connections, RedisSettings settings) {
    this(connections, settings, DecisionScripts.load(settings.algorithms()));
  }

  /**
   * Creates a store with listeners.
   *
   * @param listeners receive the loss of each node, and its return
   */
  public RedisStore(
      ConnectionSource connections, RedisSettings settings, List<NodeListener> listeners) {
    this(
        connections,
        settings,
        DecisionScripts.load(settings.algorithms()),
        new NodeBreakers(listeners));
  }

  RedisStore(ConnectionSource connections, RedisSettings settings, DecisionScripts scripts) {
    this(connections, settings, scripts, new NodeBreakers());
  }

  RedisStore(
      ConnectionSource connections,
      RedisSettings settings,
      DecisionScripts scripts,
      NodeBreakers breakers) {
    this(connections, settings, scripts, breakers, RedisStore::wallMicros);
  }

  /**
   * @param wallMicros this process's clock, used only to find the changes of the clocks of time
   *     zones
   */
  RedisStore(
      ConnectionSource connections,
      RedisSettings settings,
      DecisionScripts scripts,
      NodeBreakers breakers,
      LongSupplier wallMicros) {
    this.settings = settings;
    this.decide = scripts.decide();
    BoundedCache<RuleStack, EncodedStack> encoded =
        new BoundedCache<>(
            MAX_ENCODED, stack -> new EncodedStack(stack, scripts.algorithms(), wallMicros));
    this.names = settings::name;
    this.stacks = encoded::get;
    this.nodes = new RedisNodes(connections, breakers, settings.bySlot());
    this.batching =
        settings.batchSize() == 1
            ? null
            : scripts
                .batch()
                .map(
                    script ->
                        new DecisionBatching(
                            scripts.decide(), script, settings.batchSize(), () -> nodes.bySlot))
                .orElse(null);
    this.units = new UnitScripts(nodes, scripts, settings);
    this.health = new RedisHealth(nodes, settings.prefix(), this::decideHealth);
  }

  @Override
  public CompletionStage<Verdict> decide(LimitRequest request, Mode mode) {
    EncodedCall call = EncodedCall.of(request, mode, names, stacks, batching);
    ScriptCall.Time time = ScriptCall.Time.of(settings.deadline(request.policy()), settings);
    return nodes.bySlot && call.size() > 1
        ? decideBySlot(request, mode, call, time)
        : new DecisionScript(request, call, time).start();
  }

  /** One script for each slot; one slot has all rules and the guard of one subject. */
  private CompletionStage<Verdict> decideBySlot(
      LimitRequest request, Mode mode, EncodedCall call, ScriptCall.Time time) {
    return MultiSlotDecision.decide(this, call, MultiSlotDecision.SlotGroups.bySlot(call), time)
        .thenApply(found -> verdict(request, mode, found));
  }

  /** One script for the whole call; its result is the verdict, so that most calls need no stage. */
  private final class DecisionScript extends ScriptCall<Verdict> {

    private final LimitRequest request;
    private final EncodedCall call;
    private final Time time;

    DecisionScript(LimitRequest request, EncodedCall call, Time time) {
      super(nodes, decide, call, time);
      this.request = request;
      this.call = call;
      this.time = time;
    }

    @Override
    Verdict read(@Nullable Object reply) {
      return verdict(request, call.mode(), RedisStore.this.read((byte[]) reply, call));
    }

    @Override
    CompletionStage<Verdict> instead(StoreException failure) {
      if (failure.reason() == FailureReason.TIMEOUT
          || failure.reason() == FailureReason.PROCESS_LATE) {
        return CompletableFuture.failedFuture(failure.withLate(late()));
      }
      if (isMovingWithBan(call, failure)) {
        return decideOneByOne(call, time).thenApply(found -> verdict(request, call.mode(), found));
      }
      return RedisNodes.Division.SEVERAL_SLOTS.isCauseOf(failure)
          ? decideBySlot(request, call.mode(), call, time)
          : super.instead(failure);
    }
  }

  @Override
  public CompletionStage<Grant> lease(LimitRequest units, Duration time) {
    EncodedCall call = EncodedCall.ofLease(units, MICROSECONDS.convert(time), names, stacks);
    ScriptCall.Time deadline = ScriptCall.Time.of(settings.deadline(units.policy()), settings);
    return new ScriptCall<byte[]>(nodes, decide, call, deadline)
        .start()
        .thenApply(
            bytes -> {
              RedisDecision made = new RedisDecision(this, units, Mode.ACQUIRE, read(bytes, call));
              return new Grant(made.checkedVerdict(), made.leaseMicros(), made::giveBack);
            });
  }

  private Verdict verdict(LimitRequest request, Mode mode, ChargeReply[] found) {
    return new RedisDecision(this, request, mode, found).checkedVerdict();
  }

  /** Decides in one script, or, while the slot of a value and its ban migrates, in several. */
  CompletionStage<ChargeReply[]> decide(EncodedCall call, ScriptCall.Time time) {
    CompletionStage<byte[]> decided = new ScriptCall<byte[]>(nodes, decide, call, time).start();
    return decided
        .thenApply(bytes -> read(bytes, call))
        .exceptionallyCompose(
            failure ->
                isMovingWithBan(call, failure)
                    ? decideOneByOne(call, time)
                    : CompletableFuture.failedFuture(failure));
  }

  private static boolean isMovingWithBan(EncodedCall call, Throwable failure) {
    return call.isOneWithBan() && RedisNodes.Division.SLOT_MOVING.isCauseOf(failure);
  }

  /** Asks for the ban, then the rules; if these deny the call, that is a violation. */
  private CompletionStage<ChargeReply[]> decideOneByOne(EncodedCall call, ScriptCall.Time time) {
    byte[] value = call.keys()[0];
    byte[] ban = call.keys()[1];
    Charge charge = call.charge(0);
    boolean asksBan =
        call.mode() == Mode.PEEK || (call.mode() == Mode.ACQUIRE && !charge.observed());
    CompletionStage<Double> banned =
        asksBan
            ? askBan(ban, call.planOfBan(Mode.PEEK), time)
            : CompletableFuture.completedFuture(0.0);
    return banned.thenCompose(
        rest -> {
          Mode mode = rest > 0 ? Mode.PEEK : call.mode();
          return ask(value, call.planOfRules(mode), call.arguments()[1], time)
              .thenCompose(
                  found -> {
                    ChargeReply[] reply = read(call.join(found, rest), call);
                    return mode == Mode.ACQUIRE && asksBan && !reply[0].admits()
                        ? askBan(ban, call.planOfBan(Mode.ACQUIRE), time)
                            .thenApply(begun -> read(call.join(found, begun), call))
                        : CompletableFuture.completedFuture(reply);
                  });
        });
  }

  private CompletionStage<Double> askBan(byte[] key, byte[] plan, ScriptCall.Time time) {
    return ask(key, plan, new byte[0], time)
        .thenApply(
            reply -> {
              if (!ChargeReply.isOfBan(reply)) {
                nodes.renew(key);
              }
              return ChargeReply.banMicros(reply);
            });
  }

  private CompletionStage<byte[]> ask(byte[] key, byte[] plan, byte[] ttl, ScriptCall.Time time) {
    byte[][] arguments = {plan, ttl};
    return new ScriptCall<byte[]>(
            nodes, decide, ScriptOutputType.VALUE, new byte[][] {key}, arguments, time)
        .start()
        .thenApply(reply -> reply == null ? new byte[0] : reply);
  }

  private ChargeReply[] read(byte @Nullable [] bytes, EncodedCall call) {
    try {
      return call.read(bytes);
    } catch (StoreException strange) {
      // Invalid numbers may be the content of this key, and do not affect other calls.
      if (!call.fits(bytes)) {
        nodes.renew(call.keys()[0]);
      }
      throw strange;
    } catch (RuntimeException strange) { // otherwise no fallback would decide
      throw new StoreException(
          FailureReason.ERROR, "Redis sent an unreadable reply to a decision", strange);
    }
  }

  /** Runs other scripts over the connections of this store. */
  public RedisScripts scripts() {
    return new RedisScripts(nodes, settings);
  }

  /** The scripts for units that calls took. */
  UnitScripts units() {
    return units;
  }

  @Override
  public CompletionStage<Void> reset(Collection<StateKey> keys) {
    if (keys.isEmpty()) {
      return CompletableFuture.completedFuture(null);
    }
    return delete(keys.stream().flatMap(key -> Stream.of(key, key.ban())));
  }

  private CompletionStage<Void> delete(Stream<StateKey> keys) {
    List<byte[]> names = keys.distinct().map(settings::name).toList();
    return units.sum(names, name -> name, this::resetTogether).thenApply(count -> null);
  }

  private CompletionStage<Long> resetTogether(List<byte[]> names) {
    return units.count(RESET, names.toArray(byte[][]::new), new byte[0][]);
  }

  @Override
  public CompletionStage<Void> liftBans(Collection<StateKey> keys) {
    if (keys.isEmpty()) {
      return CompletableFuture.completedFuture(null);
    }
    return delete(keys.stream().map(StateKey::ban));
  }

  /** Each check writes a short value, which expires after a second. */
  private CompletionStage<ChargeReply[]> decideHealth(byte[] key) {
    return decide(
        EncodedCall.of(HEALTH, Mode.ACQUIRE, own -> key, stacks, null),
        ScriptCall.Time.of(settings.deadline(), settings));
  }

  /** The health check over the connections of this store. */
  public RedisHealth health() {
    return health;
  }

  private static long wallMicros() {
    return System.currentTimeMillis() * 1_000;
  }

  @Override
  public void close() {
    nodes.close();
  }
}
