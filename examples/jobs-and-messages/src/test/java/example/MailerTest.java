package example;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.micronaut.context.event.ApplicationEventPublisher;
import io.micronaut.test.extensions.junit5.annotation.MicronautTest;
import jakarta.inject.Inject;
import java.util.Collections;
import org.junit.jupiter.api.Test;

@MicronautTest
class MailerTest {

  @Inject Mailer mailer;
  @Inject Reminder reminder;
  @Inject Orders orders;
  @Inject ApplicationEventPublisher<Orders.Placed> messages;

  @Test
  void jobsAndMessagesAreLimited() {
    await().until(() -> reminder.denied.get() > 3);
    assertEquals(2, Collections.frequency(mailer.sent, "ann"));

    for (String customer : new String[] {"bob", "bob", "bob", "eve", "joe"}) {
      messages.publishEvent(new Orders.Placed(customer));
    }
    assertEquals(2, Collections.frequency(mailer.sent, "bob"));
    assertEquals(1, Collections.frequency(mailer.sent, "eve"));
    assertEquals(0, Collections.frequency(mailer.sent, "joe")); // five to all recipients
    assertEquals(2, orders.postponed.size());
  }
}
