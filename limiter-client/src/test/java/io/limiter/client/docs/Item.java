// SPDX-License-Identifier: Apache-2.0
package io.limiter.client.docs;

import io.micronaut.core.annotation.Introspected;

@Introspected
record Item(String name) {}
