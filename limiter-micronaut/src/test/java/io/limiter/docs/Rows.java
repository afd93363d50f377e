// SPDX-License-Identifier: Apache-2.0
package io.limiter.docs;

import io.limiter.micronaut.annotation.ResultCost;
import jakarta.inject.Singleton;
import java.util.List;

@Singleton
class Rows implements ResultCost {

  @Override
  public long of(Object result) {
    return ((List<?>) result).size();
  }
}
