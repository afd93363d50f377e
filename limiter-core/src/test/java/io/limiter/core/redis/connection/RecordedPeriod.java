// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis.connection;

import io.limiter.core.StoreException;
import java.util.ArrayList;
import java.util.List;

/** What a breaker is told of its calls. */
public final class RecordedPeriod implements Breaker.Period {

  private final List<String> told = new ArrayList<>();

  public List<String> told() {
    return told;
  }

  @Override
  public void answered() {
    told.add("answered");
  }

  @Override
  public void failed(StoreException why) {
    told.add("failed " + why.reason());
  }

  @Override
  public void undecided() {
    told.add("undecided");
  }
}
