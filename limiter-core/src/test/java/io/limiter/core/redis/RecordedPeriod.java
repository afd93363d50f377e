// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.redis;

import io.limiter.core.StoreException;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.helpers.NOPLogger;

/** Records what the calls report to a breaker. */
public final class RecordedPeriod implements Breaker.Period {

  private final List<String> reports = new ArrayList<>();

  public List<String> reports() {
    return reports;
  }

  /** A breaker that admits every call to this period. */
  public Breaker breaker() {
    Breaker breaker = new Breaker(new NodeBreakers.BreakerLog(NOPLogger.NOP_LOGGER, "Redis"));
    breaker.period.set(this);
    return breaker;
  }

  @Override
  public void answered() {
    reports.add("answered");
  }

  @Override
  public void failed(StoreException why) {
    reports.add("failed " + why.reason());
  }

  @Override
  public void undecided() {
    reports.add("undecided");
  }
}
