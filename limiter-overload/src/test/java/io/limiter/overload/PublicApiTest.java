// SPDX-License-Identifier: Apache-2.0
package io.limiter.overload;

import io.limiter.core.testing.PublicApi;
import io.micronaut.core.annotation.Internal;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** What is public and not {@link Internal} is a promise, which a file lists. */
class PublicApiTest {

  @Test
  void thePublicApiIsThatOfTheFile() throws IOException {
    new PublicApi(element -> element.isAnnotationPresent(Internal.class))
        .requireSame(
            Path.of("target/classes"),
            name -> true,
            Path.of("../docs/api/limiter-overload.txt"),
            "limiter-overload");
  }
}
