package example;

import jakarta.inject.Singleton;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Stands for the provider that sends the messages. */
@Singleton
class SmsGateway {

  private static final Logger LOG = LoggerFactory.getLogger(SmsGateway.class);

  void sendCode(String phone) {
    LOG.info("A code is sent");
  }
}
