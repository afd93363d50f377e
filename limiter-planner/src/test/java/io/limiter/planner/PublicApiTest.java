// SPDX-License-Identifier: Apache-2.0
package io.limiter.planner;

import io.limiter.core.testing.PublicApi;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** What is public is a promise, which a file lists. */
class PublicApiTest {

  @Test
  void thePublicApiIsThatOfTheFile() throws IOException {
    new PublicApi(element -> false)
        .requireSame(
            Path.of("target/classes"),
            name -> true,
            Path.of("../docs/api/limiter-planner.txt"),
            "limiter-planner");
  }
}
