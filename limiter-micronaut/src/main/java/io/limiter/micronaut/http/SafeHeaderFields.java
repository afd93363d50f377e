// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.http;

import io.limiter.core.Verdict;
import io.limiter.micronaut.log.BrokenPartLog;
import io.micronaut.http.MutableHttpResponse;
import org.slf4j.LoggerFactory;

/**
 * Header fields whose failure spoils no answer. They may be the application's, and are written
 * last: the method has run by then, or the call is refused, and neither may become a 500.
 */
final class SafeHeaderFields {

  private final RateLimitFields fields;
  private final BrokenPartLog log =
      new BrokenPartLog(LoggerFactory.getLogger(SafeHeaderFields.class));

  SafeHeaderFields(RateLimitFields fields) {
    this.fields = fields;
  }

  void writeIfAbsent(Verdict verdict, MutableHttpResponse<?> response) {
    try {
      fields.writeIfAbsent(verdict, response);
    } catch (RuntimeException broken) {
      report(broken);
    }
  }

  void writeRefusal(Verdict verdict, MutableHttpResponse<?> response) {
    try {
      fields.writeRefusal(verdict, response);
    } catch (RuntimeException broken) {
      report(broken);
    }
  }

  private void report(RuntimeException broken) {
    log.report(
        "%s has failed, so answers go out without its header fields"
            .formatted(fields.getClass().getName()),
        broken);
  }
}
