package example;

import io.limiter.micronaut.exception.LimitDeniedException;
import io.micronaut.scheduling.annotation.Scheduled;
import jakarta.inject.Singleton;
import java.util.concurrent.atomic.AtomicInteger;

/** A job that runs more often than it may remind. */
@Singleton
class Reminder {

  private final Mailer mailer;
  final AtomicInteger denied = new AtomicInteger();

  Reminder(Mailer mailer) {
    this.mailer = mailer;
  }

  @Scheduled(fixedDelay = "10ms")
  void remind() {
    try {
      mailer.send("ann");
    } catch (LimitDeniedException tooOften) {
      denied.incrementAndGet();
    }
  }
}
