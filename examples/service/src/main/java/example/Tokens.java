package example;

import io.limiter.micronaut.annotation.ResultCost;
import io.micronaut.http.sse.Event;
import jakarta.inject.Singleton;

@Singleton
class Tokens implements ResultCost {

  /** Four characters are about one token; a model that reports its tokens gives the number. */
  @Override
  public long of(Object item) {
    return (((Event<?>) item).getData().toString().length() + 3) / 4;
  }
}
