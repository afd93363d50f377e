package example;

import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.PathVariable;
import io.micronaut.scheduling.TaskExecutors;
import io.micronaut.scheduling.annotation.ExecuteOn;

@Controller("/reports")
@ExecuteOn(TaskExecutors.BLOCKING) // virtual threads, since Java 21
class ReportController {

  /** Decided before the virtual thread is started. */
  @Get
  @RateRule(count = 3, time = 60)
  boolean all() {
    return Thread.currentThread().isVirtual();
  }

  /** The argument is bound first; then the virtual thread waits for the decision. */
  @Get("/{name}")
  @RateLimiter(subject = "#{name}", rules = @RateRule(count = 2, time = 60))
  boolean one(@PathVariable String name) {
    return Thread.currentThread().isVirtual();
  }
}
