// SPDX-License-Identifier: Apache-2.0
package io.limiter.demo;

import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import java.util.Map;

/** Has no limit, for comparison with the others. */
@Controller("/health-free")
class FreeController {

  @Get
  Map<String, String> ok() {
    return Map.of("status", "UP");
  }
}
