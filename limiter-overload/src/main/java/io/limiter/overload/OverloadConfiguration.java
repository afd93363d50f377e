// SPDX-License-Identifier: Apache-2.0
package io.limiter.overload;

import io.limiter.micronaut.address.TrustedProxies;
import io.limiter.micronaut.config.Bounds;
import io.limiter.micronaut.config.EnumSetting;
import io.limiter.overload.Criticality.Level;
import io.micronaut.context.annotation.ConfigurationInject;
import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.annotation.EachProperty;
import io.micronaut.context.annotation.Parameter;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.bind.annotation.Bindable;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Settings of the protection of this instance.
 *
 * @param enabled whether requests are limited
 * @param observe whether nothing is rejected
 * @param min the lowest limit
 * @param initial the first one
 * @param max the highest one
 * @param maxWait how long a request waits
 * @param maxWaiting how many requests wait
 * @param streams whether streams and WebSockets are in flight until they end
 * @param criticality of requests for which nothing else is stated
 * @param header the name of the header field in which a trusted caller states the criticality
 * @param trusted the networks of callers whose header is read
 * @param retryAfter the shortest time after which a rejected caller may repeat its request
 */
@Context // created at the start, so that a mistake stops it
@ConfigurationProperties(OverloadConfiguration.PREFIX)
record OverloadConfiguration(
    boolean enabled,
    boolean observe,
    int min,
    int initial,
    int max,
    Duration maxWait,
    int maxWaiting,
    boolean streams,
    Level criticality,
    String header,
    List<String> trusted,
    Duration retryAfter) {

  /** Prefix of these settings. */
  static final String PREFIX = "limiter.overload";

  private static final Duration LONGEST_WAIT = Duration.ofSeconds(1);

  /**
   * @param enabled Whether requests are limited. Default value false.
   * @param observe Whether requests that would be rejected are only counted. Default value false.
   * @param min The lowest limit of requests in flight. Default value 4; 1 to 100,000.
   * @param initial The limit at the start, and the lowest one while the instance is not overloaded.
   *     Default value 100; 1 to 100,000, and never beyond {@code min} and {@code max}.
   * @param max The highest limit. Default value 1,000; 1 to 100,000.
   * @param maxWait How long a request waits for its turn. Default value 20 ms; 0 to 1 s.
   * @param maxWaiting The most requests that wait. Default value 1,000; 0 to 100,000.
   * @param streams Whether streams and WebSockets are in flight until they end, and not only until
   *     they begin. Default value false.
   * @param criticality The criticality of requests for which nothing else is stated. Default value
   *     {@code normal}; or {@code critical}, {@code high}, {@code low}, {@code background}.
   * @param header The header field in which a trusted caller states the criticality. Default value
   *     {@code X-Criticality}.
   * @param trusted The addresses and networks of callers whose header is read, or {@code unix}.
   *     None by default.
   * @param retryAfter The shortest {@code Retry-After} of a rejected request; each gets a random
   *     one up to twice as long. Default value 2 s; 1 s to 1 h.
   * @param check checks the names
   * @throws ConfigurationException naming the property, its value and the remedy
   */
  @ConfigurationInject
  OverloadConfiguration(
      @Bindable(defaultValue = "false") boolean enabled,
      @Bindable(defaultValue = "false") boolean observe,
      @Bindable(defaultValue = "4") int min,
      @Bindable(defaultValue = "100") int initial,
      @Bindable(defaultValue = "1000") int max,
      @Bindable(defaultValue = "20ms") Duration maxWait,
      @Bindable(defaultValue = "1000") int maxWaiting,
      @Bindable(defaultValue = "false") boolean streams,
      @Bindable(defaultValue = "normal") String criticality,
      @Bindable(defaultValue = "X-Criticality") String header,
      @Nullable List<String> trusted,
      @Bindable(defaultValue = "2s") Duration retryAfter,
      SettingsCheck check) {
    this(
        enabled,
        observe,
        min,
        initial,
        max,
        maxWait,
        maxWaiting,
        streams,
        EnumSetting.of(Level.class, PREFIX + ".criticality", criticality),
        header,
        trusted == null ? List.of() : trusted,
        retryAfter);
    check.run();
  }

  OverloadConfiguration {
    trusted = List.copyOf(trusted);
    Objects.requireNonNull(http(observe, min, initial, max, maxWait, maxWaiting));
    Objects.requireNonNull(networks(trusted));
    Bounds.require(
        PREFIX + ".header",
        header,
        header.matches("[!#$%&'*+.^_`|~0-9A-Za-z-]+"),
        "the name of a header field, such as X-Criticality");
    Bounds.require(PREFIX + ".retry-after", retryAfter, Duration.ofSeconds(1), Duration.ofHours(1));
  }

  /** The limit of requests. */
  LimitSettings http() {
    return http(observe, min, initial, max, maxWait, maxWaiting);
  }

  private static LimitSettings http(
      boolean observe, int min, int initial, int max, Duration maxWait, int maxWaiting) {
    return LimitSettings.of(PREFIX, observe, min, initial, max, maxWait, maxWaiting);
  }

  /** Whose header is read. */
  TrustedProxies networks() {
    return networks(trusted);
  }

  private static TrustedProxies networks(List<String> written) {
    return Bounds.accepted(PREFIX + ".trusted", () -> TrustedProxies.of(written));
  }

  /**
   * A limit of calls in flight.
   *
   * @param observe whether nothing is rejected
   * @param min the lowest limit
   * @param initial the first one
   * @param max the highest one
   * @param maxWait how long a call waits
   * @param maxWaiting how many calls wait
   */
  record LimitSettings(
      boolean observe, int min, int initial, int max, Duration maxWait, int maxWaiting) {

    static LimitSettings of(
        String prefix,
        boolean observe,
        int min,
        int initial,
        int max,
        Duration maxWait,
        int maxWaiting) {
      Bounds.require(prefix + ".min", min, 1, 100_000);
      Bounds.require(prefix + ".max", max, 1, 100_000);
      if (max < min) {
        throw new ConfigurationException(
            "%s.max = %s: it is below %s.min = %s: set it to that or more, or lower the other"
                .formatted(prefix, max, prefix, min));
      }
      Bounds.require(prefix + ".initial", initial, 1, 100_000);
      Bounds.require(prefix + ".max-wait", maxWait, Duration.ZERO, LONGEST_WAIT);
      Bounds.require(prefix + ".max-waiting", maxWaiting, 0, 100_000);
      int first = Math.max(min, Math.min(max, initial));
      return new LimitSettings(observe, min, first, max, maxWait, maxWaiting);
    }
  }

  /**
   * Settings of paths: Ant patterns such as {@code /reports/**}. Of several that match, the first
   * in this order holds.
   *
   * @param exempt patterns of paths whose requests are neither counted nor rejected
   * @param of patterns of paths by criticality
   */
  @Context // created at the start, so that a mistake stops it
  @ConfigurationProperties("paths")
  record Paths(List<String> exempt, Map<Level, List<String>> of) {

    /** Prefix of these settings. */
    static final String PREFIX = OverloadConfiguration.PREFIX + ".paths";

    Paths {
      require("exempt", exempt);
      of.forEach((level, paths) -> require(SettingsCheck.word(level), paths));
    }

    private static void require(String name, List<String> paths) {
      for (String path : paths) {
        Bounds.pathRemedy(path)
            .ifPresent(
                remedy -> {
                  throw new ConfigurationException(
                      "%s.%s = %s: %s".formatted(PREFIX, name, path, remedy));
                });
      }
    }

    /**
     * @param exempt Paths whose requests are neither counted nor rejected, as Ant patterns such as
     *     {@code /ping}. Endpoints of the management module are exempt in any case. None by
     *     default.
     * @param critical Paths whose requests are rejected last. None by default.
     * @param high Paths of the next criticality. None by default.
     * @param normal Paths of the middle criticality. None by default.
     * @param low Paths of the criticality below. None by default.
     * @param background Paths whose requests are rejected first. None by default.
     */
    @ConfigurationInject
    Paths(
        @Nullable List<String> exempt,
        @Nullable List<String> critical,
        @Nullable List<String> high,
        @Nullable List<String> normal,
        @Nullable List<String> low,
        @Nullable List<String> background) {
      this(exempt == null ? List.of() : exempt, by(critical, high, normal, low, background));
    }

    @SafeVarargs
    private static Map<Level, List<String>> by(@Nullable List<String>... paths) {
      Map<Level, List<String>> all = new EnumMap<>(Level.class);
      Level[] levels = Level.values();
      for (int i = 0; i < levels.length; i++) {
        List<String> some = paths[i];
        if (some != null && !some.isEmpty()) {
          all.put(levels[i], some);
        }
      }
      return all;
    }
  }

  /**
   * Settings of the calls of methods with {@link LocalConcurrency}, by its name.
   *
   * @param name of the annotation
   * @param limit of its calls
   */
  @Context // created at the start, so that a mistake stops it
  @EachProperty("local")
  record Local(String name, LimitSettings limit) {

    /** Prefix of these settings. */
    static final String PREFIX = OverloadConfiguration.PREFIX + ".local";

    /**
     * @param name the name of the annotation
     * @param observe Whether calls that would be rejected are only counted. Default value false.
     * @param min The lowest limit of calls in flight. Default value 4; 1 to 100,000.
     * @param initial The limit at the start. Default value 100; 1 to 100,000, and never beyond
     *     {@code min} and {@code max}.
     * @param max The highest limit. Default value 1,000; 1 to 100,000.
     * @param maxWait How long a call waits for its turn. Default value 20 ms; 0 to 1 s.
     * @param maxWaiting The most calls that wait. Default value 1,000; 0 to 100,000.
     * @throws ConfigurationException naming the property, its value and the remedy
     */
    @ConfigurationInject
    Local(
        @Parameter String name,
        @Bindable(defaultValue = "false") boolean observe,
        @Bindable(defaultValue = "4") int min,
        @Bindable(defaultValue = "100") int initial,
        @Bindable(defaultValue = "1000") int max,
        @Bindable(defaultValue = "20ms") Duration maxWait,
        @Bindable(defaultValue = "1000") int maxWaiting) {
      this(
          named(name),
          LimitSettings.of(PREFIX + '.' + name, observe, min, initial, max, maxWait, maxWaiting));
    }

    private static String named(String name) {
      if (name.equals(OverloadLimiters.HTTP)) {
        throw new ConfigurationException(
            "%s.%s: this is the name of requests: write their settings under %s, or choose another name"
                .formatted(PREFIX, name, OverloadConfiguration.PREFIX));
      }
      return name;
    }
  }
}
