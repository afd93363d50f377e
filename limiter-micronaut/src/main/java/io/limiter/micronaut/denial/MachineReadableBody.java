// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.micronaut.http.HttpMethod;
import io.micronaut.http.HttpRequest;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpResponse;

/**
 * A body for programs. A browser receives the application's error page instead; Micronaut's own
 * processor distinguishes browsers from programs in the same way. HEAD requests receive no body.
 */
final class MachineReadableBody implements DenialBody {

  private final DenialBody body;
  private final ApplicationBody pages;

  MachineReadableBody(DenialBody body, ApplicationBody pages) {
    this.body = body;
    this.pages = pages;
  }

  @Override
  public MutableHttpResponse<?> write(Denial denial, MutableHttpResponse<?> response) {
    if (denial.request().getMethod() == HttpMethod.HEAD) {
      return response;
    }
    return browser(denial.request()) ? pages.write(denial, response) : body.write(denial, response);
  }

  private static boolean browser(HttpRequest<?> request) {
    return request.accept().stream().anyMatch(MediaType.TEXT_HTML_TYPE::equals)
        && request.accept().stream()
            .noneMatch(type -> type.matchesExtension(MediaType.EXTENSION_JSON));
  }
}
