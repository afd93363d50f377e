// SPDX-License-Identifier: Apache-2.0
package io.limiter.core.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import org.junit.jupiter.api.Test;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;

/**
 * The contracts of stores as one test, for mutation tests. Those run every test by itself, and to
 * find one among the 800 of 20 interfaces takes longer than to run it.
 */
class ContractsAtOnce {

  @Test
  void theMemoryStoreKeepsAllContracts() {
    LauncherDiscoveryRequest all =
        LauncherDiscoveryRequestBuilder.request()
            .selectors(selectClass(MemoryStoreTest.class))
            .build();
    SummaryGeneratingListener summary = new SummaryGeneratingListener();

    LauncherFactory.create().execute(all, summary);

    assertThat(summary.getSummary().getTestsSucceededCount()).isGreaterThan(700);
    assertThat(summary.getSummary().getTotalFailureCount()).isZero();
  }
}
