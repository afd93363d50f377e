// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.micronaut.serde.annotation.Serdeable;

@Serdeable
record Item(String name) {}
