// SPDX-License-Identifier: Apache-2.0
package com.example.limits;

import static org.assertj.core.api.Assertions.assertThat;

import io.limiter.core.Limiter;
import io.limiter.test.Limits;
import io.limiter.test.TestClock;
import io.micronaut.context.ApplicationContext;
import io.micronaut.http.client.HttpClient;
import io.micronaut.http.client.annotation.Client;
import io.micronaut.test.extensions.junit5.annotation.MicronautTest;
import jakarta.inject.Inject;
import org.junit.jupiter.api.Test;

/** A test that is not about limits. */
@MicronautTest
class OffTest {

  @Inject
  @Client("/")
  HttpClient client;

  @Inject ApplicationContext context;
  @Inject CodeService codes;

  @Test
  void nothingIsLimited() {
    for (int i = 0; i < 20; i++) {
      assertThat(client.toBlocking().retrieve("/articles")).contains("Token buckets");
      codes.send("1");
    }
  }

  @Test
  void theKitIsNotThere() {
    assertThat(context.containsBean(Limiter.class)).isTrue();
    assertThat(context.containsBean(Limits.class)).isFalse();
    assertThat(context.containsBean(TestClock.class)).isFalse();
  }
}
