// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut;

import io.limiter.core.LimitStore;
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
            // Needs micronaut-security, which is not there, and has nothing that is public.
            name -> !name.equals("io.limiter.security"),
            Path.of("../docs/api/limiter-micronaut.txt"),
            "limiter-micronaut");
    PublicApi.requireReleased(LimitStore.class);
  }
}
