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
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import javax.crypto.spec.SecretKeySpec;
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

  /**
   * Settings of the encryption of answers, by AES-GCM.
   *
   * @param current the name of the key that encrypts; empty if answers are kept in clear
   * @param keys the keys that decrypt, by their names
   */
  @Context // created at the start, so that a mistake stops it
  @ConfigurationProperties("encryption")
  record EncryptionConfiguration(Optional<String> current, Map<String, SecretKeySpec> keys) {

    /** Prefix of these settings. */
    static final String PREFIX = IdempotencyConfiguration.PREFIX + ".encryption";

    static final String KEYS = PREFIX + ".keys";

    private static final int MAX_NAME = 32;
    private static final Set<Integer> KEY_BYTES = Set.of(16, 24, 32);

    EncryptionConfiguration {
      keys = Map.copyOf(keys);
      String names = String.join(", ", new TreeSet<>(keys.keySet()));
      if (current.isEmpty() && !keys.isEmpty()) {
        throw new ConfigurationException(
            "%s.current is not set: set it to the key that encrypts, one of %s, or remove %s"
                .formatted(PREFIX, names, KEYS));
      }
      if (current.isPresent() && !keys.containsKey(current.get())) {
        throw new ConfigurationException(
            "%s.current = %s: there is no such key: %s"
                .formatted(
                    PREFIX,
                    current.get(),
                    names.isEmpty()
                        ? "set %s.%s".formatted(KEYS, current.get())
                        : "set it to one of " + names));
      }
    }

    /**
     * @param current The name of the key that encrypts answers. None by default: answers are kept
     *     in clear.
     * @param keys The keys that decrypt answers, by names that you choose: 16, 24 or 32 random
     *     bytes in base64, the same on all instances. Keep a key that was current until its answers
     *     have expired. No message contains a key. None by default.
     * @throws ConfigurationException naming the property and the remedy, without a key
     */
    @ConfigurationInject
    EncryptionConfiguration(@Nullable String current, @Nullable Map<String, String> keys) {
      this(Optional.ofNullable(current), read(keys == null ? Map.of() : keys));
    }

    private static Map<String, SecretKeySpec> read(Map<String, String> written) {
      Map<String, SecretKeySpec> keys = new HashMap<>();
      written.forEach((name, key) -> keys.put(name, key(name, key)));
      return keys;
    }

    private static SecretKeySpec key(String name, String written) {
      if (name.length() > MAX_NAME || !name.chars().allMatch(c -> c > ' ' && c < 0x7f)) {
        throw new ConfigurationException(
            "%s.%s: use a name of %s printable ASCII characters at most"
                .formatted(KEYS, name, MAX_NAME));
      }
      byte[] bytes;
      try {
        bytes = Base64.getDecoder().decode(written.strip());
      } catch (IllegalArgumentException invalid) {
        bytes = new byte[0]; // the message of the cause would show a part of the key
      }
      if (!KEY_BYTES.contains(bytes.length)) {
        throw new ConfigurationException(
            "%s.%s is no key: set it to 16, 24 or 32 random bytes in base64, such as the output of openssl rand -base64 32"
                .formatted(KEYS, name));
      }
      return new SecretKeySpec(bytes, "AES");
    }

    /** Without the keys. */
    @Override
    public String toString() {
      return "EncryptionConfiguration[%s of %s]".formatted(current, keys.keySet());
    }
  }
}
