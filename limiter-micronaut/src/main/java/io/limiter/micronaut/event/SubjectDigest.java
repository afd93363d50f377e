// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.event;

import io.limiter.core.StateKey;
import io.limiter.core.redis.RedisSettings;
import io.limiter.core.redis.RedisSettings.KeySecret;
import io.micronaut.core.annotation.Internal;
import io.micronaut.core.util.SupplierUtil;
import jakarta.inject.Singleton;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * The text that stands for a subject in events, lines of the log and the endpoint: 22 characters,
 * keyed with {@code limiter.redis.key-secret}, else with a random key of this process.
 */
@Internal
@Singleton
public final class SubjectDigest {

  /** Made when it is needed first: the random source takes tens of milliseconds of a start. */
  private final Supplier<KeySecret> secret;

  /** Whether the tags of overrides are digests already. */
  private final boolean hidden;

  SubjectDigest(Optional<RedisSettings> settings) {
    Optional<KeySecret> configured = settings.flatMap(RedisSettings::keySecret);
    this.hidden = configured.isPresent();
    this.secret = SupplierUtil.memoized(() -> configured.orElseGet(KeySecret::random));
  }

  /** The digest of a subject that is known only by the tag of an override. */
  public String ofTag(String tag) {
    return hidden ? tag : secret.get().tag(new StateKey(tag, ""));
  }

  /** Makes the key. Called before digests are made on an event loop, which would wait for it. */
  void prepare() {
    var unused = secret.get();
  }

  /** The digest of the subject of a key: equal for all keys of one subject under one limit key. */
  public String of(StateKey key) {
    return secret.get().tag(key);
  }
}
