// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.denial;

import io.limiter.micronaut.config.DenialConfiguration;
import io.limiter.micronaut.config.TemplateConfiguration;
import io.micronaut.context.annotation.Context;
import io.micronaut.context.annotation.Factory;
import io.micronaut.context.annotation.Requires;
import io.micronaut.context.exceptions.ConfigurationException;
import io.micronaut.core.annotation.Internal;
import io.micronaut.http.server.exceptions.response.ErrorResponseProcessor;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Creates the configured body, unless the application has its own {@link DenialBody}. */
@Internal
@Factory
public final class DenialBodyFactory {

  @Context // created at the start, so that a mistake in the template stops it
  @Requires(missingBeans = DenialBody.class)
  DenialBody body(
      DenialConfiguration configuration,
      TemplateConfiguration template,
      ErrorResponseProcessor<?> errors) {
    DenialConfiguration.Body form = configuration.form();
    if (form != DenialConfiguration.Body.TEMPLATE && template.fields().isPresent()) {
      throw new ConfigurationException(
          "%s = %s: it is used only where %s.body = template: set that, or remove the template"
              .formatted(
                  TemplateConfiguration.PREFIX,
                  template.fields().get(),
                  DenialConfiguration.PREFIX));
    }
    ApplicationBody application = new ApplicationBody(errors);
    return switch (form) {
      case APPLICATION -> application;
      case PROBLEM -> new MachineReadableBody(new ProblemBody(), application);
      case TEMPLATE -> new MachineReadableBody(new TemplateBody(fields(template)), application);
    };
  }

  private static Map<String, @Nullable Object> fields(TemplateConfiguration template) {
    return template
        .fields()
        .filter(fields -> !fields.isEmpty())
        .orElseThrow(
            () ->
                new ConfigurationException(
                    "%s.body = template: no fields are configured under %s: write the fields of "
                        + "the body there, such as %s.code = {code}"
                            .formatted(
                                DenialConfiguration.PREFIX,
                                TemplateConfiguration.PREFIX,
                                TemplateConfiguration.PREFIX)));
  }
}
