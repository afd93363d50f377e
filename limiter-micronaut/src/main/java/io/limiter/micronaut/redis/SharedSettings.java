// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import io.limiter.core.FailureReason;
import io.limiter.core.StoreException;
import io.limiter.core.redis.ConnectionSource;
import io.limiter.core.redis.RedisScripts;
import io.limiter.core.redis.RedisScripts.Script;
import io.limiter.core.util.LogThrottle;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.config.RedisConfiguration.SharedSettingsConfiguration;
import io.limiter.micronaut.config.SettingsRefresh;
import io.limiter.micronaut.config.SettingsRefresh.SettingsShare;
import io.micronaut.context.annotation.Requires;
import jakarta.annotation.PreDestroy;
import jakarta.inject.Singleton;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * Reads the hash of settings that all instances share, and uses a version that is newer than the
 * one in use. What it contains is used as a whole or not at all. One thread reads it and changes
 * the plans; it waits for Redis for a bounded time. {@link StartWithRedis} makes the start wait for
 * the first settings.
 */
@Singleton
@Requires(property = SharedSettingsConfiguration.PREFIX + ".enabled")
@Requires(
    property = SharedSettingsConfiguration.PREFIX + ".enabled",
    notEquals = "false",
    beans = ConnectionSource.class)
final class SharedSettings implements SettingsShare {

  private static final Logger LOG = LoggerFactory.getLogger(SharedSettings.class);

  private static final Script SCRIPT = Script.load(SharedSettings.class, "shared-settings.lua");

  /** The name of the hash, after the key prefix. */
  private static final String HASH = "settings";

  private static final String VERSION = "version";

  /** All below 2^53, so that the script can increase them. */
  private static final Pattern NUMBER = Pattern.compile("\\d{1,15}");

  /** The most characters that are logged of what the hash has. */
  private static final int MAX_QUOTED = 200;

  /** Numbers and switches; everything else needs a deployment. */
  private static final Pattern MEMBER =
      Pattern.compile(".+\\.(?:enabled|observe)|.+\\.rules\\..+\\.(?:count|time)");

  /**
   * The pauses after failed reads, each twice as long as the one before; never over the interval.
   */
  private static final long FIRST_PAUSE_MILLIS = 100;

  private static final long LONGEST_PAUSE_MILLIS = 5_000;

  private final RedisScripts redis;
  private final ConnectionSource connections;
  private final SharedSettingsConfiguration configuration;
  private final SettingsRefresh settings;
  private final ScheduledExecutorService reader;

  /** Completes when the start has nothing to wait for any more. */
  private final CompletableFuture<Void> first = new CompletableFuture<>();

  private volatile ShareState status =
      new ShareState(OptionalLong.empty(), Optional.empty(), Optional.empty());

  // Only that thread uses them.
  private boolean starting = true; // the start waits, so a failure is none yet
  private Future<?> next = CompletableFuture.completedFuture(null);
  private long pauseMillis;
  private OptionalLong version = OptionalLong.empty();
  private Map<String, String> inUse = Map.of();
  private long seen = -1; // the newest version, also if it was rejected
  private Map<String, String> tried = Map.of();
  private Optional<Problem> rejection = Optional.empty();
  private Optional<Problem> reported = Optional.empty();

  /**
   * @param about it is logged again if this changes, not if only its text does
   */
  private record Problem(Level level, String text, Object about) {

    Problem(Level level, String text) {
      this(level, text, text);
    }
  }

  SharedSettings(
      RedisScripts redis,
      ConnectionSource connections,
      SharedSettingsConfiguration configuration,
      SettingsRefresh settings) {
    this.redis = redis;
    this.connections = connections;
    this.configuration = configuration;
    this.settings = settings;
    this.reader =
        Executors.newSingleThreadScheduledExecutor(
            task -> {
              Thread thread = new Thread(task, "limiter-settings");
              thread.setDaemon(true);
              return thread;
            });
  }

  /**
   * Begins to read the settings, and waits until the first ones are in use, but not for a Redis
   * that cannot be connected to or that rejects the command. The plans must exist by now.
   *
   * @param nanos the longest time to wait; not positive to wait for nothing
   */
  void begin(long nanos) {
    if (!configuration.enabled()) {
      return;
    }
    var unused =
        connections
            .firstAttempt()
            .exceptionally(impossible -> false)
            .thenAcceptAsync(
                open -> {
                  starting &= open;
                  turn();
                },
                reader);
    try {
      first.get(nanos, TimeUnit.NANOSECONDS);
    } catch (TimeoutException | ExecutionException late) {
      LOG.debug("The start does not wait for the shared settings any longer", late);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    if (!first.isDone()) {
      reader.execute(
          () -> {
            starting = false;
            turn(); // reports what the start did not wait for
          });
    }
  }

  @Override
  public boolean isShared() {
    return configuration.enabled();
  }

  @Override
  public ShareState status() {
    return status;
  }

  /** If the hash is lost, it is written again with the settings that this instance uses. */
  @Override
  public CompletionStage<Optional<String>> set(String name, String value) {
    return CompletableFuture.supplyAsync(
        () -> {
          List<String> arguments = new ArrayList<>();
          arguments.addAll(List.of(Long.toString(Math.max(0, seen)), "1", name, value));
          inUse.forEach((field, used) -> arguments.addAll(List.of(field, used)));
          long changed = Long.parseLong(run(arguments).get(0));
          turn();
          return version.orElse(-1) >= changed && value.equals(inUse.get(name))
              ? Optional.empty()
              : Optional.of(
                  status.problem().orElse("Another change has replaced version " + changed));
        },
        reader);
  }

  /** Reads now, and then again: after the interval, or soon if this fails. */
  private void turn() {
    next.cancel(false);
    boolean read = read();
    starting &= !read;
    if (!starting) {
      first.complete(null);
    }
    long interval = configuration.interval().toMillis();
    pauseMillis =
        read
            ? 0
            : Math.min(
                Math.max(FIRST_PAUSE_MILLIS, 2 * pauseMillis),
                Math.min(LONGEST_PAUSE_MILLIS, interval));
    next = reader.schedule(this::turn, read ? interval : pauseMillis, TimeUnit.MILLISECONDS);
  }

  /** Returns whether the hash could be read, whatever it contains. */
  private boolean read() {
    try {
      List<String> fields = run(List.of());
      Map<String, String> found = new HashMap<>();
      for (int i = 0; i < fields.size(); i += 2) {
        found.put(fields.get(i), fields.get(i + 1));
      }
      report(use(found), Optional.of(Instant.now()));
      return true;
    } catch (RuntimeException | LinkageError failure) {
      Throwable cause =
          failure instanceof CompletionException && failure.getCause() != null
              ? failure.getCause()
              : failure;
      // An error of Redis is the same the next time, such as that of a user without the command.
      starting &= cause instanceof StoreException away && away.reason() != FailureReason.ERROR;
      String remain =
          version.isPresent()
              ? "those of version " + version.getAsLong()
              : "the settings of the files";
      report(
          Optional.of(
              new Problem(
                  Level.WARN,
                  "The shared settings cannot be read, so %s remain in effect: %s"
                      .formatted(remain, cause.getMessage()),
                  "read")),
          status.lastRead());
      return false;
    }
  }

  /**
   * Runs the script, within the deadline of all policies.
   *
   * @return its texts
   */
  private List<String> run(List<String> arguments) {
    List<String> reply =
        redis
            .run(
                SCRIPT,
                new byte[][] {redis.name(HASH)},
                arguments.stream()
                    .map(text -> text.getBytes(StandardCharsets.UTF_8))
                    .toArray(byte[][]::new),
                SharedSettings::texts)
            .toCompletableFuture()
            .join();
    if (reply.get(0).equals("!")) {
      throw new IllegalStateException(reply.get(1));
    }
    return reply.subList(1, reply.size());
  }

  /** The kind of a reply, and its texts. */
  private static List<String> texts(byte[] bytes) {
    ByteBuffer reply = ByteBuffer.wrap(bytes);
    List<String> texts = new ArrayList<>();
    texts.add(text(reply, 1));
    if (texts.get(0).equals("!")) {
      texts.add(text(reply, reply.remaining()));
    }
    while (reply.hasRemaining()) {
      texts.add(text(reply, reply.getInt()));
    }
    return texts;
  }

  private static String text(ByteBuffer reply, int length) {
    int begin = reply.position();
    reply.position(begin + length); // beyond its end, the reply is unreadable
    return StandardCharsets.UTF_8.decode(reply.slice(begin, length)).toString();
  }

  /** Returns why they are not in use. */
  private Optional<Problem> use(Map<String, String> found) {
    if (found.isEmpty()) {
      return Optional.empty(); // the settings in use stay: Redis may have lost its data
    }
    Map<String, String> members = new HashMap<>(found);
    String written = members.remove(VERSION);
    if (written == null || !NUMBER.matcher(written).matches()) {
      return Optional.of(
          new Problem(
              Level.ERROR,
              "The shared settings have %s, so they are ignored: %s a field version to the hash, with a number of at most 15 digits that increases with each change"
                  .formatted(
                      written == null ? "no version" : "the version '" + quoted(written) + "'",
                      written == null ? "add" : "write")));
    }
    long number = Long.parseLong(written);
    if (number > seen) {
      rejection = use(number, members);
      seen = number; // also of a rejected one: it is tried once
      tried = members;
      return rejection;
    }
    if (number == version.orElse(-1) && members.equals(inUse)) {
      return Optional.empty(); // also after a newer version that was rejected
    }
    if (number < seen) {
      return Optional.of(
          new Problem(
              Level.ERROR,
              "The shared settings have version %s, which is older than %s, so they are ignored"
                  .formatted(number, seen)));
    }
    return members.equals(tried)
        ? rejection
        : Optional.of(
            new Problem(
                Level.WARN,
                "The shared settings have changed and still have version %s, so the change is ignored: increase the version"
                    .formatted(number),
                members));
  }

  private static String quoted(String text) {
    return LogThrottle.oneLine(text, MAX_QUOTED);
  }

  private Optional<Problem> use(long number, Map<String, String> members) {
    String ignored = "The shared settings of version %s are ignored: ".formatted(number);
    for (Map.Entry<String, String> member : members.entrySet()) {
      String name = quoted(member.getKey());
      String remedy =
          !MEMBER.matcher(name).matches()
              ? "none of <policy>.enabled, <policy>.observe, <policy>.rules.<rule>.count and <policy>.rules.<rule>.time"
              : !name.equals(member.getKey())
                      || !quoted(member.getValue()).equals(member.getValue())
                  ? "too long, or has characters that are not printed: write it again"
                  : "";
      if (!remedy.isEmpty()) {
        return Optional.of(
            new Problem(
                Level.ERROR,
                "%s%s.%s is %s".formatted(ignored, PoliciesConfiguration.PREFIX, name, remedy)));
      }
    }
    Optional<String> mistake = settings.refresh(members);
    if (mistake.isPresent()) {
      return Optional.of(new Problem(Level.DEBUG, ignored + mistake.get())); // it was logged
    }
    version = OptionalLong.of(number);
    inUse = members;
    reported = Optional.empty();
    LOG.info("The shared settings of version {} are in use", number);
    return Optional.empty();
  }

  /** Logs each problem once, and its end. */
  private void report(Optional<Problem> problem, Optional<Instant> lastRead) {
    status = new ShareState(version, lastRead, problem.map(Problem::text));
    if ((starting && lastRead.isEmpty()) || reader.isShutdown()) {
      return;
    }
    if (!problem.map(Problem::about).equals(reported.map(Problem::about))) {
      problem.ifPresentOrElse(
          it -> LOG.atLevel(it.level()).log(it.text()),
          () ->
              LOG.info(
                  "The shared settings have no problem any more: {}",
                  version.isPresent()
                      ? "version " + version.getAsLong() + " is in use"
                      : "the settings of the files are in use"));
      reported = problem;
    }
  }

  @PreDestroy
  void close() {
    reader.shutdownNow();
  }
}
