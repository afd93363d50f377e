package example;

import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import jakarta.inject.Singleton;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** A limited bean: what calls it is a job, or a listener, not a request. */
@Singleton
class Mailer {

  final List<String> sent = new CopyOnWriteArrayList<>();

  /** Two in a minute to each recipient, and five to all of them. */
  @RateLimiter(
      subject = "#{to}",
      rules = {
        @RateRule(count = 2, time = 60),
        @RateRule(count = 5, time = 60, limitType = LimitType.GLOBAL)
      })
  void send(String to) {
    sent.add(to);
  }
}
