// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Get;

interface ReportApi {

  @Get("/reports")
  @RateRule(count = 10, time = 60)
  String reports();
}
