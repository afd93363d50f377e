// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.limiter.core.resilience.Fallback;
import io.micronaut.context.annotation.ConfigurationInject;
import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.bind.annotation.Bindable;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Settings of submissions with an {@code Idempotency-Key}.
 *
 * @param maxBody the longest body of a request that is compared, in bytes
 * @param maxAnswer the longest body of an answer that is kept, in bytes
 * @param longestRun for how long a claim is renewed at most
 * @param withoutHeaders the names of header fields that are not kept, in lower case
 * @param fallback who decides while Redis does not answer: {@code DENY} or {@code LOCAL}
 * @param anonymousByAddress whether callers without a user have the keys of their address
 * @param maxWaiting the most repetitions that wait
 * @param maxWaitingOfSubject the most repetitions of one subject that wait
 * @param maxPendingBytes the most bytes of answers that wait for a store
 * @param maxEntries the most submissions in memory
 * @param maxBytes the most bytes of answers in memory
 * @param maxBytesOfSubject the most bytes of answers of one subject
 * @param maxBytesInRedis the most bytes of answers that this instance has in Redis
 * @param problemType the {@code type} of problem bodies of these denials
 * @param clientMethods the methods of requests to which a client adds a key
 */
@Context // created at the start, so that a mistake stops it
@ConfigurationProperties(IdempotencyConfiguration.PREFIX)
record IdempotencyConfiguration(
    int maxBody,
    int maxAnswer,
    Duration longestRun,
    Set<String> withoutHeaders,
    Fallback fallback,
    boolean anonymousByAddress,
    int maxWaiting,
    int maxWaitingOfSubject,
    long maxPendingBytes,
    int maxEntries,
    long maxBytes,
    long maxBytesOfSubject,
    long maxBytesInRedis,
    Optional<URI> problemType,
    Set<String> clientMethods) {

  /** Prefix of these settings. */
  static final String PREFIX = "limiter.idempotency";

  @ConfigurationInject
  IdempotencyConfiguration(
      @Bindable(defaultValue = "1048576") int maxBody,
      @Bindable(defaultValue = "262144") int maxAnswer,
      @Bindable(defaultValue = "1h") Duration longestRun,
      @Nullable List<String> withoutHeaders,
      @Bindable(defaultValue = "deny") String fallback,
      @Bindable(defaultValue = "false") boolean anonymousByAddress,
      @Bindable(defaultValue = "10000") int maxWaiting,
      @Bindable(defaultValue = "100") int maxWaitingOfSubject,
      @Bindable(defaultValue = "16777216") long maxPendingBytes,
      @Bindable(defaultValue = "10000") int maxEntries,
      @Bindable(defaultValue = "67108864") long maxBytes,
      @Bindable(defaultValue = "16777216") long maxBytesOfSubject,
      @Bindable(defaultValue = "1073741824") long maxBytesInRedis,
      @Nullable URI problemType,
      @Bindable(defaultValue = "POST,PATCH") Set<String> clientMethods) {
    this(
        maxBody,
        maxAnswer,
        longestRun,
        lowerCase(withoutHeaders == null ? List.of() : withoutHeaders),
        Fallback.valueOf(fallback.toUpperCase(Locale.ROOT)),
        anonymousByAddress,
        maxWaiting,
        maxWaitingOfSubject,
        maxPendingBytes,
        maxEntries,
        maxBytes,
        maxBytesOfSubject,
        maxBytesInRedis,
        Optional.ofNullable(problemType),
        Set.copyOf(clientMethods));
  }

  private static Set<String> lowerCase(List<String> names) {
    return names.stream()
        .map(name -> name.strip().toLowerCase(Locale.ROOT))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /**
   * A route by its path, without an annotation.
   *
   * @param path an Ant pattern, such as {@code /api/**}
   * @param methods the names of HTTP methods in capitals
   * @param retain how long an answer is kept; null if it is not repeated
   * @param claim how long a key is taken without a renewal
   * @param maxWait how long a repetition waits
   * @param required whether a request needs a key
   * @param chargeRepetitions whether rules count repetitions
   * @param header the header field that has the caller; empty for the user
   * @param resolver the name of the bean that resolves the caller
   */
  record RouteSettings(
      String path,
      Set<String> methods,
      @Nullable Duration retain,
      Duration claim,
      Duration maxWait,
      boolean required,
      boolean chargeRepetitions,
      Optional<String> header,
      Optional<String> resolver) {}

  /** The routes by path, in their order. */
  List<RouteSettings> routes() {
    return List.of();
  }

  /** Thrown by checks of the settings. */
  static ConfigurationException mistake(String setting, Object value, String remedy) {
    return new ConfigurationException("%s = %s: %s".formatted(setting, value, remedy));
  }
}
