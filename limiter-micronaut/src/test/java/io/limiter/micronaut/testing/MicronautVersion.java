// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.testing;

import io.micronaut.core.version.VersionUtils;

/** Micronaut's major version, for expectations that depend on it. */
public final class MicronautVersion {

  /** Whether these tests run on Micronaut 5. */
  public static final boolean IS_5 = VersionUtils.isAtLeastMicronautVersion("5.0.0");

  private MicronautVersion() {}

  /** What is expected on this version. */
  public static <T> T either(T on4, T on5) {
    return IS_5 ? on5 : on4;
  }
}
