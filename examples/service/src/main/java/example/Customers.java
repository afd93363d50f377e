package example;

import io.limiter.micronaut.annotation.SubjectResolver;
import io.limiter.micronaut.annotation.Tiers;
import io.micronaut.http.HttpRequest;
import jakarta.inject.Singleton;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Who has an API key, and which plan: in a service of a database, through a cache. */
@Singleton
class Customers implements SubjectResolver, Tiers {

  private final Map<String, String> byKey =
      Map.of("key-of-ann", "ann", "key-of-ben", "ben", "other-key-of-ben", "ben");

  private final Map<String, String> plans = Map.of("ben", "pro");

  @Override
  public Optional<String> resolve(HttpRequest<?> request) {
    return request.getHeaders().findFirst("X-Api-Key").map(byKey::get);
  }

  @Override
  public Optional<String> caller(HttpRequest<?> request) {
    return resolve(request);
  }

  @Override
  public CompletionStage<String> of(HttpRequest<?> request) {
    return CompletableFuture.completedFuture(resolve(request).map(plans::get).orElse(null));
  }
}
