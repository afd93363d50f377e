// SPDX-License-Identifier: Apache-2.0
package io.limiter.overload.docs;

import io.limiter.overload.OverloadEvent.OverloadBegan;
import io.micronaut.runtime.event.annotation.EventListener;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

@Singleton
class Alarms {

  final List<String> raised = new CopyOnWriteArrayList<>();

  @EventListener
  void begun(OverloadBegan overload) {
    raised.add(overload.name());
  }
}
