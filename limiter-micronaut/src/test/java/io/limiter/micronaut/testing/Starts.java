// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.micronaut.context.ApplicationContext;
import io.micronaut.context.exceptions.ConfigurationException;
import java.util.LinkedHashMap;
import java.util.Map;

/** Starts contexts by hand: with the beans of one case, or expecting that a mistake stops them. */
public final class Starts {

  private Starts() {}

  /** A context that counts in memory, with the beans whose {@code spec.name} this is. */
  public static ApplicationContext inMemory(String spec) {
    return ApplicationContext.run(Map.of("spec.name", spec));
  }

  /** A context that counts in memory, with {@link RecordedDecisions}. */
  public static ApplicationContext recorded(String spec) {
    return ApplicationContext.run(Map.of("spec.name", spec, "test.recorded", true));
  }

  /** What stops the start with these properties. Fails if nothing does. */
  public static ConfigurationException mistake(Map<String, Object> properties) {
    Map<String, Object> all = new LinkedHashMap<>(Map.of("spec.name", "none"));
    all.putAll(properties);
    Throwable thrown = catchThrowable(() -> ApplicationContext.run(all).close());
    assertThat(thrown).as("what stops the start with %s", properties).isNotNull();
    Throwable mistake = thrown;
    while (!(mistake instanceof ConfigurationException) && mistake.getCause() != null) {
      mistake = mistake.getCause();
    }
    assertThat(mistake)
        .as("what stops the start with %s", properties)
        .isInstanceOf(ConfigurationException.class);
    return (ConfigurationException) mistake;
  }
}
