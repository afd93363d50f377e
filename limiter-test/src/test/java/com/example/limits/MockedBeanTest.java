// SPDX-License-Identifier: Apache-2.0
package com.example.limits;

import io.limiter.test.LimitTest;
import io.limiter.test.Limits;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.client.HttpClient;
import io.micronaut.http.client.annotation.Client;
import io.micronaut.test.annotation.MockBean;
import jakarta.inject.Inject;
import org.junit.jupiter.api.Test;

/** Where other beans call a mock, it has the limits of the bean that it replaces. */
@LimitTest
class MockedBeanTest {

  @Inject
  @Client("/")
  HttpClient client;

  @Inject Limits limits;
  @Inject LetterService letters;

  @MockBean(LetterService.class)
  LetterService mock() {
    return new LetterService() {
      @Override
      public String send(String to) {
        return "a letter to " + to;
      }
    };
  }

  @Test
  void otherBeansCallAMockWithItsLimits() {
    limits
        .assertAdmits(2, () -> client.toBlocking().exchange(HttpRequest.POST("/letters", "")))
        .thenDenies();
  }

  @Test
  void theTestCallsItWithout() {
    limits.assertAdmits(3, () -> letters.send("ann"));
  }
}
