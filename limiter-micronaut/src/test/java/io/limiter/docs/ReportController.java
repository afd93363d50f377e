// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.micronaut.http.annotation.Controller;

@Controller
class ReportController implements ReportApi {

  @Override
  @Expensive
  public String reports() {
    return "reports";
  }
}
