// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo.settings;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.testing.RedisFixture;
import java.net.URI;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** A process in a pod of Kubernetes, beside services whose names begin variables of ours. */
class PodIT {

  /** The variables of a container for one service: {@code enableServiceLinks} is the default. */
  private static void link(Map<String, String> variables, String service, String address) {
    String port = address.substring(address.lastIndexOf(':') + 1);
    String host = address.substring("tcp://".length(), address.lastIndexOf(':'));
    String published = service + "_PORT_" + port + "_TCP";
    variables.put(service + "_SERVICE_HOST", host);
    variables.put(service + "_SERVICE_PORT", port);
    variables.put(service + "_SERVICE_PORT_MAIN", port);
    variables.put(service + "_PORT", address);
    variables.put(published, address);
    variables.put(published + "_PROTO", "tcp");
    variables.put(published + "_PORT", port);
    variables.put(published + "_ADDR", host);
  }

  @Test
  void servicesNamedRedisAndLimiterChangeNothing() {
    Map<String, String> variables = new LinkedHashMap<>();
    link(variables, "KUBERNETES", "tcp://10.0.0.1:443");
    link(variables, "REDIS", "tcp://10.0.0.11:6379");
    link(variables, "LIMITER", "tcp://10.0.0.12:8080");
    link(variables, "LIMITER_DEMO", "tcp://10.0.0.13:8080");
    link(variables, "LIMITER_POLICIES_SEARCH", "tcp://10.0.0.14:8080");
    link(variables, "LIMITER_ROUTES", "tcp://10.0.0.15:8080");
    URI redis = URI.create(RedisFixture.uri());
    variables.put("REDIS_URI", redis.toString()); // else the demo starts its own
    String file = PackedService.yaml(Map.of("limiter.redis.key-prefix", "test:pod:"));
    try (PackedService service = PackedService.start(file, variables)) {
      assertThat(service.log())
          .contains("Connected to Redis at " + redis.getAuthority())
          .contains("REDIS_PORT is the link to a Kubernetes service")
          .doesNotContain("no effect", "ERROR");
      assertThat(service.get("/health").body()).contains("\"status\":\"UP\"");
    }
  }
}
