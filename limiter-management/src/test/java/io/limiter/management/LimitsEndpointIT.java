// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import static org.assertj.core.api.Assertions.assertThat;

import io.micronaut.json.JsonMapper;
import io.micronaut.serde.ObjectMapper;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The endpoint with micronaut-serde: the build runs it with that. */
@Tag("matrix")
class LimitsEndpointIT extends LimitsEndpointTest {

  @Test
  void itIsTheMapper() {
    assertThat(service().bean(JsonMapper.class)).isInstanceOf(ObjectMapper.class);
  }
}
