// SPDX-License-Identifier: Apache-2.0
package io.limiter.micronaut.config;

import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.context.annotation.Context;

/** Settings of the endpoint {@code limits} of micronaut-management. */
@Context // created at the start, so that a mistake stops it
@ConfigurationProperties(ManagementConfiguration.PREFIX)
public final class ManagementConfiguration {

  /** Prefix of these settings. */
  public static final String PREFIX = LimiterConfiguration.PREFIX + ".management";

  private boolean showSubjects;

  /** Whether the endpoint shows subjects in clear beside their digests. */
  public boolean isShowSubjects() {
    return showSubjects;
  }

  /**
   * Default value false. If true, the endpoint, its audit events and its audit lines contain
   * addresses, names of users and other subjects in clear, beside their digests.
   */
  public void setShowSubjects(String showSubjects) {
    this.showSubjects = EnumSetting.isOn(PREFIX + ".show-subjects", showSubjects);
  }
}
