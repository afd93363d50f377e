package example;

import io.limiter.core.Verdict;
import io.limiter.micronaut.annotation.BudgetEnd;
import io.micronaut.http.sse.Event;
import jakarta.inject.Singleton;

@Singleton
class OutOfTokens implements BudgetEnd<Event<String>> {

  @Override
  public Event<String> last(Verdict denied) {
    return Event.of("[out of tokens]");
  }
}
