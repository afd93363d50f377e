package example;

import io.limiter.idempotency.Idempotent;
import io.limiter.micronaut.annotation.Counts;
import io.limiter.micronaut.annotation.LimitType;
import io.limiter.micronaut.annotation.RateLimiter;
import io.limiter.micronaut.annotation.RateRule;
import io.micronaut.http.annotation.Controller;
import io.micronaut.http.annotation.Get;
import io.micronaut.http.annotation.Post;
import io.micronaut.http.annotation.QueryValue;
import io.micronaut.security.annotation.Secured;
import io.micronaut.security.rules.SecurityRule;
import java.security.Principal;
import java.util.Map;
import java.util.UUID;

@Controller
@Secured(SecurityRule.IS_AUTHENTICATED)
class AccountController {

  /** Three in a minute for each user. */
  @Get("/me")
  @RateLimiter(value = "me", limitType = LimitType.USER_ID, rules = @RateRule(count = 3, time = 60))
  Map<String, String> me(Principal user) {
    return Map.of("name", user.getName());
  }

  /** Three wrong passwords in a minute for each address, before the password is checked. */
  @Get("/account")
  @RateLimiter(
      value = "guesses",
      beforeSecurity = true,
      rules = @RateRule(count = 3, time = 60, counts = Counts.FAILURES))
  Map<String, String> account(Principal user) {
    return Map.of("account", user.getName());
  }

  /** Once for each Idempotency-Key of a user; a repetition receives the same transfer. */
  @Post("/transfers")
  @Idempotent(retain = "48h")
  Map<String, Object> transfer(@QueryValue int amount) {
    return Map.of("transfer", UUID.randomUUID().toString(), "amount", amount);
  }
}
