// SPDX-License-Identifier: Apache-2.0
package com.example.limits;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/** The result of classes that JUnit runs within a test. */
record Launched(List<String> passed, List<Throwable> failures) {

  static Launched run(Map<String, String> configuration, Runnable onFailure, Class<?>... classes) {
    LauncherDiscoveryRequest request =
        LauncherDiscoveryRequestBuilder.request()
            .selectors(Stream.of(classes).map(type -> selectClass(type)).toList())
            .configurationParameters(configuration)
            .build();
    List<String> passed = new CopyOnWriteArrayList<>();
    List<Throwable> failures = new CopyOnWriteArrayList<>();
    LauncherFactory.create()
        .execute(
            request,
            new TestExecutionListener() {
              @Override
              public void executionFinished(TestIdentifier test, TestExecutionResult result) {
                if (result.getStatus() != TestExecutionResult.Status.SUCCESSFUL) {
                  failures.add(result.getThrowable().orElseThrow());
                  onFailure.run();
                } else if (test.isTest()) {
                  passed.add(test.getDisplayName());
                }
              }
            });
    return new Launched(new ArrayList<>(passed), new ArrayList<>(failures));
  }

  static Launched run(Class<?>... classes) {
    return run(Map.of(), () -> {}, classes);
  }
}
