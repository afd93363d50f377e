// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.testing;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

/**
 * Bodies compared as what they say: Jackson orders the members of Micronaut's JsonError as the JVM
 * lists its methods, which is another order from one run to the next.
 */
public final class Json {

  private static final ObjectMapper MAPPER = new ObjectMapper();

  private Json() {}

  /** Fails the test if the text is not JSON. */
  public static JsonNode json(String text) {
    try {
      return MAPPER.readTree(text);
    } catch (JsonProcessingException e) {
      throw new AssertionError("'" + text + "' is not JSON", e);
    }
  }
}
