// SPDX-License-Identifier: Apache-2.0
package io.limiter.benchmarks.startup;

import io.lettuce.core.RedisClient;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.sync.RedisCommands;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.annotation.Property;
import io.micronaut.context.annotation.Requires;
import io.micronaut.http.MediaType;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.runtime.Micronaut;
import java.util.Map;

/** The same service without limits, and without a class of the limiter on its class path. */
@Controller(produces = MediaType.TEXT_PLAIN)
@Requires(property = PlainService.PROPERTY)
class PlainService {

  static final String PROPERTY = "benchmark.plain-service";

  /** The URI of a Redis that the service connects to as it starts. */
  static final String FLOOR = "benchmark.floor";

  /** Starts the service. */
  public static void main(String[] arguments) {
    Micronaut.build(arguments).properties(Map.of(PROPERTY, true)).start();
  }

  @Get(ServiceStart.LIMITED)
  String limited() {
    return "not limited";
  }

  @Get(ServiceStart.FREE)
  String free() {
    return "free";
  }

  /** What anything that decides by a script of Redis pays at least. */
  @Context
  @Requires(property = FLOOR)
  static class Floor {

    /** Connects, and runs one script. */
    Floor(@Property(name = FLOOR) String uri) {
      RedisCommands<String, String> redis = RedisClient.create(uri).connect().sync();
      String script = redis.scriptLoad("return 1");
      Long unused = redis.evalsha(script, ScriptOutputType.INTEGER);
    }
  }
}
