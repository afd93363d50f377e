// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import io.limiter.core.redis.ConnectionSource;
import io.limiter.core.redis.RedisStore;
import io.limiter.micronaut.config.PoliciesConfiguration;
import io.limiter.micronaut.config.RedisConfiguration.SharedSettingsConfiguration;
import io.limiter.micronaut.config.SettingsRefresh;
import io.limiter.micronaut.config.SettingsRefresh.SettingsShare;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.event.ApplicationEventListener;
import io.micronaut.context.event.StartupEvent;
import jakarta.annotation.PreDestroy;
import jakarta.inject.Singleton;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads the hash of settings that all instances share, and uses a version that is newer than the
 * one in use. What it contains is used as a whole or not at all. One thread reads it and changes
 * the plans; it waits for Redis for a bounded time.
 */
@Singleton
@Requires(property = SharedSettingsConfiguration.PREFIX + ".enabled")
@Requires(
    property = SharedSettingsConfiguration.PREFIX + ".enabled",
    notEquals = "false",
    beans = ConnectionSource.class)
final class SharedSettings implements ApplicationEventListener<StartupEvent>, SettingsShare {

  private static final Logger LOG = LoggerFactory.getLogger(SharedSettings.class);

  private static final String VERSION = "version";
  private static final Pattern NUMBER = Pattern.compile("\\d{1,18}");

  /** Numbers and switches; everything else is the matter of a deployment. */
  private static final Pattern MEMBER =
      Pattern.compile(".+\\.(?:enabled|observe)|.+\\.rules\\..+\\.(?:count|time)");

  private final RedisStore store;
  private final SharedSettingsConfiguration configuration;
  private final SettingsRefresh settings;
  private final ScheduledExecutorService reader;

  // Only that thread uses them.
  private long seen = -1;
  private Map<String, String> inUse = Map.of();
  private String problem = "";

  SharedSettings(
      LimitStoreFactory.RedisAlone redis,
      SharedSettingsConfiguration configuration,
      SettingsRefresh settings) {
    this.store = redis.store();
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

  @Override
  public void onApplicationEvent(StartupEvent started) {
    if (configuration.reads()) {
      var unused =
          reader.scheduleWithFixedDelay(
              this::read, 0, configuration.getInterval().toMillis(), TimeUnit.MILLISECONDS);
    }
  }

  @Override
  public boolean isShared() {
    return configuration.reads();
  }

  /** If the hash is lost, it is written again with the settings that this instance uses. */
  @Override
  public CompletionStage<Boolean> set(String name, String value) {
    return CompletableFuture.supplyAsync(
        () -> {
          long version =
              store
                  .changeSharedSettings(Map.of(name, value), inUse, Math.max(0, seen))
                  .toCompletableFuture()
                  .join();
          read();
          return seen >= version && value.equals(inUse.get(name));
        },
        reader);
  }

  private void read() {
    try {
      Map<String, String> found = store.sharedSettings().toCompletableFuture().join();
      if (!found.isEmpty()) { // else the settings in use stay: Redis may have lost its data
        use(found);
      }
    } catch (RuntimeException failure) { // the next turn comes
      report(
          "The shared settings cannot be read, so those in use remain in effect: "
              + failure.getMessage());
    }
  }

  private void use(Map<String, String> found) {
    String version = found.getOrDefault(VERSION, "");
    if (!NUMBER.matcher(version).matches()) {
      report(
          "The shared settings have no version, so they are ignored: add a field version to the hash, with a number that increases with each change");
      return;
    }
    long number = Long.parseLong(version);
    if (number <= seen) {
      if (number < seen) {
        report(
            "The shared settings have version %d, which is older than %d, so they are ignored"
                .formatted(number, seen));
      }
      return;
    }
    seen = number; // also of an invalid one: it is reported once
    Map<String, String> members = new HashMap<>(found);
    members.remove(VERSION);
    for (String name : members.keySet()) {
      if (!MEMBER.matcher(name).matches()) {
        report(
            "The shared settings of version %d are ignored: %s.%s is none of <policy>.enabled, <policy>.observe, <policy>.rules.<rule>.count and <policy>.rules.<rule>.time"
                .formatted(number, PoliciesConfiguration.PREFIX, name));
        return;
      }
    }
    if (settings.refresh(members)) {
      inUse = members;
      problem = "";
      LOG.info("The shared settings of version {} are in use", number);
    }
  }

  /** Each problem once, until another one or a success. */
  private void report(String message) {
    if (!message.equals(problem)) {
      problem = message;
      LOG.error(message);
    }
  }

  @PreDestroy
  void close() {
    reader.shutdownNow();
  }
}
