// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.micronaut.context.ApplicationContext;
import io.micronaut.json.JsonMapper;
import io.micronaut.serde.ObjectMapper;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The bytes are those of micronaut-serde, too: the build runs it with that. */
class DirectDenialsIT {

  @Test
  void theMapperIsThatOfSerde() {
    try (ApplicationContext context = ApplicationContext.run()) {
      assertThat(context.getBean(JsonMapper.class)).isInstanceOf(ObjectMapper.class);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"application", "problem", "template"})
  void itIsTheSameForEachOutcomeLanguageAndCharacter(String format) {
    DirectDenialsTest.assertSame(format, Map.of());
  }

  @Test
  void anErrorThatIsNoListIsWritten() {
    DirectDenialsTest.assertSame(
        "application",
        Map.of("micronaut.serde.serialization.always-serialize-errors-as-list", false));
  }

  @Test
  void theBodiesAreThoseOfSerde() {
    DenialBodiesTest.assertBodies("serde");
  }
}
