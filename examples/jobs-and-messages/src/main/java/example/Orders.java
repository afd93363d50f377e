package example;

import io.limiter.micronaut.exception.LimitDeniedException;
import io.micronaut.runtime.event.annotation.EventListener;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** A listener for messages; one of Kafka, RabbitMQ or JMS calls the bean in the same way. */
@Singleton
class Orders {

  record Placed(String customer) {}

  private final Mailer mailer;
  final List<Placed> postponed = new CopyOnWriteArrayList<>();

  Orders(Mailer mailer) {
    this.mailer = mailer;
  }

  /** A denied message is put off: the exception has the time after which to try again. */
  @EventListener
  void placed(Placed order) {
    try {
      mailer.send(order.customer());
    } catch (LimitDeniedException tooOften) {
      postponed.add(order);
    }
  }
}
