// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.limiter.micronaut.config.TemplateConfiguration;
import io.micronaut.http.MediaType;
import io.micronaut.http.MutableHttpResponse;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A body with the application's own fields: JSON with any names and nesting. */
final class TemplateBody implements DenialBody {

  private final TemplatePart template;

  /**
   * Reads the template once.
   *
   * @throws io.micronaut.context.exceptions.ConfigurationException if a placeholder is unknown,
   *     with property, value and remedy
   */
  TemplateBody(Map<String, @Nullable Object> fields) {
    this.template = TemplatePart.read(TemplateConfiguration.PREFIX, fields);
  }

  @Override
  public MutableHttpResponse<?> write(Denial denial, MutableHttpResponse<?> response) {
    return response.body(template.fill(denial)).contentType(MediaType.APPLICATION_JSON_TYPE);
  }
}
