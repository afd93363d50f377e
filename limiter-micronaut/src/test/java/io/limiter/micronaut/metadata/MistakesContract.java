// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.metadata;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.micronaut.testing.Starts;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A subclass lists its mistakes: the bean whose method {@code call} has it, named as its {@code
 * spec.name}; the member and its value as the error words them; the remedy.
 */
abstract class MistakesContract {

  @ParameterizedTest
  @MethodSource("mistakes")
  void stopsTheStart(Class<?> bean, String memberAndValue, String remedy) {
    assertThat(Starts.mistake(Map.of("spec.name", bean.getSimpleName())))
        .hasMessageStartingWith(bean.getName() + ".call(")
        .hasMessageContaining(memberAndValue)
        .hasMessageContaining(remedy);
  }
}
