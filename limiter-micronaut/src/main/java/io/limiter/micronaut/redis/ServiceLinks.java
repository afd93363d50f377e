// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.redis;

import io.micronaut.context.ApplicationContextBuilder;
import io.micronaut.context.ApplicationContextConfigurer;
import io.micronaut.context.annotation.ContextConfigurer;
import io.micronaut.core.annotation.Internal;

/**
 * Leaves out a variable that Kubernetes gives each container in the namespace of a service named
 * {@code redis}: {@code REDIS_PORT=tcp://10.0.0.11:6379}. Micronaut would read it as {@code
 * redis.port}, and it is no number, so the start would fail even with {@code redis.uri}.
 */
@Internal
@ContextConfigurer
public final class ServiceLinks implements ApplicationContextConfigurer {

  private static final String VARIABLE = "REDIS_PORT";

  /** Whether there is such a variable. */
  static boolean hasRedis() {
    String port = System.getenv(VARIABLE);
    return port != null && port.contains("://");
  }

  @Override
  public void configure(ApplicationContextBuilder builder) {
    if (hasRedis()) {
      builder.environmentVariableExcludes(VARIABLE);
    }
  }
}
