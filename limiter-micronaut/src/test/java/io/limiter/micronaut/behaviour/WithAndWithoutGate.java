// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.behaviour;

import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests of a server, first with the gate and then without it. Each test finds nothing counted, and
 * has a caller that has not called before.
 */
@ParameterizedClass(name = "gate {0}")
@ValueSource(booleans = {true, false})
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class WithAndWithoutGate {

  private final String specification;
  private final Map<String, Object> settings;

  @Parameter boolean gate;

  TestServer server;
  String caller = "";
  private int callers;

  WithAndWithoutGate(String specification) {
    this(specification, Map.of());
  }

  /**
   * @param specification the {@code spec.name} that the beans of the server require
   */
  WithAndWithoutGate(String specification, Map<String, Object> settings) {
    this.specification = specification;
    this.settings = settings;
  }

  @BeforeParameterizedClassInvocation
  void startServer() {
    server = start(settings);
  }

  TestServer start(Map<String, Object> itsOwn) {
    Map<String, Object> all = new HashMap<>(itsOwn);
    all.put("limiter.gate.enabled", gate);
    all.put("limiter.fallback", "deny"); // so that it is Redis which decides
    return TestServer.start(specification, all);
  }

  @AfterParameterizedClassInvocation
  void stopServer() {
    server.close();
  }

  @BeforeEach
  void forgetAll() {
    server.clear();
    caller = "caller-" + callers++;
  }
}
