// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import static java.util.Objects.requireNonNull;

import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.limiter.core.FailureReason;
import io.limiter.core.LimitRequest.PastCharge;
import io.limiter.core.StoreException;
import io.limiter.core.redis.ClusterSource.Redirection;
import io.limiter.core.redis.connection.RedisFailures;
import io.limiter.core.redis.connection.TimedCommand;
import io.limiter.core.redis.wire.DecisionScripts.RedisScript;
import io.limiter.core.redis.wire.EncodedCall;
import io.netty.util.Timeout;
import io.netty.util.TimerTask;
import java.time.Duration;
import java.util.Arrays;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One run of a script within the time of its decision. It is sent again only if Redis replied that
 * it does not have the script, redirected it to another node, or has keys whose time is outside of
 * the plans; all prove that nothing was written.
 *
 * <p>The deadline measures Redis, by the time of the connection's event loop ({@link
 * TimedCommand}). The hard deadline measures this process. If the calling thread is that event loop
 * itself, the loop checks both: while it stalls, no reply could be processed anyway. Otherwise a
 * timer on another thread checks the hard deadline. A command that was handed to Lettuce's pipeline
 * stays there when its time is over, and its reply is late; a command that was not is withdrawn and
 * never runs.
 */
class ScriptCall<T> extends CompletableFuture<@Nullable T>
    implements TimerTask, TimedCommand.Waiter {

  /** The most redirects of one call. */
  private static final int MAX_REDIRECTS = 5;

  private final RedisNodes nodes;
  private final RedisScript script;
  private final ScriptOutputType output;
  private final byte[][] keys;
  private final Time time;

  /**
   * Those of the call if null. Replaced once, if the time of a key is outside of those that the
   * plans have.
   */
  private byte @Nullable [][] arguments;

  private boolean hasMovedPeriods;

  /** The call that the script decides. */
  private final @Nullable EncodedCall call;

  /** What the script records; null if it decides. */
  private @Nullable PastCharge past;

  private boolean passesBreaker;

  /** Whether the call may still share a command with others. */
  private boolean shares;

  /** The node to which the script is sent. */
  private volatile ConnectionSource node;

  /** The period of that node's breaker; receives the end of the call before the caller does. */
  private volatile Breaker.Period period = Breaker.UNCONCERNED;

  private volatile @Nullable RedisClusterAsyncCommands<byte[], byte[]> commands;

  /** Guarded by this object; created only if it is needed. */
  private @Nullable CompletableFuture<@Nullable T> late;

  private volatile @Nullable RedisFuture<?> command;
  private volatile @Nullable Timeout timeout;

  /**
   * Whether the timer measures Redis' deadline: between two nodes, and where the connection does
   * not time the command.
   */
  private volatile boolean timesRedis;

  /** Whether the call has failed. Guarded by this object. */
  private boolean ended;

  private volatile long budgetNanos;
  private int redirects;
  private boolean sentAsText;

  /**
   * @param keys one or more; of one slot if this is a Cluster
   */
  ScriptCall(
      RedisNodes nodes,
      RedisScript script,
      ScriptOutputType output,
      byte[][] keys,
      byte[][] arguments,
      Time time) {
    this(nodes, script, output, null, keys, arguments, time);
  }

  /**
   * A script that decides, and does more. It shares no command.
   *
   * @param keys those of the call among them
   * @param arguments those of the call, then others
   */
  ScriptCall(
      RedisNodes nodes,
      RedisScript script,
      EncodedCall call,
      byte[][] keys,
      byte[][] arguments,
      Time time) {
    this(nodes, script, ScriptOutputType.VALUE, call, keys, arguments, time);
  }

  /** The script of a decision. */
  ScriptCall(RedisNodes nodes, RedisScript script, EncodedCall call, Time time) {
    this(nodes, script, ScriptOutputType.VALUE, call, call.keys(), null, time);
    this.shares = call.mayShare();
  }

  private ScriptCall(
      RedisNodes nodes,
      RedisScript script,
      ScriptOutputType output,
      @Nullable EncodedCall call,
      byte[][] keys,
      byte @Nullable [][] arguments,
      Time time) {
    this.nodes = nodes;
    this.node = nodes.connections;
    this.script = script;
    this.output = output;
    this.call = call;
    this.keys = keys;
    this.arguments = arguments;
    this.time = time;
  }

  /**
   * Makes the result of a reply.
   *
   * @throws StoreException if the reply is strange; it is then the result
   */
  @SuppressWarnings("unchecked") // the reply is of the output type
  @Nullable T read(@Nullable Object reply) {
    return (T) reply;
  }

  /** What is to be the result instead of a failure; by default the failure itself. */
  CompletionStage<T> instead(StoreException failure) {
    return CompletableFuture.failedFuture(failure);
  }

  /**
   * Returns a future that its caller may end, by a timeout of its own for example: this call goes
   * on, reports its end to the breaker, and stops its timer.
   */
  @Override
  public CompletableFuture<@Nullable T> toCompletableFuture() {
    return copy();
  }

  /** Does nothing: reactive libraries cancel any stage that is a future. */
  @Override
  public boolean cancel(boolean mayInterruptIfRunning) {
    return false;
  }

  /** Lets it pass an open breaker. */
  ScriptCall<T> passBreaker() {
    passesBreaker = true;
    return this;
  }

  /** Sends the script to the node that has its keys, unless its breaker is open. */
  ScriptCall<T> start() {
    ClusterSource cluster = nodes.cluster;
    try {
      if (cluster == null) {
        send(nodes.connections, nodes.only, false);
      } else {
        ClusterSource.Primary owner = cluster.node(SlotHash.getSlot(keys[0]));
        send(owner, nodes.breakers.of(owner.name()), false);
      }
    } catch (StoreException notAsked) {
      completeExceptionally(notAsked);
    }
    return this;
  }

  /**
   * Sends the script to a node, and reports its end to the breaker.
   *
   * @param asking whether the slot of the keys is migrating to the node
   * @throws StoreException if the breaker of the node is open, or it has no connection
   */
  private void send(ConnectionSource to, Breaker breaker, boolean asking) {
    Breaker.Period admitted = passesBreaker ? breaker.pass() : breaker.admit();
    if (admitted == null) {
      throw breaker.rejection();
    }
    try {
      commands =
          asking && to instanceof ClusterSource.Primary primary ? primary.asking() : to.commands();
    } catch (StoreException disconnected) {
      nodes.unconnected(admitted, disconnected);
      noteFailureOf(to);
      throw disconnected;
    }
    node = to;
    period = admitted;
    sentAsText = false;
    if (call != null && call.hasPast()) {
      record(call);
    }
    send();
  }

  /**
   * Records past units before the decision, on its connection. They go with a call that the breaker
   * has admitted, and do not concern it. Nothing waits for them. Those that Redis refuses go with a
   * later call; those without a reply may have been recorded, and do not.
   */
  private void record(EncodedCall decided) {
    decided
        .takeRecords()
        .forEach(
            (units, of) -> {
              byte[][] own = Arrays.copyOfRange(of, 1, of.length);
              byte[][] key = {of[0]};
              ScriptCall<T> records =
                  new ScriptCall<>(nodes, script, output, key, own, time.again());
              records.past = units;
              records.node = node;
              records.commands = commands;
              records.send();
            });
  }

  /** The slots may be elsewhere by now. */
  private static void noteFailureOf(ConnectionSource node) {
    if (node instanceof ClusterSource.Primary primary) {
      primary.failed();
    }
  }

  private void send() {
    try {
      follow(evalsha(requireNonNull(commands)));
    } catch (RuntimeException failure) {
      fail(failure);
    }
  }

  private RedisFuture<?> evalsha(RedisClusterAsyncCommands<byte[], byte[]> to) {
    RedisFuture<?> shared = shares && call != null ? TimedCommand.send(call, to) : null;
    return shared != null ? shared : to.evalsha(script.sha(), output, keys, arguments());
  }

  private byte[][] arguments() {
    byte[][] own = arguments;
    return own == null ? requireNonNull(call).arguments() : own;
  }

  private void follow(RedisFuture<?> sent) {
    command = sent;
    budgetNanos = time.leftNanos();
    if (sent instanceof TimedCommand<?, ?, ?> timed) {
      timed.awaitedBy(this);
      if (!timed.isHandedOverHere()) {
        startTimer(false, time.hardDueNanos - nodes.nanoTime.getAsLong());
      }
    } else { // a connection opened by the application
      startTimer(true, time.leftNanos());
    }
    sent.whenComplete(this::answered);
    if (isDone() && !(sent instanceof TimedCommand<?, ?, ?> timed && !timed.withdraw())) {
      sent.cancel(false); // the time was over before the command was stored here
    }
  }

  private void startTimer(boolean ofRedis, long delayNanos) {
    Timeout running = timeout;
    if (running != null && timesRedis == ofRedis) {
      return;
    }
    stopTimer();
    timesRedis = ofRedis;
    try {
      timeout = nodes.timer.newTimeout(this, Math.max(0, delayNanos), TimeUnit.NANOSECONDS);
    } catch (RuntimeException closed) {
      fail(closed);
    }
    if (isDone()) {
      stopTimer();
    }
  }

  private void answered(@Nullable Object reply, @Nullable Throwable failure) {
    if (failure != null && RedisFailures.isCrossSlot(RedisFailures.unwrap(failure))) {
      nodes.divideBySlot();
    }
    if (failure == null) {
      if (!isDone()) {
        stopTimer();
        spend();
        period.answered();
      }
      answered(reply);
    } else if (failure instanceof RedisNoScriptException && !sentAsText && !isDone()) {
      sentAsText = true;
      spend();
      try {
        follow(requireNonNull(commands).eval(script.text(), output, keys, arguments()));
      } catch (RuntimeException notSent) {
        fail(notSent);
      }
    } else if (!isDone() && isOfOthersToo(failure)) {
      shares = false; // alone from now on: another key of the command may be the reason
      spend();
      send();
    } else if (!isDone() && movesPeriods(failure)) {
      shares = false;
      spend();
      send();
    } else if (isDone() || !redirected(failure)) {
      fail(failure);
    }
  }

  /** Completes this call, or {@link #late} if its time is over. */
  private void answered(@Nullable Object reply) {
    try {
      T result = read(reply);
      if (isDone() || !complete(result)) {
        late().complete(result);
      }
    } catch (Throwable strange) { // an Error of an application's algorithm, too
      if (isDone() || !completeExceptionally(strange)) {
        late().completeExceptionally(strange);
      }
    }
  }

  /**
   * Whether nothing ran because of the keys of a shared command: some are migrating to another
   * node, or they are in several slots. The call alone would get another answer: Redis 6 sends a
   * whole command after one missing key (ASK), and the key of this call may still be here.
   */
  private boolean isOfOthersToo(Throwable failure) {
    Throwable cause = RedisFailures.unwrap(failure);
    return (RedisFailures.isOfMovingSlot(cause) || RedisFailures.isCrossSlot(cause))
        && command instanceof TimedCommand<?, ?, ?> timed
        && timed.isShared();
  }

  /**
   * Whether windows by the clock of a zone were not those of the key's time, and now are. The
   * clocks of Redis and this process differ by a day or more, or Redis' clock was set back by as
   * much.
   */
  private boolean movesPeriods(Throwable failure) {
    OptionalLong micros = RedisFailures.periodMicros(RedisFailures.unwrap(failure));
    if (call == null || micros.isEmpty() || hasMovedPeriods) {
      return false;
    }
    hasMovedPeriods = true;
    byte[][] moved = call.argumentsAt(micros.getAsLong());
    byte[][] all = arguments().clone(); // there may be more behind those of the call
    System.arraycopy(moved, 0, all, 0, moved.length);
    arguments = all;
    return true;
  }

  /**
   * Subtracts the time of this command from that of the following ones. Runs on the event loop that
   * has read a reply.
   */
  private void spend() {
    if (command instanceof TimedCommand<?, ?, ?> timed) {
      time.spend(timed.spentNanos());
    }
  }

  /** Completes with a reply that arrives after the call has failed, on the event loop. */
  synchronized CompletableFuture<@Nullable T> late() {
    if (late == null) {
      late = new CompletableFuture<>();
    }
    return late;
  }

  /** Whether the reply redirects the call; then it is on its way, or has failed. */
  private boolean redirected(Throwable failure) {
    Throwable cause = RedisFailures.unwrap(failure);
    CompletionStage<ClusterSource.Primary> next =
        redirects < MAX_REDIRECTS ? nodes.after(cause, node, keys) : null;
    if (next == null) {
      return false;
    }
    redirects++;
    shares = false; // a command is sent once
    spend();
    period.answered();
    period = Breaker.UNCONCERNED;
    Redirection redirection = Redirection.of(cause);
    boolean asking = redirection != null && redirection.ask();
    long from = nodes.nanoTime.getAsLong();
    startTimer(true, time.leftNanos()); // finding the node takes time of its own
    next.whenComplete(
        (found, lookupFailure) -> {
          if (lookupFailure != null) {
            fail(lookupFailure);
          } else if (!isDone()) { // otherwise the deadline has passed
            time.spend(nodes.nanoTime.getAsLong() - from);
            stopTimer();
            try {
              send(found, nodes.breakers.of(found.name()), asking);
            } catch (StoreException notAsked) {
              fail(notAsked);
            }
          }
        });
    return true;
  }

  private void fail(Throwable failure) {
    stopTimer();
    Throwable cause = RedisFailures.unwrap(failure);
    if (past != null && RedisFailures.isRefusal(cause)) {
      past.refused();
    }
    if (RedisFailures.isDemotion(cause)) {
      node.renew();
    }
    boolean severalSlots = keys.length > 1 && RedisFailures.isCrossSlot(cause);
    if (severalSlots) { // another script asks for each slot, in what is left of the time
      spend();
    }
    if (!isDone()) {
      StoreException failed =
          severalSlots
              ? RedisNodes.Division.SEVERAL_SLOTS.failure(
                  node.name() + " answered with the error CROSSSLOT")
              : RedisFailures.translate(cause, node.name());
      switch (RedisFailures.blame(cause)) {
        case NODE -> period.failed(failed);
        case CALL -> period.answered();
        case NEITHER -> {
          if (failed.reason() == FailureReason.DISCONNECTED) {
            nodes.unconnected(period, failed);
          } else {
            period.undecided();
          }
        }
      }
      end(failed);
    }
  }

  private void end(StoreException failure) {
    synchronized (this) { // the timer may run meanwhile
      if (ended) {
        return;
      }
      ended = true;
    }
    noteFailureOf(node);
    var unused =
        CompletableFuture.completedFuture(failure)
            .thenCompose(this::instead)
            .whenComplete(
                (result, failed) -> {
                  if (failed == null) {
                    complete(result);
                  } else {
                    completeExceptionally(RedisFailures.unwrap(failed));
                  }
                });
  }

  @Override
  public long budgetNanos() {
    return budgetNanos;
  }

  @Override
  public long hardDueNanos() {
    return time.hardDueNanos;
  }

  @Override
  public void redisIsLate() {
    stopTimer();
    if (!isDone()) {
      StoreException timedOut =
          new StoreException(
              FailureReason.TIMEOUT,
              node.name() + " did not answer within " + time.deadline().toMillis() + " ms",
              null);
      period.failed(timedOut);
      end(timedOut);
    }
  }

  @Override
  public void processIsLate(long standstillNanos) {
    stopTimer();
    if (!isDone()) {
      period.undecided();
      end(
          new StoreException(
              FailureReason.PROCESS_LATE,
              "The event loop of the connection to %s did not run for %s of %s ms"
                  .formatted(
                      node.name(),
                      TimeUnit.NANOSECONDS.toMillis(standstillNanos),
                      time.hardDeadline.toMillis()),
              null));
    }
  }

  /** Ends the wait; runs on a thread other than the connection's. */
  @Override
  public void run(Timeout expired) {
    timeout = null;
    boolean sent = command instanceof TimedCommand<?, ?, ?> timed && !timed.withdraw();
    if (timesRedis) {
      redisIsLate();
    } else {
      processIsLate(standstillNanos());
    }
    if (!sent) {
      if (past != null && command instanceof TimedCommand<?, ?, ?>) {
        past.refused(); // it was withdrawn
      }
      cancelCommand();
    }
  }

  private long standstillNanos() {
    return command instanceof TimedCommand<?, ?, ?> timed && timed.isHandedOver()
        ? timed.standstillNanos(nodes.nanoTime.getAsLong())
        : time.hardDeadline.toNanos();
  }

  private void cancelCommand() {
    RedisFuture<?> sent = command;
    if (sent != null) {
      sent.cancel(false);
    }
  }

  private void stopTimer() {
    Timeout pending = timeout;
    if (pending != null) {
      timeout = null;
      pending.cancel();
    }
  }

  /**
   * The time of one decision, shared by the scripts that it runs one after another: how long Redis
   * may take for all of them, and the hard deadline, which ends the wait whichever side is late.
   */
  static final class Time {

    private final Duration deadline;
    private final Duration hardDeadline;
    private final long hardDueNanos;

    /** Written between two scripts, by the thread that has read the reply of one of them. */
    private volatile long spentNanos;

    /**
     * @param nowNanos the value of {@link System#nanoTime}
     */
    Time(Duration deadline, Duration hardDeadline, long nowNanos) {
      this.deadline = deadline;
      this.hardDeadline = hardDeadline;
      this.hardDueNanos = nowNanos + hardDeadline.toNanos();
    }

    static Time of(Duration deadline, RedisSettings settings) {
      return new Time(deadline, settings.hardDeadline(deadline), System.nanoTime());
    }

    /** Returns a new time of the same length. */
    Time again() {
      return new Time(deadline, hardDeadline, System.nanoTime());
    }

    Duration deadline() {
      return deadline;
    }

    /** What is left of the deadline; zero or less if it has passed. */
    long leftNanos() {
      return deadline.toNanos() - spentNanos;
    }

    /** Counts time that Redis has taken. */
    @SuppressWarnings("NonAtomicVolatileUpdate") // scripts follow one another
    void spend(long nanos) {
      spentNanos += nanos;
    }
  }
}
