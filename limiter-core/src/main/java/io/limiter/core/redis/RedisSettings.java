// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.Policy;
import io.limiter.core.StateKey;
import io.limiter.core.redis.connection.ManagedConnection.WarmUp;
import io.limiter.core.redis.wire.DecisionScripts;
import io.limiter.core.rule.CustomAlgorithm;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * How the store uses Redis.
 *
 * @param prefix put before every key, up to 32 letters, digits and {@code :._-}; services that
 *     share a Redis but not their limits need different prefixes; {@value #DEFAULT_PREFIX} by
 *     default
 * @param deadline time that Redis has for a reply, 1 ms to 10 s; 100 ms by default. Only time in
 *     which the event loop of the connection runs counts
 * @param policyDeadlines deadlines for decisions under some policies
 * @param algorithms custom algorithms that rules may use: the scripts then contain them
 * @param keySecret the secret from which the names of keys are derived; if empty, a reader of Redis
 *     can test guesses of subjects
 * @param hardDeadline time after which a decision fails even if this process is late, from the
 *     longest deadline to 1 min; if empty, 2 s, or twice the decision's deadline if that is more
 * @param batchSize the most decisions that share one command, if they meet on one event loop; 1 to
 *     {@value #MAX_BATCH_SIZE}, {@value #DEFAULT_BATCH_SIZE} by default; 1 sends each alone. In a
 *     Cluster only those of one slot share a command
 * @param bySlot whether each command has keys of one slot only, as a proxy of a Cluster requires;
 *     false by default: then the store does so on a Cluster, and once a server has answered
 *     CROSSSLOT
 */
public record RedisSettings(
    String prefix,
    Duration deadline,
    PolicyDeadlines policyDeadlines,
    List<CustomAlgorithm> algorithms,
    Optional<KeySecret> keySecret,
    Optional<Duration> hardDeadline,
    int batchSize,
    boolean bySlot) {

  public static final String DEFAULT_PREFIX = "limiter:";
  public static final Duration DEFAULT_DEADLINE = Duration.ofMillis(100);
  public static final Duration MIN_DEADLINE = Duration.ofMillis(1);
  public static final Duration MAX_DEADLINE = Duration.ofSeconds(10);

  /** The hard deadline of a decision whose deadline is at most half of it. */
  static final Duration DEFAULT_HARD_DEADLINE = Duration.ofSeconds(2);

  private static final Duration HALF_HARD_DEADLINE = DEFAULT_HARD_DEADLINE.dividedBy(2);

  /** The longest hard deadline. */
  static final Duration MAX_HARD_DEADLINE = Duration.ofMinutes(1);

  static final int DEFAULT_BATCH_SIZE = 16;

  /** The most decisions of one command: Redis serves no other client while it decides them. */
  public static final int MAX_BATCH_SIZE = 16;

  public RedisSettings {
    if (!prefix.matches("[A-Za-z0-9:._-]{0,32}")) {
      throw new IllegalArgumentException(
          "The key prefix '%s' is invalid: use up to 32 letters, digits and :._-"
              .formatted(prefix));
    }
    algorithms = List.copyOf(algorithms);
    requireDeadline("Redis deadline", deadline);
    if (hardDeadline.isPresent()) {
      requireHardDeadline(hardDeadline.get(), longest(deadline, policyDeadlines));
    }
    if (batchSize < 1 || batchSize > MAX_BATCH_SIZE) {
      throw new IllegalArgumentException(
          "The batch size %s is invalid: use 1 to %s".formatted(batchSize, MAX_BATCH_SIZE));
    }
  }

  private static Duration longest(Duration usual, PolicyDeadlines others) {
    return others.deadlines.values().stream().reduce(usual, (a, b) -> a.compareTo(b) > 0 ? a : b);
  }

  private static void requireHardDeadline(Duration hard, Duration longest) {
    if (hard.compareTo(longest) < 0 || hard.compareTo(MAX_HARD_DEADLINE) > 0) {
      throw new IllegalArgumentException(
          "The hard deadline %s is invalid: use a time from the longest deadline, %s, to 1 min"
              .formatted(hard, longest));
    }
  }

  /** Settings with one deadline for all policies. */
  public RedisSettings(String prefix, Duration deadline) {
    this(
        prefix,
        deadline,
        new PolicyDeadlines(Map.of()),
        List.of(),
        Optional.empty(),
        Optional.empty(),
        DEFAULT_BATCH_SIZE,
        false);
  }

  private static void requireDeadline(String what, Duration deadline) {
    if (deadline.compareTo(MIN_DEADLINE) < 0 || deadline.compareTo(MAX_DEADLINE) > 0) {
      throw new IllegalArgumentException(
          "The %s %s is invalid: use 1 ms to 10 s".formatted(what, deadline));
    }
  }

  /** Returns these settings with deadlines for these policies. */
  public RedisSettings withPolicyDeadlines(Map<String, Duration> deadlines) {
    return withPolicyDeadlines(new PolicyDeadlines(deadlines));
  }

  /** Returns these settings with policy deadlines that may change. */
  public RedisSettings withPolicyDeadlines(PolicyDeadlines deadlines) {
    return new RedisSettings(
        prefix, deadline, deadlines, algorithms, keySecret, hardDeadline, batchSize, bySlot);
  }

  /** Returns these settings with these custom algorithms. */
  public RedisSettings withAlgorithms(List<CustomAlgorithm> own) {
    return new RedisSettings(
        prefix, deadline, policyDeadlines, own, keySecret, hardDeadline, batchSize, bySlot);
  }

  /**
   * Returns these settings with this secret. Keys written with another secret, or without one, are
   * not found any more, so all limits start from zero.
   */
  public RedisSettings withKeySecret(KeySecret secret) {
    return new RedisSettings(
        prefix,
        deadline,
        policyDeadlines,
        algorithms,
        Optional.of(secret),
        hardDeadline,
        batchSize,
        bySlot);
  }

  /** Returns these settings with this hard deadline for all decisions. */
  public RedisSettings withHardDeadline(Duration hard) {
    return new RedisSettings(
        prefix,
        deadline,
        policyDeadlines,
        algorithms,
        keySecret,
        Optional.of(hard),
        batchSize,
        bySlot);
  }

  /** Returns these settings with this batch size. */
  public RedisSettings withBatchSize(int most) {
    return new RedisSettings(
        prefix, deadline, policyDeadlines, algorithms, keySecret, hardDeadline, most, bySlot);
  }

  /** Returns these settings for commands with keys of one slot each. */
  public RedisSettings withBySlot() {
    return new RedisSettings(
        prefix, deadline, policyDeadlines, algorithms, keySecret, hardDeadline, batchSize, true);
  }

  /** The deadline of a decision under this policy: the shortest of its parts. */
  public Duration deadline(Policy policy) {
    Map<String, Duration> own = policyDeadlines.deadlines;
    if (own.isEmpty()) {
      return deadline;
    }
    List<String> parts = policy.parts();
    Duration shortest = own.getOrDefault(parts.get(0), deadline);
    for (int i = 1; i < parts.size(); i++) {
      Duration next = own.getOrDefault(parts.get(i), deadline);
      shortest = next.compareTo(shortest) < 0 ? next : shortest;
    }
    return shortest;
  }

  /** The hard deadline of a decision with this deadline. */
  public Duration hardDeadline(Duration own) {
    if (hardDeadline.isPresent()) {
      return hardDeadline.get();
    }
    return own.compareTo(HALF_HARD_DEADLINE) > 0 ? own.plus(own) : DEFAULT_HARD_DEADLINE;
  }

  /** The longest time that any decision takes, whichever side is late. */
  Duration longestWait() {
    return hardDeadline(longest(deadline, policyDeadlines));
  }

  /** The name of a key in Redis; the part in braces determines its slot in a Cluster. */
  public byte[] name(StateKey key) {
    String tag = key.tag();
    String own = key.name();
    if (keySecret.isPresent()) {
      tag = keySecret.get().tag(key);
      own = keySecret.get().name(key);
    }
    byte[] name = new byte[prefix.length() + tag.length() + own.length() + 3];
    int end = put(prefix, name, 0);
    name[end] = '{';
    end = put(tag, name, end + 1);
    name[end] = '}';
    name[end + 1] = ':';
    var unusedEnd = put(own, name, end + 2);
    return name;
  }

  /**
   * Each decision needs a name, so it is written without intermediate strings; all of it is ASCII.
   */
  private static int put(String text, byte[] to, int start) {
    for (int i = 0; i < text.length(); i++) {
      to[start + i] = (byte) text.charAt(i);
    }
    return start + text.length();
  }

  /** How a connection to a Redis that has all keys is prepared for decisions. */
  WarmUp warmUp() {
    return WarmUp.of(DecisionScripts.load(algorithms), batchSize > 1, this::name);
  }

  public static RedisSettings defaults() {
    return new RedisSettings(DEFAULT_PREFIX, DEFAULT_DEADLINE);
  }

  /** The deadlines of policies with one of their own. They may change while a store uses them. */
  public static final class PolicyDeadlines {

    private volatile Map<String, Duration> deadlines;

    /**
     * @param deadlines by the names of policies, each 1 ms to 10 s
     * @throws IllegalArgumentException naming the policy whose deadline is invalid
     */
    public PolicyDeadlines(Map<String, Duration> deadlines) {
      this.deadlines = usable(deadlines);
    }

    /**
     * Uses other deadlines for decisions that begin from now on.
     *
     * @throws IllegalArgumentException naming the policy whose deadline is invalid; then nothing
     *     changes
     */
    public void use(Map<String, Duration> others) {
      deadlines = usable(others);
    }

    private static Map<String, Duration> usable(Map<String, Duration> deadlines) {
      deadlines.forEach(
          (policy, own) -> requireDeadline("Redis deadline of the policy '" + policy + "',", own));
      return Map.copyOf(deadlines);
    }
  }

  /**
   * A secret from which the names of keys in Redis are derived. A {@link StateKey} is a hash of the
   * subject, and an address or a telephone number can be found from its hash by trying all of them.
   * With a secret, a reader of Redis has nothing to compare against, and a caller cannot compute in
   * which slot of a Cluster it is counted. All instances that share limits need the same secret.
   *
   * <p>Names are 128 bits of HMAC-SHA-256 of the name without a secret, so they have the same
   * length, and the keys of one subject under one limit key still share their tag.
   */
  public static final class KeySecret {

    /** The minimum length: 16 random characters cannot be guessed. */
    static final int MIN_LENGTH = 16;

    private static final String ALGORITHM = "HmacSHA256";

    /** As many characters as {@link StateKey#tag()} has. */
    private static final int BYTES = 16;

    /** The prefixes of a submission's names; other names contain nothing of a call. */
    private static final String SUBMISSION = "d.";

    private static final String ANSWER = "a.";

    private final SecretKeySpec key;
    private final ThreadLocal<Mac> macs;

    private KeySecret(byte[] secret) {
      this.key = new SecretKeySpec(secret, ALGORITHM);
      this.macs = ThreadLocal.withInitial(() -> mac(key));
    }

    /**
     * Creates a secret from this text.
     *
     * @throws IllegalArgumentException if it is too short, or repeats one character; the message
     *     does not contain the text
     */
    public static KeySecret of(String text) {
      if (text.length() < MIN_LENGTH || text.chars().distinct().count() == 1) {
        throw new IllegalArgumentException(
            "The key secret of %s characters is invalid: use %s or more random characters"
                .formatted(text.length(), MIN_LENGTH));
      }
      return new KeySecret(text.getBytes(StandardCharsets.UTF_8));
    }

    /** Creates a random secret, which no other process has. */
    public static KeySecret random() {
      byte[] secret = new byte[32];
      new SecureRandom().nextBytes(secret);
      return new KeySecret(secret);
    }

    /**
     * The tag of a state key as it is in Redis: 22 characters of base64url, equal for one subject
     * under one limit key. Without the secret the subject cannot be found from it.
     */
    public String tag(StateKey key) {
      return hidden(key.tag());
    }

    /**
     * Returns a new code with this secret, HMAC-SHA-256, for content that is compared in Redis.
     * Begin its input with a byte that is no character of base64url: then it is the input of no
     * name.
     */
    public Mac code() {
      return mac(key);
    }

    /** Equal submissions of different callers have different names. */
    String name(StateKey key) {
      String name = key.name();
      if (name.startsWith(ANSWER)) {
        return ANSWER + hidden(key.tag() + ':' + name);
      }
      int shape = name.lastIndexOf('.');
      return name.startsWith(SUBMISSION) && shape >= SUBMISSION.length()
          ? SUBMISSION + hidden(key.tag() + ':' + name) + name.substring(shape)
          : name;
    }

    private String hidden(String text) {
      byte[] mac = macs.get().doFinal(text.getBytes(StandardCharsets.UTF_8));
      return Base64.getUrlEncoder().withoutPadding().encodeToString(Arrays.copyOf(mac, BYTES));
    }

    private static Mac mac(SecretKeySpec key) {
      try {
        Mac mac = Mac.getInstance(ALGORITHM);
        mac.init(key);
        return mac;
      } catch (GeneralSecurityException impossible) {
        throw new IllegalStateException("Every Java platform has " + ALGORITHM, impossible);
      }
    }

    /** Omits the secret. */
    @Override
    public String toString() {
      return "KeySecret";
    }
  }
}
