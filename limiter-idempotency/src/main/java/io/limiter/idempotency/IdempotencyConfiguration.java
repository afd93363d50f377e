// SPDX-License-Identifier: Apache-2.0
package io.limiter.idempotency;

import io.limiter.core.Fallback;
import io.limiter.micronaut.config.Bounds;
import io.limiter.micronaut.config.EnumSetting;
import io.micronaut.context.annotation.ConfigurationInject;
import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.bind.annotation.Bindable;
import java.net.URI;
import java.net.URISyntaxException;
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
 * @param problemType the type of problems with a key: a link
 * @param clientMethods the methods of requests to which a client adds a key
 * @param routes the routes by path, in their order
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
    String problemType,
    Set<String> clientMethods,
    List<RouteSettings> routes) {

  /** Prefix of these settings. */
  static final String PREFIX = "limiter.idempotency";

  /** Where the header is described, in an application that documents it nowhere else. */
  static final String PROBLEM_TYPE =
      "https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header-07#section-2.7";

  private static final long GIBIBYTE = 1L << 30;

  IdempotencyConfiguration {
    Bounds.require(PREFIX + ".max-body", maxBody, 0, 16_777_216);
    Bounds.require(PREFIX + ".max-answer", maxAnswer, 0, 4_194_304);
    Bounds.require(
        PREFIX + ".longest-run",
        longestRun,
        Duration.ofMinutes(1),
        Duration.ofHours(24),
        "1 minute to 24 hours");
    Bounds.require(PREFIX + ".max-waiting", maxWaiting, 0, 1_000_000);
    Bounds.require(PREFIX + ".max-waiting-of-subject", maxWaitingOfSubject, 0, 1_000_000);
    Bounds.require(PREFIX + ".max-pending-bytes", maxPendingBytes, 0, GIBIBYTE);
    Bounds.require(PREFIX + ".max-entries", maxEntries, 1, 1_000_000);
    Bounds.require(PREFIX + ".max-bytes", maxBytes, 0, 64 * GIBIBYTE);
    Bounds.require(PREFIX + ".max-bytes-of-subject", maxBytesOfSubject, 1, 64 * GIBIBYTE);
    Bounds.require(PREFIX + ".max-bytes-in-redis", maxBytesInRedis, 0, 1024 * GIBIBYTE);
    withoutHeaders.forEach(
        name ->
            Bounds.require(
                PREFIX + ".without-headers",
                name,
                name.matches("[!#$%&'*+.^_`|~0-9a-z-]+"),
                "names of header fields, such as ETag"));
    if (fallback == Fallback.ALLOW) {
      throw new ConfigurationException(
          "%s.fallback = allow: then submissions would run again while Redis is away: set it to deny, or to local, so that each instance compares its own"
              .formatted(PREFIX));
    }
    Bounds.require(
        PREFIX + ".client-methods",
        clientMethods,
        !clientMethods.isEmpty() && clientMethods.stream().allMatch(name -> name.matches("[A-Z]+")),
        "names of HTTP methods in capitals, such as POST");
    withoutHeaders = Set.copyOf(withoutHeaders);
    clientMethods = Set.copyOf(clientMethods);
    routes = List.copyOf(routes);
  }

  /**
   * @param maxBody The longest body of a request with a key, in bytes, since it is compared with
   *     that of a repetition. A longer one is answered 413. Default value 1,048,576 (1 MiB); 0 to
   *     16,777,216.
   * @param maxAnswer The longest body of an answer that is kept, in bytes. A repetition of a
   *     request with a longer one is answered 409. Default value 262,144 (256 KiB); 0 to 4,194,304.
   * @param longestRun How long a key is taken for a method that does not end. Then a repetition is
   *     answered 409, for as long as an answer would be kept. Default value 1 h; 1 minute to 24
   *     hours.
   * @param withoutHeaders The names of header fields of an answer that are not kept, beside those
   *     that never are, such as {@code Set-Cookie}. None by default.
   * @param fallback Who decides while Redis does not answer. Default value {@code deny}: 503; or
   *     {@code local}: each instance compares its own submissions. Without Redis memory always
   *     decides.
   * @param anonymousByAddress Whether a caller without a user has the keys of its address, which
   *     others may share. Without it such a key is answered 400, unless the route names its callers
   *     in another way. Default value false.
   * @param maxWaiting The most repetitions that wait at once for a submission that runs. Further
   *     ones are answered 409 at once. Default value 10,000; 0 to 1,000,000.
   * @param maxWaitingOfSubject The most repetitions of one caller that wait at once. Default value
   *     100; 0 to 1,000,000.
   * @param maxPendingBytes The most bytes of answers that wait in this instance until Redis takes
   *     them. Further ones are not kept, and their repetitions are answered 409. Default value
   *     16,777,216 (16 MiB); 0 to 1,073,741,824.
   * @param maxEntries In memory: the most submissions that this instance keeps at a time. A request
   *     with a further key is answered 503. Default value 10,000; 1 to 1,000,000.
   * @param maxBytes In memory: the most bytes of answers that this instance keeps. Further ones are
   *     not kept. Default value 67,108,864 (64 MiB); 0 to 68,719,476,736.
   * @param maxBytesOfSubject The most bytes of answers that are kept for one caller; in Redis for
   *     each {@code retain}, and up to twice as many for a short time. Further ones are not kept.
   *     Default value 16,777,216 (16 MiB); 1 to 68,719,476,736.
   * @param maxBytesInRedis The most bytes of answers that this instance has in Redis. Further ones
   *     are not kept. Default value 1,073,741,824 (1 GiB); 0 to 1,099,511,627,776.
   * @param problemType The {@code type} of the body {@code problem} where a key is missing,
   *     malformed, already used or in use: a link to your documentation of the header. Default
   *     value section 2.7 of draft-ietf-httpapi-idempotency-key-header-07.
   * @param clientMethods The methods of requests to which a client with {@code @SendIdempotencyKey}
   *     adds a key. Default value {@code POST, PATCH}.
   * @throws ConfigurationException naming the property, its value and the remedy
   */
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
      @Bindable(defaultValue = PROBLEM_TYPE) String problemType,
      @Bindable(defaultValue = "POST,PATCH") Set<String> clientMethods,
      SettingsCheck check) {
    this(
        maxBody,
        maxAnswer,
        longestRun,
        lowerCase(withoutHeaders == null ? List.of() : withoutHeaders),
        EnumSetting.of(Fallback.class, PREFIX + ".fallback", fallback),
        anonymousByAddress,
        maxWaiting,
        maxWaitingOfSubject,
        maxPendingBytes,
        maxEntries,
        maxBytes,
        maxBytesOfSubject,
        maxBytesInRedis,
        link(problemType),
        clientMethods,
        check.routes());
  }

  private static Set<String> lowerCase(List<String> names) {
    return names.stream()
        .map(name -> name.strip().toLowerCase(Locale.ROOT))
        .filter(name -> !name.isEmpty())
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static String link(String type) {
    try {
      if (!new URI(type).toString().isEmpty()) {
        return type;
      }
    } catch (URISyntaxException e) {
      // as an empty one
    }
    throw new ConfigurationException(
        "%s.problem-type = '%s': it is no URI: write a link, such as /docs/idempotency, or leave it out"
            .formatted(PREFIX, type));
  }

  /**
   * A route by its path, without an annotation.
   *
   * @param path an Ant pattern, such as {@code /api/**}
   * @param methods the names of HTTP methods in capitals
   * @param retain how long an answer is kept; null if none is repeated
   * @param claim how long a key is taken without a renewal
   * @param maxWait how long a repetition waits
   * @param required whether a request needs a key
   * @param chargeRepetitions whether rules count repetitions
   * @param header the header field that names the caller; empty for the user
   * @param resolver the name of the bean that names the caller; empty for the user
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
