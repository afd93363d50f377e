// SPDX-License-Identifier: Apache-2.0
package io.limiter.management;

import io.micronaut.context.annotation.ConfigurationProperties;
import io.micronaut.core.bind.annotation.Bindable;

/**
 * Settings of the endpoint {@code limits} of micronaut-management.
 *
 * @param showSubjects Whether the endpoint, its audit events and its audit lines contain addresses,
 *     names of users and other subjects in clear, beside their digests. Default value false.
 */
@ConfigurationProperties("limiter.management")
record ManagementConfiguration(@Bindable(defaultValue = "false") boolean showSubjects) {}
