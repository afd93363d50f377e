package example;

import jakarta.inject.Singleton;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Stands for what takes its time. */
@Singleton
class Reports {

  CompletionStage<String> render() {
    return CompletableFuture.completedFuture("a report");
  }
}
