// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.recorder;

import io.limiter.micronaut.config.Bounds;
import io.limiter.micronaut.config.LimiterConfiguration;
import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.core.bind.annotation.Bindable;
import io.micronaut.core.convert.format.ReadableBytes;
import org.jspecify.annotations.Nullable;

/**
 * Settings of the recorder, which writes the decisions on limited calls to a file that the planner
 * replays.
 *
 * @param file The file. Nothing is recorded without it. Its directory must exist. Each instance
 *     needs a file of its own.
 * @param share The share of subjects that are recorded, with all their calls. Default value 1,
 *     which is all of them; more than 0. Instances with one {@code limiter.redis.key-secret} record
 *     the same subjects.
 * @param maxSize Maximum size of one file. Default value 100MB; 1MB to 1024GB. Then it is renamed
 *     to {@code FILE.1}, that one to {@code FILE.2}, and so on.
 * @param files Maximum number of files. Default value 5; 1 to 1,000. The oldest one is deleted.
 */
@ConfigurationProperties(RecorderConfiguration.PREFIX)
record RecorderConfiguration(
    @Nullable String file,
    @Bindable(defaultValue = "1") double share,
    @Bindable(defaultValue = "100MB") @ReadableBytes long maxSize,
    @Bindable(defaultValue = "5") int files) {

  /** Prefix of these settings. */
  static final String PREFIX = LimiterConfiguration.PREFIX + ".recorder";

  static final String FILE = PREFIX + ".file";

  private static final long LEAST_SIZE = 1L << 20;
  private static final long MOST_SIZE = 1L << 40;

  RecorderConfiguration {
    Bounds.require(PREFIX + ".share", share, 0 < share && share <= 1, "more than 0 and 1 at most");
    Bounds.require(
        PREFIX + ".max-size",
        maxSize,
        LEAST_SIZE <= maxSize && maxSize <= MOST_SIZE,
        "1MB to 1024GB");
    Bounds.require(PREFIX + ".files", files, 1, 1_000);
  }
}
